//===- ReductionWork.h - Units of groups of a reduction ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each group has a part of the reduction and a matrix of the result, which lie
// one below the other. A unit has a tile of one and its group's part.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_REDUCTIONWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_REDUCTIONWORK_H

#include "DenseWork.h"

namespace mx::mxgpu {

class ReductionWork final : public DenseWork {
public:
  explicit ReductionWork(ProductKernel &kernel) : DenseWork(kernel) {}

  llvm::StringRef getKernelName() const override { return "grouped_matmul"; }
  void viewMatrices() override;
  void checkGroups() override;
  /// The matrix of a group ends before that of the next one.
  mlir::Value getStoredTensor() override { return op.getResultTensor(); }
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value units) override;
  /// Parts begin and end at multiples of their alignment.
  int64_t getReductionMultiple() override { return kRaggedReductionAlign; }
  ResultRow getRow(ForEachWorkTileOp unit, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp unit) override {
    return scheduler.getRows();
  }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp unit, mlir::Value inTile,
                             mlir::Value column) override;
  mlir::Value getWindowOfA(ForEachWorkTileOp unit, mlir::Value number) override;
  mlir::Value getWindowOfB(ForEachWorkTileOp unit) override;

private:
  /// Each group has as many windows as a matrix of so many rows has tiles.
  mlir::Value getWindow(ForEachWorkTileOp unit, mlir::Value tile,
                        mlir::Value rows);
  mlir::Value getUnitRowTiles() override;
  mlir::Value getResultRow(ForEachWorkTileOp unit) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_REDUCTIONWORK_H
