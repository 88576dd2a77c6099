//===- F16ScaleRange.h - Kernels for f16_scale_range ---------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Kernels that analyze operands before a matmul with f16_scale_range.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H

#include "../../../Builder/KernelBuilder.h"

namespace mx::mxgpu {

/// An operand in the form used by kernels, with stacked matrices.
struct ScaleRangeOperand {
  mlir::Value elements, scales;
  /// Ends of expert groups, or rows of each group with its own matrix; null for
  /// a whole operand.
  mlir::Value offsets;
  bool dividesReduction = false;
  /// Rows of each stacked matrix, or null.
  mlir::OpFoldResult matrixRows;
};

/// Launches a kernel that determines the scale range of each tile. Returns the
/// table in device memory. The caller frees it.
mlir::Value findScaleRanges(KernelBuilder &host, mlir::gpu::GPUModuleOp module,
                            ScaleRangeOperand operand);

/// Launches a kernel that excludes tiles of A and B with NaN from bf16 relative
/// to references. Returns tables in device memory without a class for these
/// tiles. The caller frees them.
std::pair<mlir::Value, mlir::Value>
excludeNaN(KernelBuilder &host, mlir::gpu::GPUModuleOp module, mlir::Value a,
           mlir::Value b, mlir::Value aTable, mlir::Value bTable);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
