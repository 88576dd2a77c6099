//===- ScheduleRules.h - Rules of schedule fields -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MXGPU_IR_SCHEDULERULES_H
#define MX_LIB_DIALECT_MXGPU_IR_SCHEDULERULES_H

#include "mlir/IR/Diagnostics.h"

namespace mx::mxgpu {

/// Fails unless `value` is from 1 to kMaxStages.
llvm::LogicalResult
verifyCount(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
            int64_t value, llvm::StringRef what);
/// Fails unless `value` is one of the choices. Requires at least two choices.
llvm::LogicalResult
verifyChoice(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
             int64_t value, llvm::ArrayRef<int64_t> choices,
             llvm::StringRef what);

} // namespace mx::mxgpu

#endif // MX_LIB_DIALECT_MXGPU_IR_SCHEDULERULES_H
