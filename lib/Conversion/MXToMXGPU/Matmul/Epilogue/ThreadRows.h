//===- ThreadRows.h - Rows that an epilogue's threads have ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that knows which of the rows that a CTA has of a tile is a
// thread's: that of its lane of tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_THREADROWS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_THREADROWS_H

#include "../../KernelBuilder.h"

namespace mx::mxgpu {

/// The row of a tile of which this thread has all columns.
mlir::Value getRowOfThread(KernelBuilder &body);

/// The first of the kStagedRows consecutive rows that this thread's warp has.
mlir::Value getFirstRowOfWarp(KernelBuilder &body);

/// Where the scales of the thread's row r lie in a tile of scales:
/// [r % 32, r / 32] (docs/Spec.md).
struct ScaleWordPlace {
  mlir::Value inQuarter, quarter;
};
ScaleWordPlace getScaleWordOfThread(KernelBuilder &body);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_THREADROWS_H
