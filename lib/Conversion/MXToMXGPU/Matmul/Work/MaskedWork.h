//===- MaskedWork.h - Units of groups with matrices -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each group has the first rows of a matrix of its own, which has room for
// more. Matrices lie one below the other, and have whole tiles of scales.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_MASKEDWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_MASKEDWORK_H

#include "RowsWork.h"

namespace mx::mxgpu {

class MaskedWork final : public RowsWork {
public:
  explicit MaskedWork(ProductKernel &kernel) : RowsWork(kernel) {}

  void viewMatrices() override;
  void checkGroups() override;
  mlir::Value getRowTiles(mlir::Value rows) override {
    return getColumnTiles(rows);
  }
  mlir::OpFoldResult getMatrixRows() override {
    return getSize(host, op.getA(), 1);
  }
  mlir::Value getRowTile(ForEachWorkTileOp unit) override;

private:
  mlir::Value getRowInMatrix(ForEachWorkTileOp unit, mlir::Value row) override;
  /// Where the matrix of a group begins in A.
  mlir::Value getMatrixRow(ForEachWorkTileOp unit);
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_MASKEDWORK_H
