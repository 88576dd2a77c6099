//===- ScaleRangeTiles.h - Which tiles a table of ranges has -- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A row of the table (mxgpu.load_scale_range) tells of 128 rows of an operand,
// as its tiles of scales have them, and of the reduction that work tiles of a
// matmul have. Groups say what that is:
//
//   none               rows of one matrix, the whole reduction
//   of the reduction   rows of one matrix, a segment: the rows of the table of
//                      a group follow those of the group before
//   of rows            rows of a group, which begin anywhere
//   with matrices      rows of one of several, which lie one below the other
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_SCALERANGETILES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_SCALERANGETILES_H

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

/// What a CTA looks at.
struct ScaleRangeTile {
  mlir::Value entry;            ///< row of the table
  mlir::Value scales;           ///< tile of scales
  mlir::Value row, rowEnd;      ///< of the elements; null if all 128 exist
  mlir::Value kTile, kTilesEnd; ///< of the reduction, in tiles of scales
  mlir::Value columns;          ///< of it; null if the tiles are whole
};

/// Of an operand whose scales are tiles, in the three dimensions tile of rows,
/// tile of the reduction, scale.
class ScaleRangeTiles {
public:
  explicit ScaleRangeTiles(const ScaleRangeOperand &operand)
      : operand(operand) {}

  // On the host.

  /// A table of `columns` numbers a row, to be freed.
  mlir::Value allocateTable(KernelBuilder &host, int64_t columns) const;
  llvm::SmallVector<mlir::Value> getArguments() const;

  // In the kernel, whose arguments are such.

  void enter(KernelBuilder &body, mlir::ValueRange arguments);
  /// The scheduler of a CTA for each tile.
  mlir::Value createScheduler(KernelBuilder &body) const;
  ScaleRangeTile getTile(KernelBuilder &body, ForEachWorkTileOp workTile) const;

private:
  bool hasRowsOfExperts() const {
    return operand.offsets && !operand.matrixRows && !operand.dividesReduction;
  }
  void setRows(KernelBuilder &body, ForEachWorkTileOp workTile,
               ScaleRangeTile &tile) const;
  void setRowsOfMatrix(KernelBuilder &body, ScaleRangeTile &tile) const;

  ScaleRangeOperand operand;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAUPCASTB_SCALERANGETILES_H
