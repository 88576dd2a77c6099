//===- ScheduleRules.h - What each family's schedules are -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The rules that follow from the matrix instructions. Schedule.cpp has those
// that all share.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULERULES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULERULES_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/TargetInfo.h"

namespace mx::mxgpu {

// BlockScaledRules.cpp
std::optional<ScheduleError>
checkBlockScaledSchedule(const MatmulProblem &problem,
                         const ScheduleFields &fields,
                         const target::TargetInfo &target);
std::optional<ScheduleError>
checkBlockScaledRegisters(const ScheduleFields &fields);

// DequantizedRules.cpp
std::optional<ScheduleError>
checkDequantizedSchedule(const MatmulProblem &problem,
                         const ScheduleFields &fields,
                         const target::TargetInfo &target);
std::optional<ScheduleError>
checkDequantizedRegisters(const ScheduleFields &fields);
/// Those of each kind of threads that suit a tile.
llvm::SmallVector<int64_t>
getDequantizedRegisters(const MatmulProblem &problem,
                        const ScheduleFields &fields);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULERULES_H
