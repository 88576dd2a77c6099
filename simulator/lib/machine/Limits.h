//===- Limits.h - Limits of the simulator -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits on host memory and on the simulation. See ptx/Target.h for the limits
// of an SM.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_LIMITS_H
#define MXSIM_LIB_MACHINE_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace mx::sim {

/// Host memory for running clusters, in bytes. Only as many of the resident
/// clusters as needed are started.
constexpr uint64_t kActiveBytes = 192ull << 20;
/// Clusters that run concurrently at first.
constexpr uint64_t kActiveClusters = 8;
/// Limit on the inlined call sites in a finding, innermost first.
constexpr size_t kMostCallers = 64;
/// Limit on findings stored before copies of a line are merged.
constexpr uint64_t kMostUngrouped = 2000;
/// Warp instructions that a cluster may execute in a pass.
constexpr uint64_t kQuantum = 1u << 18;
/// Seeds other than 0: the minimum turn of a warp in instructions, and the
/// number of turns of every warp before an operation completes, unless all
/// warps wait.
constexpr uint64_t kLeastSlice = 32;
constexpr uint32_t kRoundsOfWork = 3;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_LIMITS_H
