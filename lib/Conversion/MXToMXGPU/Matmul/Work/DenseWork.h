//===- DenseWork.h - Work tiles of one product ---------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Work tiles of a product without groups: of the whole reduction, or of a part
// of it, which other work tiles or CTAs of a cluster have the rest of.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_DENSEWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_DENSEWORK_H

#include "WorkPolicy.h"

namespace mx::mxgpu {

/// A work tile is a tile of the result and has the whole reduction.
class DenseWork : public WorkPolicy {
public:
  explicit DenseWork(ProductKernel &kernel) : WorkPolicy(kernel) {}

  llvm::StringRef getKernelName() const override { return "matmul"; }
  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  OperandOrigin getOperands(ForEachWorkTileOp workTile) override;
  ResultRow getRow(ForEachWorkTileOp workTile, mlir::Value inTile) override;
  mlir::Value getRowEnd(ForEachWorkTileOp workTile) override {
    return resultRows;
  }
  StoreOrigin getStoreOrigin(ForEachWorkTileOp workTile, mlir::Value inTile,
                             mlir::Value column) override;

protected:
  mlir::Value getUnitRowTiles() override;
  /// The row of the result where what this CTA has of a work tile begins.
  virtual mlir::Value getResultRow(ForEachWorkTileOp workTile) {
    return getFirstRow(workTile);
  }

  mlir::Value resultRows;
};

/// Each work tile has a part of the reduction. The results of the parts lie one
/// below the other; SplitReduction.h says who adds them.
class SplitWork final : public DenseWork {
public:
  explicit SplitWork(ProductKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;

private:
  mlir::Value getResultRow(ForEachWorkTileOp workTile) override;
};

/// The CTAs of a cluster share a tile: each has a part of the reduction.
class ClusterWork final : public DenseWork {
public:
  explicit ClusterWork(ProductKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value workTiles) override;
  /// What counts is the whole reduction: others may have parts of it.
  mlir::Value isEmpty(ForEachWorkTileOp workTile) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_DENSEWORK_H
