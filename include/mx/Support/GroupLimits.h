//===- GroupLimits.h - Limits of rank groups --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the compiler, manifests and the runtime.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_GROUPLIMITS_H
#define MX_SUPPORT_GROUPLIMITS_H

#include <cstdint>

namespace mx {

/// Maximum number of ranks in a rank group.
inline constexpr int64_t kMostRanks = 1024;
/// Maximum number of tokens of all ranks, the rows of a window: positions of
/// their pairs are i32.
inline constexpr int64_t kMostGroupTokens = INT32_MAX;

} // namespace mx

#endif // MX_SUPPORT_GROUPLIMITS_H
