//===- DeviceOfCall.h - Where the arrays of a call are ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_DEVICEOFCALL_H
#define MX_RUNTIME_LIB_PROGRAM_DEVICEOFCALL_H

#include "Program.h"

namespace mx::runtime {

/// The device that the arrays of a call are on, or that of its stream where no
/// array has one. Arrays of several devices are refused by name.
Error findDevice(const plan::Entry &plan, const Call &call, Device *&device);

/// "argument 1 'x'".
inline std::string describe(const char *what, size_t index,
                            const plan::Value &value) {
  return std::string(what) + " " + std::to_string(index) + " '" + value.name +
         "'";
}

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_DEVICEOFCALL_H
