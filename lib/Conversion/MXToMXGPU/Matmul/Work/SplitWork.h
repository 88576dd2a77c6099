//===- SplitWork.h - Units that share a tile --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each unit has a part of the reduction. The results of the parts lie one below
// the other; SplitReduction.h says who adds them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SPLITWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SPLITWORK_H

#include "DenseWork.h"

namespace mx::mxgpu {

class SplitWork final : public DenseWork {
public:
  explicit SplitWork(ProductKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value units) override;

private:
  mlir::Value getResultRow(ForEachWorkTileOp unit) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_SPLITWORK_H
