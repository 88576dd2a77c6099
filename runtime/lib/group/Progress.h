//===- Progress.h - Which collective a GPU is in ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream writes two words of the host around each collective, also where a
// CUDA graph repeats it, so that the watchdog sees where the GPU is without a
// call of the driver, which might wait. Before a collective the first word
// becomes its number. After it both become that number with the top bit set,
// and the watchdog clears the second one when it has seen it: a collective that
// has run for long is one in whose time the second word stayed zero.
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

  /// Equal collectives have one number, whenever they are put on a stream.
  uint32_t getNumber(const Operation &operation);
  Error markBegin(uint32_t number, void *stream);
  Error markEnd(uint32_t number, void *stream);

  /// By the watchdog, now and then: the collective that the GPU is in and since
  /// when it is in it, at least; none if it is in none.
  std::optional<Stall> look();
  /// Where the GPU is; `sequence` is 0 before its first collective.
  Place getPlace() const;

private:
  static constexpr uint32_t kEnded = 1u << 31;
  /// Of numbers; what comes later shares the last one.
  static constexpr uint32_t kMost = 1 << 16;
  struct Words {
    volatile uint32_t begun, ended;
  };
  Operation find(uint32_t number) const;

  Device &device;
  /// Never given back: a CUDA graph that outlives its group writes there.
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
