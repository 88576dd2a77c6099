//===- F16ScaleRange.h - Kernels for f16_scale_range ---------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that analyze operands before a matmul with f16_scale_range.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H

#include "../../../Builder/KernelBuilder.h"

namespace mx::mxgpu {

/// Operand of the analyzing kernels. Batches are stacked to one matrix.
struct ScaleRangeOperand {
  mlir::Value elements, scales;
  /// End of each expert group, or the row count of each group if groups own
  /// matrices. Null if no groups divide the operand.
  mlir::Value offsets;
  bool dividesReduction = false;
  /// Number of rows of each stacked matrix, or null.
  mlir::OpFoldResult matrixRows;
};

/// Launches a kernel that determines the scale range of each tile. Returns the
/// table in device memory. The caller frees it.
mlir::Value findScaleRanges(KernelBuilder &host, mlir::gpu::GPUModuleOp module,
                            ScaleRangeOperand operand);

/// Launches a kernel that finds tiles of A and B with NaN. These tiles must not
/// be converted to bf16 relative to a reference. Returns copies of the tables,
/// with these tiles marked as fitting neither f16 nor relative bf16. The caller
/// frees the copies in device memory.
std::pair<mlir::Value, mlir::Value>
excludeNaN(KernelBuilder &host, mlir::gpu::GPUModuleOp module, mlir::Value a,
           mlir::Value b, mlir::Value aTable, mlir::Value bTable);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_F16SCALERANGE_H
