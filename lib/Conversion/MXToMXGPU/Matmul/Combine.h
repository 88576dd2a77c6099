//===- Combine.h - Utilities for mx.combine kernels ----------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mx.combine adds listed rows in any order, or in the order of the list.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H

#include "../Builder/KernelBuilder.h"

namespace mx::mxgpu {

/// Columns that a lane processes at once, number of repetitions, and resulting
/// columns of a warp.
inline constexpr int64_t kCombineVector = 4, kCombineLoads = 8;
inline constexpr int64_t kCombineColumns =
    target::kWarpSize * kCombineVector * kCombineLoads;

/// Returns the end of the rows in expert groups, at most `rows`; `rows` without
/// `offsets`.
mlir::Value getListEnd(KernelBuilder &body, mlir::Value rows,
                       mlir::Value offsets);

/// Builds and launches the kernels of an `mx.combine` in fixed order.
void buildCombineInOrder(CombineOp op, mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H
