//===- F16ScaleRange.h - Matmuls in f16 where scales allow it ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Elements of f8E4M3FN times their scales are exact in f16, and normal numbers,
// if scales span 12 powers of two, and conversions to f16 take half the
// instructions of those to bf16. So a kernel for each operand finds where the
// scales of each tile lie (mxgpu.load_scale_range), and one which tiles have
// NaN, if any does not fit. Then a kernel computes the work tiles whose tiles
// fit f16, relative to their largest scales, one those that fit bf16 in the
// same way and have no NaN, and one the others, in bf16. The host decides
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H

#include "../../Kernel/MatmulKernel.h"
#include "ScaleRangeTiles.h"

namespace mx::mxgpu {

/// Launches a kernel that finds where the scales of an operand's tiles lie, and
/// returns the table: device memory for the caller to free.
mlir::Value findScaleRanges(KernelBuilder &host, mlir::gpu::GPUModuleOp module,
                            ScaleRangeOperand operand);

/// Launches a kernel that finds tiles with NaN among those of A and B that may
/// be computed in bf16 relative to references, and returns tables in which they
/// fit nothing: device memory for the caller to free.
std::pair<mlir::Value, mlir::Value>
excludeNaN(KernelBuilder &host, mlir::gpu::GPUModuleOp module, mlir::Value a,
           mlir::Value b, mlir::Value aTable, mlir::Value bTable);

/// Builds all kernels of a matmul with `f16_scale_range`, and their launches.
void buildByScaleRange(const ScheduledMatmul &matmul,
                       mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
