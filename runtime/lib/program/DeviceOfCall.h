//===- DeviceOfCall.h - Device of a call's arrays ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_DEVICEOFCALL_H
#define MX_RUNTIME_LIB_PROGRAM_DEVICEOFCALL_H

#include "Program.h"

namespace mx::runtime {

/// Finds the device of the arrays, or the device of the stream if there are no
/// arrays. Fails and names the arrays if they are on several devices.
Error findDevice(const plan::Entry &plan, const Call &call, Device *&device);

/// Formats a value: "argument 1 'x'".
inline std::string describe(const char *what, size_t index,
                            const plan::Value &value) {
  return std::string(what) + " " + std::to_string(index) + " '" + value.name +
         "'";
}

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_DEVICEOFCALL_H
