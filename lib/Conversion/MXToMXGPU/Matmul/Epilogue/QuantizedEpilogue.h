//===- QuantizedEpilogue.h - Results that are quantized ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread, or adjacent lanes together, have 32 columns of a row in registers:
// a block. The scales of four blocks, of 128 columns, are one word of a tile of
// scales, which warps that share rows write byte by byte. All rows of the tiles
// that a group has are written, with 0 after its last.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_QUANTIZEDEPILOGUE_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_QUANTIZEDEPILOGUE_H

#include "EpiloguePolicy.h"

namespace mx::mxgpu {

class QuantizedEpilogue final : public EpiloguePolicy {
public:
  QuantizedEpilogue(MatmulKernel &kernel, WorkPolicy &work)
      : EpiloguePolicy(kernel, work) {}

  void viewResult() override;
  void checkColumns(mlir::Value columns) override;
  void begin() override;
  mlir::Value getColumns() override;
  void store(ForEachWorkTileOp workTile, Accumulator &accumulator) override;

private:
  /// Scales of the thread's rows, of each a word for each 128 columns.
  using PackedRegs = llvm::SmallVector<mlir::Value>;

  void checkScales(mlir::Value rows, mlir::Value columns) override;
  mlir::Type getElementType() {
    return llvm::cast<mlir::MemRefType>(op.getOut().getType()).getElementType();
  }
  mlir::Value getScales() const { return arguments.get(Arg::ResultScales); }
  mlir::Type getScaleType() const {
    return llvm::cast<mlir::MemRefType>(getScales().getType()).getElementType();
  }

  /// Columns of a row that are quantized at a time: a block of each warp that
  /// has some.
  int64_t getFragmentColumns();
  /// Words of a row's scales.
  size_t getWordsOfRow() const {
    return matmul.getTileColumns() / kQuantizedColumns;
  }

  /// Quantizes and stores the columns, and gives the scales of the rows.
  PackedRegs storeColumns(ForEachWorkTileOp workTile, Accumulator &accumulator,
                          llvm::MutableArrayRef<ThreadRow> rows);
  /// Quantizes what this thread has of a block that so many lanes share, stores
  /// it from `column` on, and gives the scale.
  mlir::Value storeBlock(mlir::Value values, const ResultRow &row,
                         mlir::Value column, int64_t lanes);
  /// Adds the scale of the block that begins in a column to one of the words.
  PackedRegs addScale(mlir::ValueRange words, mlir::Value scale,
                      mlir::Value inTile);
  /// Whether this thread writes scales of its rows, null if all do, and the
  /// number of the only block of each word whose scale it has, null if it has
  /// all.
  struct ScaleWriter {
    mlir::Value isThis, block;
  };
  ScaleWriter getScaleWriter(FragmentType type);
  void storeScales(ForEachWorkTileOp workTile, const ResultRow &row,
                   mlir::Value inTile, mlir::ValueRange words,
                   const ScaleWriter &writer);
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_EPILOGUE_QUANTIZEDEPILOGUE_H
