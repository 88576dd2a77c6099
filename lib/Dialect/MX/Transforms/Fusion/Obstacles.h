//===- Obstacles.h - Obstacles to fusion ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Obstacles to the fusion of epilogues and prologues. Remarks print the reason.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_OBSTACLES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_OBSTACLES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Reason why operations cannot be fused, worded to follow "since" in a remark,
/// and another involved operation, if any.
struct Obstacle {
  std::string why;
  mlir::Operation *where = nullptr;

  explicit operator bool() const { return !why.empty(); }
};

/// Returns an obstacle unless the operation on tensors computes each element
/// from the elements at the same position.
Obstacle findElementwiseObstacle(mlir::linalg::LinalgOp op);

inline bool isElementwise(mlir::linalg::LinalgOp op) {
  return !findElementwiseObstacle(op);
}

/// Returns the obstacle to making `op` the epilogue of `matmul`.
Obstacle findEpilogueObstacle(MatmulOpInterface matmul,
                              mlir::linalg::LinalgOp op);

/// Returns the obstacle to making `op` the prologue of `quantize`.
Obstacle findPrologueObstacle(mlir::linalg::LinalgOp op,
                              FusedQuantizeOp quantize);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_OBSTACLES_H
