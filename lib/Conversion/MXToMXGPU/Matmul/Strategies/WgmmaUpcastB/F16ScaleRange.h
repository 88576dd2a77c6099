//===- F16ScaleRange.h - Where the scales of tiles lie ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The kernels that look at operands before a matmul with f16_scale_range.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H

#include "../../../Builder/KernelBuilder.h"

namespace mx::mxgpu {

/// An operand as kernels see it: several matrices are one.
struct ScaleRangeOperand {
  mlir::Value elements, scales;
  /// Where groups end, or how many rows those have that have matrices; null
  /// where a whole operand counts.
  mlir::Value offsets;
  bool dividesReduction = false;
  /// Rows of each of several matrices, or null.
  mlir::OpFoldResult matrixRows;
};

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

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
