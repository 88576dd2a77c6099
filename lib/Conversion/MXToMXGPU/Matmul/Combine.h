//===- Combine.h - Utilities for mx.combine kernels ----------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mx.combine adds listed rows in any order, or in the order of the list.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H

#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"

namespace mx::mxgpu {

/// Columns per vector load, vector loads per lane, and columns per warp.
inline constexpr int64_t kCombineVector = 4, kCombineLoads = 8;
inline constexpr int64_t kCombineColumns =
    target::kWarpSize * kCombineVector * kCombineLoads;

/// Returns the end of the rows in expert groups, clamped to `rows`, or `rows`
/// if `offsets` is null.
mlir::Value getListEnd(KernelBuilder &body, mlir::Value rows,
                       mlir::Value offsets);

void buildCombineInOrder(CombineOp op, mlir::gpu::GPUModuleOp module,
                         CombineLists &lists);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H
