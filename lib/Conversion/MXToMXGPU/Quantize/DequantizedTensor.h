//===- DequantizedTensor.h - A tensor that a kernel dequantizes -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Only the device knows what groups have. Where they divide the rows, each has
// whole tiles of rows. Where they divide the columns, as those of a ragged
// reduction, each has whole tiles of columns, which the tile scheduler takes
// for rows, and what lies after the last segment has none.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_DEQUANTIZEDTENSOR_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_DEQUANTIZEDTENSOR_H

#include "../Builder/Elementwise.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"

namespace mx::mxgpu {

/// What a kernel dequantizes, on the host and in the kernel.
class DequantizedTensor {
public:
  DequantizedTensor(DequantizeOperands operands, QuantizeScheduleAttr schedule,
                    KernelBuilder &host, KernelBuilder &body)
      : operands(operands), schedule(schedule), host(host), body(body),
        batch(llvm::cast<mlir::MemRefType>(operands.input.getType()).getRank() -
              2) {}

  void checkSizes();
  /// Tiles of rows or of columns, with those of all expert groups, whatever
  /// their sizes, and of all matrices.
  mlir::Value getRowTiles();
  mlir::Value getColumnTiles();
  void addArguments(llvm::SmallVectorImpl<mlir::Value> &arguments);

  // In the kernel.
  void takeArguments(mlir::Block::args_iterator &next);
  /// Rows of all tiles.
  mlir::Value getWorkRows();
  /// What finds the tiles, `workRows` rows of them.
  mlir::Value createScheduler(mlir::Value workRows);
  /// Where a tile of it begins among these rows.
  mlir::Value getWorkRow(ForEachWorkTileOp tile) {
    return dividesColumns() ? tile.getColumn() : tile.getRow();
  }
  /// All that a CTA does of the tile that begins at `row` of these rows.
  void buildTile(TileThreads threads, ForEachWorkTileOp tile, mlir::Value row);

private:
  /// Where the tile of a CTA begins among the rows of elements and of scales,
  /// and where its elements end; null if where they all end.
  struct TileRows {
    mlir::Value elements, scales, end;
  };

  bool dividesRows() { return operands.ragged == RaggedKind::Rows; }
  bool dividesColumns() { return operands.ragged == RaggedKind::Reduction; }
  bool isTiled() {
    return operands.scales && isMaterialized(llvm::cast<mlir::MemRefType>(
                                                 operands.scales.getType()),
                                             batch + 2);
  }
  int64_t getTileRows() { return schedule.getTile()[0]; }
  int64_t getTileColumns() { return schedule.getTile()[1]; }
  mlir::Value getRows() { return body.dim(out, 0); }
  mlir::Value getColumns() { return body.dim(out, 1); }
  mlir::Value getBatchSize();
  mlir::Value roundUpRows(int64_t multiple);
  mlir::Value getScaleRow(ForEachWorkTileOp tile);
  mlir::Value getPermutedColumn(mlir::Value column);
  TileRows getTileRows(ForEachWorkTileOp tile, mlir::Value row);
  /// The pieces of such rows of it, `step` apart, that a thread has.
  void buildPieces(const TileRows &first, llvm::ArrayRef<int64_t> rows,
                   mlir::Value column);

  DequantizeOperands operands;
  QuantizeScheduleAttr schedule;
  KernelBuilder &host, &body;
  int64_t batch; ///< dimensions before the matrix
  /// In the kernel. Of a batch the rows of a matrix, and how many there are.
  mlir::Value input, scales, out, decode, offsets, rows, batches;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_DEQUANTIZEDTENSOR_H
