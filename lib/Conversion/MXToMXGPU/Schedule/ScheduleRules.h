//===- ScheduleRules.h - What each family's schedules are -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The rules that follow from the matrix instructions: a row for each way, which
// its file defines (ProductRules.cpp lists them). Schedule.cpp has those that
// all share.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULERULES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULERULES_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/TargetInfo.h"

namespace mx::mxgpu {

/// The rules of one strategy for schedules.
struct ProductRules {
  target::ProductWay way;
  /// Its rings.
  MatmulBuffers (*getBuffers)(const MatmulProblem &problem,
                              const ScheduleFields &fields);
  /// The first rule that the fields break. Registers have a check of their own.
  std::optional<ScheduleError> (*checkSchedule)(
      const MatmulProblem &problem, const ScheduleFields &fields,
      const target::TargetInfo &target);
  std::optional<ScheduleError> (*checkRegisters)(
      const MatmulProblem &problem, const ScheduleFields &fields,
      const target::TargetInfo &target);
  /// Registers of each kind of threads that suit a tile; null where ptxas
  /// chooses them.
  llvm::SmallVector<int64_t> (*getRegisters)(const MatmulProblem &problem,
                                             const ScheduleFields &fields);
  /// Calls `add` with each tile worth considering, and what depends on it.
  void (*forEachTile)(const MatmulProblem &problem,
                      llvm::function_ref<void(ScheduleFields)> add);
  /// Calls `add` with each way of a worker to go from unit to unit of `fields`
  /// that is worth considering; `isPersistent` says that there are several.
  void (*forEachLoop)(ScheduleFields fields, bool isPersistent,
                      llvm::function_ref<void(ScheduleFields)> add);
  /// What it makes of schedules with swap_ab; null where there are none.
  const ProductRules *swapped;
};

/// Those of schedules without swap_ab, and those of `fields`.
const ProductRules &getRules(const MatmulProblem &problem);
const ProductRules &getRules(const MatmulProblem &problem,
                             const ScheduleFields &fields);

extern const ProductRules kBlockScaledRules;
extern const ProductRules kDequantizedRules;
extern const ProductRules kConvertedRules;
extern const ProductRules kNumbersRules;
extern const ProductRules kSwappedRules;

MatmulBuffers getBlockScaledBuffers(const MatmulProblem &problem,
                                    const ScheduleFields &fields);
MatmulBuffers getDequantizedBuffers(const MatmulProblem &problem,
                                    const ScheduleFields &fields);
MatmulBuffers getConvertedBuffers(const MatmulProblem &problem,
                                  const ScheduleFields &fields);
MatmulBuffers getNumbersBuffers(const MatmulProblem &problem,
                                const ScheduleFields &fields);
MatmulBuffers getSwappedBuffers(const MatmulProblem &problem,
                                const ScheduleFields &fields);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_SCHEDULE_SCHEDULERULES_H
