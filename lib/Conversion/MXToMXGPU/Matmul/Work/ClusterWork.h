//===- ClusterWork.h - Parts of a reduction in a cluster --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The CTAs of a cluster share a tile: each has a part of the reduction.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_CLUSTERWORK_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_CLUSTERWORK_H

#include "DenseWork.h"

namespace mx::mxgpu {

class ClusterWork final : public DenseWork {
public:
  explicit ClusterWork(ProductKernel &kernel) : DenseWork(kernel) {}

  void createScheduler(mlir::Value rows, mlir::Value columns,
                       mlir::Value units) override;
  /// What counts is the whole reduction: others may have parts of it.
  mlir::Value isEmpty(ForEachWorkTileOp unit) override;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WORK_CLUSTERWORK_H
