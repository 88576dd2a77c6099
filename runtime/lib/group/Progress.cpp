//===- Progress.cpp - Progress of collectives on a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include <cstdlib>
#include <cstring>

using namespace mx::runtime;

Error Progress::open() {
  constexpr size_t kPage = 4096;
  void *page = std::aligned_alloc(kPage, kPage);
  if (!page)
    return {MX_ERROR_OUT_OF_MEMORY, "no memory for a group's progress"};
  memset(page, 0, kPage);
  if (Error error = device.registerHost(page, kPage)) {
    std::free(page);
    return error;
  }
  words = static_cast<Words *>(page);
  return {};
}

uint32_t Progress::getNumber(const Operation &operation) {
  std::lock_guard<std::mutex> lock(mutex);
  uint32_t &number = numbers[{operation.kind, operation.bytes, operation.entry,
                              operation.step}];
  if (number == 0 && operations.size() < kMost) {
    operations.push_back(operation);
    number = uint32_t(operations.size());
  }
  if (number)
    return number;
  numbers.erase(
      {operation.kind, operation.bytes, operation.entry, operation.step});
  operations.back() = operation;
  return kMost;
}

Error Progress::markBegin(uint32_t number, void *stream) {
  return device.fill(const_cast<uint32_t *>(&words->begun), number, 4, 1,
                     stream);
}

Error Progress::markEnd(uint32_t number, void *stream) {
  return device.fill(const_cast<uint32_t *>(&words->begun), number | kEnded, 4,
                     2, stream);
}

Operation Progress::find(uint32_t number) const {
  std::lock_guard<std::mutex> lock(mutex);
  number &= ~kEnded;
  return number && number <= operations.size() ? operations[number - 1]
                                               : Operation();
}

std::optional<Stall> Progress::look() {
  uint32_t begun = words->begun;
  bool isRunning = begun && !(begun & kEnded);
  // `ended` reveals an operation that ended and restarted between two checks.
  if (words->ended || !isRunning || begun != last) {
    words->ended = 0;
    since = Clock::now();
  }
  last = begun;
  if (!isRunning)
    return std::nullopt;
  return Stall{find(begun), since};
}

Place Progress::getPlace() const {
  uint32_t begun = words ? words->begun : 0;
  return {begun && !(begun & kEnded), find(begun)};
}
