//===- GroupedWork.h - Work tiles of expert groups ------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expert groups divide the rows or the reduction, or each group owns a matrix.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_GROUPEDWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_GROUPEDWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

/// A work tile contains rows of one expert group and the whole reduction. The
/// scales of each group and of its stacked B matrix start a new scale tile.
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
  mlir::Value getResultColumns() override { return resultColumns; }
  OperandOrigin getOperands(ForEachWorkTileOp workTile) override;
  MatrixOrigin getMatrices(ForEachWorkTileOp workTile) override {
    return {{}, getFirstRow(workTile), workTile.getGroup()};
  }
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
  /// Returns the row index for the epilogue region.
  virtual mlir::Value getRowInMatrix(ForEachWorkTileOp workTile,
                                     mlir::Value row) {
    return row;
  }

  mlir::Value resultRows, resultColumns;
};

/// Each expert group owns the first rows of a padded matrix. The matrices are
/// stacked, and each occupies whole scale tiles.
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
  MatrixOrigin getMatrices(ForEachWorkTileOp workTile) override {
    mlir::Value group = workTile.getGroup();
    return {group, getRowInMatrix(workTile, getFirstRow(workTile)), group};
  }
  mlir::Value getRowTile(ForEachWorkTileOp workTile) override;

private:
  mlir::Value getRowInMatrix(ForEachWorkTileOp workTile,
                             mlir::Value row) override;
  /// Returns the first row of the group's matrix in A.
  mlir::Value getMatrixRow(ForEachWorkTileOp workTile);
};

/// Each expert group owns a segment of the reduction and a stacked matrix of
/// the result. A work tile is a tile of this matrix with the group's segment.
class ReductionWork final : public DenseWork {
public:
  explicit ReductionWork(MatmulKernel &kernel) : DenseWork(kernel) {}

  llvm::StringRef getKernelName() const override { return "grouped_matmul"; }
  void viewMatrices() override;
  void checkExperts() override;
  /// Keeps matrices separate, so bulk stores end at the last row of each.
  mlir::Value getStoredTensor() override { return op.getOut(); }
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  /// Returns the alignment of segments.
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
  /// Returns the table row of `tile` in the work tile's group. A matrix has
  /// `rows` rows, and each group has a table row for each of its tiles.
  mlir::Value getWindow(ForEachWorkTileOp workTile, mlir::Value tile,
                        mlir::Value rows);
  mlir::Value getNumRowTiles() override;
  mlir::Value getResultRow(ForEachWorkTileOp workTile) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_GROUPEDWORK_H
