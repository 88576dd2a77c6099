//===- DenseWork.h - Units of one matrix ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit is a tile of the result and has the whole reduction.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_DENSEWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_DENSEWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

class DenseWork : public WorkPolicy {
public:
  explicit DenseWork(ProductKernel &kernel) : WorkPolicy(kernel) {}

  llvm::StringRef getKernelName() const override { return "matmul"; }
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value units) override;
  OperandOrigin getOperands(ForEachWorkTileOp unit) override;
  ResultRow getRow(ForEachWorkTileOp unit, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp unit) override { return resultRows; }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp unit, mlir::Value inTile,
                             mlir::Value column) override;

protected:
  mlir::Value getUnitRowTiles() override;
  /// The row of the result where what this CTA has of a unit begins.
  virtual mlir::Value getResultRow(ForEachWorkTileOp unit) {
    return getFirstRow(unit);
  }

  mlir::Value resultRows;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_DENSEWORK_H
