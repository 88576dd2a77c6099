//===- DequantizedRules.h - Rules where threads dequantize ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rules that hold with swap_ab and without, and of registers also where
// tcgen05.mma multiplies what threads convert.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_DEQUANTIZEDRULES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_DEQUANTIZEDRULES_H

#include "ScheduleRules.h"

namespace mx::mxgpu {

/// What belongs to tensor memory, CTA pairs or cluster launch control.
std::optional<ScheduleError> checkAbsent(const ScheduleFields &fields,
                                         const target::TargetInfo &target);

/// Registers of a thread of each of so many warpgroups together.
int64_t getRegistersOfGroups(int64_t groups, const target::TargetInfo &target);
/// Checks the registers of a kernel where `groups` warpgroups multiply and one
/// loads, both at least so many.
std::optional<ScheduleError> checkTwoRoles(const ScheduleFields &fields,
                                           int64_t groups,
                                           llvm::ArrayRef<int64_t> least,
                                           const target::TargetInfo &target);

/// Sums in registers have no second place.
void forEachDequantizedLoop(ScheduleFields fields, bool isPersistent,
                            llvm::function_ref<void(ScheduleFields)> add);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_DEQUANTIZEDRULES_H
