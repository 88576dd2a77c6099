//===- CallMessages.h - What is wrong with a call ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference path finds it in compiled code, the runtime in a plan: the
// words are the same.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_CALLMESSAGES_H
#define MX_SUPPORT_CALLMESSAGES_H

namespace mx {

/// Followed by the step.
inline constexpr char kLoopStepMessage[] =
    "expected a loop with a step of at least 1, found ";

} // namespace mx

#endif // MX_SUPPORT_CALLMESSAGES_H
