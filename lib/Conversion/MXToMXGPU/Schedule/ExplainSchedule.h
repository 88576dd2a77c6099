//===- ExplainSchedule.h - Say why a schedule was chosen --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What --mx-explain prints for one matmul.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_EXPLAINSCHEDULE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_EXPLAINSCHEDULE_H

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

namespace mx::mxgpu {

/// Prints the schedule of `op`, the best of `candidates` with their modelled
/// terms, why the second lost, and where everything lies. `isGiven`: a person
/// wrote the schedule.
void explainSchedule(llvm::raw_ostream &os, MatmulOpInterface op,
                     const MatmulProblem &problem, ScheduleAttr schedule,
                     bool isGiven, llvm::ArrayRef<Candidate> candidates,
                     const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_EXPLAINSCHEDULE_H
