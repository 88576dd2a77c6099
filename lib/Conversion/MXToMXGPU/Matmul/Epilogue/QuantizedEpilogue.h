//===- QuantizedEpilogue.h - Epilogue of quantized results ---- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread or several adjacent lanes hold a block of 32 columns of a row in
// registers. The scales of four blocks form a word of a scale tile. If warps
// share rows, they write the word byte by byte. All rows of an expert group's
// scale tiles are written, including padding with zeros.
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
  /// Scales of the thread's rows. Each word covers 128 columns of a row.
  using PackedRegs = llvm::SmallVector<mlir::Value>;

  void checkScales(mlir::Value rows, mlir::Value columns) override;
  mlir::Type getElementType() {
    return llvm::cast<mlir::MemRefType>(op.getOut().getType()).getElementType();
  }
  mlir::Value getScales() const { return arguments.get(Arg::ResultScales); }
  mlir::Type getScaleType() const {
    return llvm::cast<mlir::MemRefType>(getScales().getType()).getElementType();
  }

  /// Returns the number of columns of a row that are quantized at once, which
  /// is one block for each warp that shares the row.
  int64_t getFragmentColumns();
  size_t getWordsOfRow() const {
    return matmul.getTileColumns() / kQuantizedColumns;
  }

  /// Quantizes and stores the columns. Returns the scales of the rows.
  PackedRegs storeColumns(ForEachWorkTileOp workTile, Accumulator &accumulator,
                          llvm::MutableArrayRef<ThreadRow> rows);
  /// Quantizes and stores this thread's part of a block, starting at `column`.
  /// `lanes` lanes share the block. Returns the scale.
  mlir::Value storeBlock(mlir::Value values, const ResultRow &row,
                         mlir::Value column, int64_t lanes);
  /// Inserts the scale of the block at column `inTile` into its word.
  PackedRegs addScale(mlir::ValueRange words, mlir::Value scale,
                      mlir::Value inTile);
  /// `isThis` is true if this thread stores scales, and null if it always does.
  /// `block` is the only block that it stores of each word, or null for all.
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
