//===- RowsWork.h - Units of groups of rows ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit has rows of one group, with the whole reduction; it says where they
// end instead. Scales of a group begin with a tile of their own, and so do
// those of its matrix b, whose rows lie below those of the groups before.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_ROWSWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_ROWSWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

class RowsWork : public WorkPolicy {
public:
  explicit RowsWork(ProductKernel &kernel) : WorkPolicy(kernel) {}

  llvm::StringRef getKernelName() const override { return "grouped_matmul"; }
  void viewMatrices() override;
  void checkGroups() override;
  mlir::Value getRowTiles(mlir::Value rows) override;
  mlir::Value getColumnTiles(mlir::Value columns) override;
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value units) override;
  OperandOrigin getOperands(ForEachWorkTileOp unit) override;
  mlir::Value getRowTile(ForEachWorkTileOp unit) override;
  std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp unit) override;
  ResultRow getRow(ForEachWorkTileOp unit, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp unit) override {
    return unit.getEnd();
  }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp unit, mlir::Value inTile,
                             mlir::Value column) override;
  mlir::Value getWindowOfA(ForEachWorkTileOp unit, mlir::Value number) override;

protected:
  mlir::Value getUnitRowTiles() override;
  /// A row as the epilogue region counts it.
  virtual mlir::Value getRowInMatrix(ForEachWorkTileOp unit, mlir::Value row) {
    return row;
  }

  mlir::Value resultRows;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_ROWSWORK_H
