//===- Lane.h - Stream of a group's collectives -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All collectives of a lane run in order, so ranks cannot wait for each other
// in a cycle. A CUDA graph of the caller's stream captures the lane as well.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_LANE_H
#define MX_RUNTIME_LIB_DEVICE_LANE_H

#include "../Device.h"

#include <map>
#include <mutex>

namespace mx::runtime {

class Lane {
public:
  explicit Lane(Device &device) : device(device) {}
  ~Lane();
  Error open();

  void *getStream() const { return stream; }
  /// Lets later work of the lane follow the work of the caller's stream.
  Error follow(void *caller);
  /// Records the end of the lane's work as `token`, until the next mark.
  Error mark(unsigned token);
  /// Lets later work of the caller's stream follow the marked work.
  Error join(unsigned token, void *caller);

private:
  Device &device;
  void *stream = nullptr, *begin = nullptr;
  std::mutex mutex;
  std::map<unsigned, void *> ends;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_LANE_H
