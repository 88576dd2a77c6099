//===- Collectives.h - What code of the reference path calls ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program with rank groups of several ranks calls these functions of C, which
// the one that runs it brings. `group` is the number of the mx.group in the
// module; sizes are in bytes, those of the segment of one rank.
//
//   int64_t mxHostRank(int64_t group);
//   void mxHostAllGather(int64_t group, void *window, int64_t bytes);
//   void mxHostAllToAll(int64_t group, const void *from, void *to,
//                       int64_t bytes);
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOCPU_COLLECTIVES_H
#define MX_CONVERSION_MXTOCPU_COLLECTIVES_H

namespace mx::cpu {

inline constexpr const char *kRankFunction = "mxHostRank";
inline constexpr const char *kAllGatherFunction = "mxHostAllGather";
inline constexpr const char *kAllToAllFunction = "mxHostAllToAll";

} // namespace mx::cpu

#endif // MX_CONVERSION_MXTOCPU_COLLECTIVES_H
