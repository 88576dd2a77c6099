//===- Calls.h - Device calls of exported functions -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helpers return callables for `attempt`. Each callable finds a device and
// calls a method of the device.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_ABI_CALLS_H
#define MX_RUNTIME_LIB_ABI_CALLS_H

#include "../device/Handles.h"
#include "../device/Owners.h"
#include "../device/Selection.h"

#include "mx/Support/CallerStructs.h"

namespace mx::runtime {

/// Returns a callable for the device found by `find`.
template <typename Find, typename Call>
auto onDeviceOf(Find find, Call call) {
  return [find, call]() -> Error {
    Device *device = nullptr;
    Error error = find(device);
    return error ? error : call(*device);
  };
}

/// Returns a callable for the current device.
template <typename Call>
auto onDeviceInUse(Call call) {
  return onDeviceOf([](Device *&device) { return getDevice(device); }, call);
}

/// Returns a callable for the device of `memory`, or for the current device if
/// no device owns the address.
template <typename Call>
auto onOwner(const void *memory, Call call) {
  return onDeviceOf(
      [memory](Device *&device) {
        device = findOwner(memory);
        return device ? Error() : getDevice(device);
      },
      call);
}

template <typename Call>
auto onOwnerOfStream(void *stream, Call call) {
  return onDeviceOf(
      [stream](Device *&device) { return findStreamOwner(stream, device); },
      call);
}

template <typename Call>
auto onOwnerOfEvent(void *event, Call call) {
  return onDeviceOf(
      [event](Device *&device) { return findEventOwner(event, device); }, call);
}

/// Copies `answer` to the caller's struct.
template <typename T>
Error give(T *result, const char *name, const T &answer) {
  std::string wrong = writeStruct(result, name, answer);
  return wrong.empty() ? Error() : invalidValue(wrong);
}

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_ABI_CALLS_H
