//===- Obstacles.h - What keeps operations apart ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The conditions of both fusions, as text: passes only need to know whether
// there is an obstacle, and messages say which.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_OBSTACLES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_OBSTACLES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Text that follows "since", and the operation that it is about, if that is
/// another one.
struct Obstacle {
  std::string why;
  mlir::Operation *where = nullptr;

  explicit operator bool() const { return !why.empty(); }
};

/// What keeps an operation on tensors from being one that computes each element
/// of its results from the elements at the same place.
Obstacle findElementwiseObstacle(mlir::linalg::LinalgOp op);

inline bool isElementwise(mlir::linalg::LinalgOp op) {
  return !findElementwiseObstacle(op);
}

/// What keeps an operation from becoming the epilogue of a matmul that it
/// uses.
Obstacle findEpilogueObstacle(MatmulOpInterface matmul,
                              mlir::linalg::LinalgOp op);

/// What keeps an operation from becoming the prologue of a quantization that
/// uses it.
Obstacle findPrologueObstacle(mlir::linalg::LinalgOp op,
                              FusedQuantizeOp quantize);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_OBSTACLES_H
