//===- QuantizeChecks.h - Which quantizations have a kernel -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What both kinds of kernels, along rows and by tiles, ask of an operation.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZECHECKS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZECHECKS_H

#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"

namespace mx::mxgpu {

/// Says at `op` what kernels quantize where it asks for more.
llvm::LogicalResult verifyQuantizeSupport(FusedQuantizeOp op);
/// The same for a schedule of `op`, which itself is supported.
llvm::LogicalResult verifyQuantizeSchedule(FusedQuantizeOp op,
                                           QuantizeScheduleAttr schedule);
/// Says at `op` what the kernel dequantizes where it asks for more, with such a
/// schedule.
llvm::LogicalResult verifyDequantizeSupport(const DequantizeOperands &operands,
                                            QuantizeScheduleAttr schedule);
/// Requires at run time what the verifier could not see in dynamic shapes.
void checkQuantizeSizes(KernelBuilder &host, FusedQuantizeOp op,
                        QuantizeScheduleAttr schedule);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_QUANTIZECHECKS_H
