//===- DequantizedTensor.h - Tensors to dequantize in kernels - -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of expert groups are known only on the device. Each group of rows
// starts a new row tile. Each group of columns (ragged reductions) starts a new
// column tile, and the tile scheduler treats these columns as rows. Columns
// after the last segment are skipped.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_DEQUANTIZEDTENSOR_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_DEQUANTIZEDTENSOR_H

#include "../Builder/Elementwise.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"

namespace mx::mxgpu {

/// A tensor that a kernel dequantizes, with host and kernel values.
class DequantizedTensor {
public:
  DequantizedTensor(DequantizeOperands operands, QuantizeScheduleAttr schedule,
                    KernelBuilder &host, KernelBuilder &body)
      : operands(operands), schedule(schedule), host(host), body(body),
        batch(llvm::cast<mlir::MemRefType>(operands.input.getType()).getRank() -
              2) {}

  void checkSizes();
  /// Return upper bounds of row and column tiles over all expert group sizes.
  mlir::Value getRowTiles();
  mlir::Value getColumnTiles();
  void addArguments(llvm::SmallVectorImpl<mlir::Value> &arguments);

  // Kernel code.
  void takeArguments(mlir::Block::args_iterator &next);
  /// Returns the number of work rows, which are the rows of all tiles.
  mlir::Value getWorkRows();
  /// Creates the scheduler of tiles with `workRows` rows.
  mlir::Value createScheduler(mlir::Value workRows);
  /// Returns the first work row of a tile.
  mlir::Value getWorkRow(ForEachWorkTileOp tile) {
    return dividesColumns() ? tile.getColumn() : tile.getRow();
  }
  /// Dequantizes the tile that starts at work row `row`.
  void buildTile(TileThreads threads, ForEachWorkTileOp tile, mlir::Value row);

private:
  /// First rows of a tile's elements and scales, the end of its element rows,
  /// and the first block of its matrix. `end` is null if the tile may extend to
  /// the end of the tensor. `block` is null unless a batch of scales in layout
  /// mn_major stacks the blocks of all matrices.
  struct TileRows {
    mlir::Value elements, scales, end, block;
  };

  bool dividesRows() { return operands.ragged == RaggedKind::Rows; }
  bool dividesColumns() { return operands.ragged == RaggedKind::Reduction; }
  bool isTiled() {
    return operands.scales &&
           getLayoutKind(
               llvm::cast<mlir::MemRefType>(operands.scales.getType()),
               batch + 2) == ScaleLayoutKind::Sf128x4;
  }
  bool hasMNMajorScales() {
    return operands.scales && isMNMajor(operands.scales, batch);
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
  /// Dequantizes a thread's pieces in `rows`.
  void buildPieces(const TileRows &first, llvm::ArrayRef<int64_t> rows,
                   mlir::Value column);

  DequantizeOperands operands;
  QuantizeScheduleAttr schedule;
  KernelBuilder &host, &body;
  int64_t batch; ///< number of leading dimensions
  /// Kernel values. The batch consists of `batches` matrices with `rows` rows
  /// each.
  mlir::Value input, scales, out, decode, offsets, rows, batches;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_DEQUANTIZEDTENSOR_H
