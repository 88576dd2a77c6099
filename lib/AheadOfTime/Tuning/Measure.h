//===- Measure.h - How long schedules take ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_TUNING_MEASURE_H
#define MX_LIB_AHEADOFTIME_TUNING_MEASURE_H

#include "Matmuls.h"
#include "mx/AheadOfTime/Tune.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"

namespace mx::tuning {

/// Times all candidates at these sizes. Those that do not compile, do not run,
/// or give other bits than the first one, are left out. An error where nothing
/// can be measured.
llvm::Expected<mxgpu::TunedSizes>
measureSchedules(MatmulOpInterface op, const SizedMatmul &sized,
                 const CompileModuleOptions &options, Stopwatch &stopwatch);

} // namespace mx::tuning

#endif // MX_LIB_AHEADOFTIME_TUNING_MEASURE_H
