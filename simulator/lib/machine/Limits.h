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

/// Limit on the host memory of running clusters, in bytes. Resident clusters
/// are started only as needed.
constexpr uint64_t kActiveBytes = 192ull << 20;
/// Initial number of clusters that run concurrently.
constexpr uint64_t kActiveClusters = 8;
/// Limit on the inlined call sites in a finding, innermost first.
constexpr size_t kMostCallers = 64;
/// Limit on findings stored before findings of the same source line are merged.
constexpr uint64_t kMostUngrouped = 2000;
/// Warp instructions that a cluster may execute in a pass.
constexpr uint64_t kQuantum = 1u << 18;
/// With seeds other than 0, minimum slice of a warp in instructions.
constexpr uint64_t kLeastSlice = 32;
/// With seeds other than 0, number of slices that every warp runs before an
/// operation completes, unless all warps wait.
constexpr uint32_t kRoundsOfWork = 3;

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_LIMITS_H
