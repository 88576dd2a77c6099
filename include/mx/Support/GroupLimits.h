//===- GroupLimits.h - Limits of rank groups --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits that the compiler, manifests and the runtime share.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_GROUPLIMITS_H
#define MX_SUPPORT_GROUPLIMITS_H

#include <cstdint>

namespace mx {

/// Maximum number of ranks in a rank group.
inline constexpr int64_t kMostRanks = 1024;
/// Maximum total number of tokens of all ranks, and of rows of a window.
/// Positions of (token, expert) pairs are i32.
inline constexpr int64_t kMostGroupTokens = INT32_MAX;

} // namespace mx

#endif // MX_SUPPORT_GROUPLIMITS_H
