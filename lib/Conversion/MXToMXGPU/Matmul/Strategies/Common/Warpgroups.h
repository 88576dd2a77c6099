//===- Warpgroups.h - How many warpgroups have which role -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Warps of the roles that dequantize or multiply, and rules of the registers
// that all warpgroups of a CTA divide.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPGROUPS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPGROUPS_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/Rates.h"
#include "mx/Target/TargetInfo.h"

namespace mx::mxgpu {

/// Warpgroups that multiply tiles of `rows` rows by wgmma: two as soon as each
/// has a block of 64.
int64_t getWgmmaWarpgroups(int64_t rows);

/// Registers of a thread of each of `groups` warpgroups together.
int64_t getRegistersOfWarpgroups(int64_t groups,
                                 const target::TargetInfo &target);
/// Checks the registers of a kernel where `groups` warpgroups multiply and one
/// loads, both with at least `least`.
std::optional<ScheduleError> checkTwoRoles(const ScheduleFields &fields,
                                           int64_t groups,
                                           llvm::ArrayRef<int64_t> least,
                                           const target::TargetInfo &target);

/// Registers of a thread of the two warpgroups that multiply by mma.sync, and
/// of the one that loads, where they divide them; none where ptxas chooses.
llvm::SmallVector<int64_t> getMmaSyncRegisters(const MatmulProblem &problem,
                                               MmaSyncAttr mma);
/// Checks those that are given.
std::optional<ScheduleError>
checkMmaSyncRegisters(MmaSyncAttr mma, const ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Cycles in which the warps of mma.sync read their rows of A and of B from
/// shared memory, for a tile of `depth` elements of the reduction.
int64_t getMmaSyncReadCycles(MmaSyncAttr mma, const MatmulProblem &problem,
                             int64_t depth, const target::Rates &rates);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_COMMON_WARPGROUPS_H
