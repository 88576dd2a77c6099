//===- CallMessages.h - Messages about invalid calls ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the reference path, which reports from compiled code, and the
// runtime, which reports from a plan.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_CALLMESSAGES_H
#define MX_SUPPORT_CALLMESSAGES_H

namespace mx {

/// Message of a loop with an invalid step; the step is appended.
inline constexpr char kLoopStepMessage[] =
    "expected a loop with a step of at least 1, found ";

} // namespace mx

#endif // MX_SUPPORT_CALLMESSAGES_H
