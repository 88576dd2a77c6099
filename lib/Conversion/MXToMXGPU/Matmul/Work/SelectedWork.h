//===- SelectedWork.h - Elements selected by row classes ------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With 'where' a kernel computes the elements of a class (mx.row_classes). All
// roles test the same words of a work tile, so they agree on skipped tiles.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SELECTEDWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SELECTEDWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

/// Loads the words of the rows of a work tile: all, or a word of each operand
/// and lane. Words contain rows of adjacent tiles.
llvm::SmallVector<mlir::Value> loadWords(MatmulKernel &kernel, WorkPolicy &work,
                                         ForEachWorkTileOp workTile,
                                         bool byLane);
/// Returns whether the loaded words contain no wide rows.
mlir::Value areAllNarrow(KernelBuilder &body, mlir::ValueRange words,
                         bool byLane);

/// Returns whether each of `count` elements of a row, from `column` on, is
/// selected and its row is present.
llvm::SmallVector<mlir::Value>
selectElements(MatmulKernel &kernel, WorkPolicy &work,
               ForEachWorkTileOp workTile, const ResultRow &row,
               mlir::Value column, int64_t count);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SELECTEDWORK_H
