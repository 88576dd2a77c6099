//===- GroupedWork.h - Work tiles of expert groups --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Expert groups divide the rows or the reduction, or have their own matrices.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_GROUPEDWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_GROUPEDWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

/// A work tile has rows of one group, with the whole reduction; it says where
/// they end instead. Scales of a group begin with a tile of their own, and so
/// do those of its matrix b, whose rows lie below those of the groups before.
class RowsWork : public WorkPolicy {
public:
  explicit RowsWork(MatmulKernel &kernel) : WorkPolicy(kernel) {}

  llvm::StringRef getKernelName() const override { return "grouped_matmul"; }
  void viewMatrices() override;
  void checkExperts() override;
  mlir::Value getRowTiles(mlir::Value rows) override;
  mlir::Value getColumnTiles(mlir::Value columns) override;
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  OperandOrigin getOperands(ForEachWorkTileOp workTile) override;
  mlir::Value getRowTile(ForEachWorkTileOp workTile) override;
  std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile) override;
  ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp workTile) override {
    return workTile.getEnd();
  }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile, mlir::Value inTile,
                             mlir::Value column) override;
  mlir::Value getScaleRangeOfA(ForEachWorkTileOp workTile,
                               mlir::Value number) override;

protected:
  mlir::Value getNumRowTiles() override;
  /// A row as the epilogue region counts it.
  virtual mlir::Value getRowInMatrix(ForEachWorkTileOp workTile,
                                     mlir::Value row) {
    return row;
  }

  mlir::Value resultRows;
};

/// Each expert has the first rows of a matrix of its own, which has room for
/// more. Matrices lie one below the other, and have whole tiles of scales.
class MaskedWork final : public RowsWork {
public:
  explicit MaskedWork(MatmulKernel &kernel) : RowsWork(kernel) {}

  void viewMatrices() override;
  void checkExperts() override;
  mlir::Value getRowTiles(mlir::Value rows) override {
    return getColumnTiles(rows);
  }
  mlir::OpFoldResult getMatrixRows() override {
    return getSize(host, op.getA(), 1);
  }
  mlir::Value getRowTile(ForEachWorkTileOp workTile) override;

private:
  mlir::Value getRowInMatrix(ForEachWorkTileOp workTile,
                             mlir::Value row) override;
  /// Where the matrix of a group begins in A.
  mlir::Value getMatrixRow(ForEachWorkTileOp workTile);
};

/// Each expert group has a segment of the reduction and a matrix of the result,
/// one below the other. A work tile has a tile of one and its expert's segment.
class ReductionWork final : public DenseWork {
public:
  explicit ReductionWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  llvm::StringRef getKernelName() const override { return "grouped_matmul"; }
  void viewMatrices() override;
  void checkExperts() override;
  /// The matrix of a group ends before that of the next one.
  mlir::Value getStoredTensor() override { return op.getOut(); }
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  /// Segments begin and end at multiples of their alignment.
  int64_t getReductionMultiple() override { return kRaggedReductionAlign; }
  ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp workTile) override {
    return scheduler.getRows();
  }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile, mlir::Value inTile,
                             mlir::Value column) override;
  mlir::Value getScaleRangeOfA(ForEachWorkTileOp workTile,
                               mlir::Value number) override;
  mlir::Value getScaleRangeOfB(ForEachWorkTileOp workTile) override;

private:
  /// Each expert has as many windows as a matrix of `rows` rows has tiles.
  mlir::Value getWindow(ForEachWorkTileOp workTile, mlir::Value tile,
                        mlir::Value rows);
  mlir::Value getNumRowTiles() override;
  mlir::Value getResultRow(ForEachWorkTileOp workTile) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_GROUPEDWORK_H
