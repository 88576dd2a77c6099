//===- GroupLimits.h - What a group of ranks may have -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler, manifests and the runtime ask the same of a group.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_GROUPLIMITS_H
#define MX_SUPPORT_GROUPLIMITS_H

#include <cstdint>

namespace mx {

/// Ranks of a rank group.
inline constexpr int64_t kMostRanks = 1024;
/// Tokens of all ranks together, which are rows of a window: places of their
/// pairs are i32.
inline constexpr int64_t kMostGroupTokens = INT32_MAX;

} // namespace mx

#endif // MX_SUPPORT_GROUPLIMITS_H
