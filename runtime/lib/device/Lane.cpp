//===- Lane.cpp - Stream of a group's collectives -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Lane.h"

using namespace mx::runtime;

Lane::~Lane() {
  for (auto [token, event] : ends)
    (void)device.destroyEvent(event);
  if (begin)
    (void)device.destroyEvent(begin);
  if (stream)
    (void)device.destroyStream(stream);
}

Error Lane::open() {
  // Kernels of collectives are small and must not wait for large kernels.
  Error error = device.createStream(stream, /*isUrgent=*/true);
  return error ? error : device.createEvent(begin);
}

Error Lane::follow(void *caller) {
  Error error = device.recordEvent(begin, caller);
  return error ? error : device.waitEvent(stream, begin);
}

Error Lane::mark(unsigned token) {
  std::lock_guard<std::mutex> lock(mutex);
  void *&event = ends[token];
  Error error = event ? Error() : device.createEvent(event);
  return error ? error : device.recordEvent(event, stream);
}

Error Lane::join(unsigned token, void *caller) {
  std::lock_guard<std::mutex> lock(mutex);
  return device.waitEvent(caller, ends.at(token));
}
