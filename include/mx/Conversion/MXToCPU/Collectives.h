//===- Collectives.h - Collectives of the reference path --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs with multi-rank groups call these C functions, which the embedder
// provides. `group` is the index of the mx.group in the module. `bytes` is the
// size of a rank's segment.
//
//   int64_t mxHostRank(int64_t group);
//   void mxHostAllGather(int64_t group, void *window, int64_t bytes);
//   void mxHostAllToAll(int64_t group, const void *from, void *to,
//                       int64_t bytes);
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOCPU_COLLECTIVES_H
#define MX_CONVERSION_MXTOCPU_COLLECTIVES_H

namespace mx::cpu {

inline constexpr const char *kRankFunction = "mxHostRank";
inline constexpr const char *kAllGatherFunction = "mxHostAllGather";
inline constexpr const char *kAllToAllFunction = "mxHostAllToAll";

} // namespace mx::cpu

#endif // MX_CONVERSION_MXTOCPU_COLLECTIVES_H
