//===- Limits.h - what the simulator holds ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of host memory and of the simulation; those of an SM are in
// ptx/Target.h.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_LIMITS_H
#define MXSIM_LIB_MACHINE_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace mx::sim {

/// Host memory for the clusters that are being executed. All clusters that the
/// device holds at once can run, but those that need not are not started yet.
constexpr uint64_t kActiveBytes = 192ull << 20;
/// Clusters that are executed side by side to begin with.
constexpr uint64_t kActiveClusters = 8;
/// So many findings are kept until it is known which of them are one.
/// Calls that a finding names, from the inlined function outwards.
constexpr size_t kMostCallers = 64;
constexpr uint64_t kMostUngrouped = 2000;
/// Warp instructions that a cluster may execute before others have theirs.
constexpr uint64_t kQuantum = 1u << 18;
/// With other seeds than 0: the shortest turn of a warp, in instructions, and
/// the turns that every warp has before an operation completes, unless all
/// wait.
constexpr uint64_t kLeastSlice = 32;
constexpr uint32_t kRoundsOfWork = 3;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_LIMITS_H
