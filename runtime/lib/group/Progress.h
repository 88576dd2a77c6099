//===- Progress.h - Progress of collectives on a GPU ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream writes two words in host memory around each collective, even in
// replays of a CUDA graph. The watchdog thus reads the GPU's position without
// driver calls, because calls might block. Before a collective, the stream
// writes the number of the collective to the first word. Afterwards, the stream
// writes the number with the top bit set to both words. The watchdog clears the
// second word; if the word remains zero for long, the collective is slow.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_PROGRESS_H
#define MX_RUNTIME_LIB_GROUP_PROGRESS_H

#include "Inquiry.h"

#include <map>
#include <mutex>
#include <tuple>

namespace mx::runtime {

class Progress {
public:
  explicit Progress(Device &device) : device(device) {}
  Error open();

  /// Returns the number of a collective. Equal collectives share a number.
  uint32_t getNumber(const Operation &operation);
  Error markBegin(uint32_t number, void *stream);
  Error markEnd(uint32_t number, void *stream);

  /// Called regularly by the watchdog. Returns the running collective with a
  /// lower bound of the running time, or nothing.
  std::optional<Stall> look();
  /// Returns the position of the GPU; `sequence` is 0 before the first
  /// collective.
  Place getPlace() const;
  /// Returns two words for kernels that wait for peers (PeerSync.ptx).
  volatile uint32_t *getSignals() const { return words->signals; }

private:
  static constexpr uint32_t kEnded = 1u << 31;
  /// Largest number, shared by all later collectives.
  static constexpr uint32_t kMost = 1 << 16;
  struct Words {
    volatile uint32_t begun, ended, signals[2];
  };
  Operation find(uint32_t number) const;

  Device &device;
  /// Never freed: a CUDA graph may outlive the group and write there.
  Words *words = nullptr;
  uint32_t last = 0;
  Clock::time_point since = Clock::now();

  mutable std::mutex mutex;
  using Key = std::tuple<uint32_t, uint64_t, std::string, int64_t>;
  std::map<Key, uint32_t> numbers;
  std::vector<Operation> operations;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_PROGRESS_H
