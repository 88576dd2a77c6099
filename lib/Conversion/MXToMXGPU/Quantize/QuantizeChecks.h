//===- QuantizeChecks.h - Verification of quantizer kernels --- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares checks for both quantizer kernels, along rows and by tiles.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZECHECKS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZECHECKS_H

#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"

namespace mx::mxgpu {

/// Returns true if scales of a destination use the layout `kind`.
bool hasLayout(FusedQuantizeOp op, ScaleLayoutKind kind);

/// Emits an error at `op` if no kernel supports the operation.
llvm::LogicalResult verifyQuantizeSupport(FusedQuantizeOp op);
/// Emits an error if no kernel supports `op` with `schedule`. Requires a
/// supported `op`.
llvm::LogicalResult verifyQuantizeSchedule(FusedQuantizeOp op,
                                           QuantizeScheduleAttr schedule);
/// Emits an error if the dequantize kernel rejects the operands or `schedule`.
llvm::LogicalResult verifyDequantizeSupport(const DequantizeOperands &operands,
                                            QuantizeScheduleAttr schedule);
/// Inserts run-time checks of the dynamic sizes, which verifiers cannot check.
void checkQuantizeSizes(KernelBuilder &host, FusedQuantizeOp op,
                        QuantizeScheduleAttr schedule);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZECHECKS_H
