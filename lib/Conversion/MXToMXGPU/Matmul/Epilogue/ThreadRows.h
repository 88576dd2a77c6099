//===- ThreadRows.h - What a thread has of a tile ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows and columns that an epilogue's thread holds: by the layout of the sums,
// whatever it is.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_THREADROWS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_THREADROWS_H

#include "../../KernelBuilder.h"

namespace mx::mxgpu {

/// The row of the tile that is number `number` of this thread's.
mlir::Value getRowOfThread(KernelBuilder &body, FragmentType type,
                           int64_t number);

/// The first of the consecutive rows that this thread's warp has.
mlir::Value getFirstRowOfWarp(KernelBuilder &body, FragmentType type);

/// The column where a run of the thread's begins, which is `first` where the
/// columns of the fragment do.
mlir::Value getColumnOfRun(KernelBuilder &body, FragmentType type,
                           int64_t number, mlir::Value first);

/// Elements `first` to `first + count` of a vector; all of them are the vector.
mlir::Value takeElements(KernelBuilder &body, mlir::Value vector, int64_t first,
                         int64_t count);
/// Vectors one after the other.
mlir::Value joinElements(KernelBuilder &body, mlir::ValueRange vectors);

/// Where the scales of row `row` lie in a tile of scales: [r % 32, r / 32]
/// (docs/Spec.md).
struct ScaleWordPlace {
  mlir::Value inQuarter, quarter;
};
ScaleWordPlace getScaleWord(KernelBuilder &body, mlir::Value row);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_THREADROWS_H
