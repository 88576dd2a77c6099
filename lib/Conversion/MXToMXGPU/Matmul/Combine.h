//===- Combine.h - What kernels of mx.combine share -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows that a list names are added up in any order, or in that of the list.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H

#include "../Builder/KernelBuilder.h"

namespace mx::mxgpu {

/// Columns of a row that a lane takes at a time, how often it does, and what a
/// warp therefore has.
inline constexpr int64_t kCombineVector = 4, kCombineLoads = 8;
inline constexpr int64_t kCombineColumns =
    target::kWarpSize * kCombineVector * kCombineLoads;

/// The end of the rows that have a group, no more than there are; all `rows`
/// without `offsets`.
mlir::Value getListEnd(KernelBuilder &body, mlir::Value rows,
                       mlir::Value offsets);

/// Builds the kernels of an `mx.combine` in fixed order, and launches them.
void buildCombineInOrder(CombineOp op, mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_COMBINE_H
