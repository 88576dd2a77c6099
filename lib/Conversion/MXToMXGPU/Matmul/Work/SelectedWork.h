//===- SelectedWork.h - Elements selected by row classes ------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With 'where' a kernel computes the elements of a class (mx.row_classes). All
// roles test the same words of a work tile, so they agree on skipped tiles.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SELECTEDWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SELECTEDWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

/// Returns whether a work tile contains no wide elements. Words contain rows of
/// adjacent tiles, so the result may be false for such a tile.
mlir::Value isAllNarrow(MatmulKernel &kernel, WorkPolicy &work,
                        ForEachWorkTileOp workTile);

/// Returns whether each of `count` elements of a row, from `column` on, is
/// selected and its row is present.
llvm::SmallVector<mlir::Value>
selectElements(MatmulKernel &kernel, WorkPolicy &work,
               ForEachWorkTileOp workTile, const ResultRow &row,
               mlir::Value column, int64_t count);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SELECTEDWORK_H
