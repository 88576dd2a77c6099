//===- FusedRegionBuilder.h - Regions made of other regions -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Builds the prologue of a quantization from the bodies of the operations that
// compute its inputs: elementwise operations, dequantizations, other prologues.
// Builds the epilogue of a matmul from the bodies of the users of its result.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEDREGIONBUILDER_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEDREGIONBUILDER_H

#include "Obstacles.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mx {

/// Whether the result for an element depends on its row or column.
bool usesPlaces(mlir::linalg::LinalgOp op);

/// Whether a region may be given what `op` computes, or can compute it of that
/// with no other rounding.
bool canInline(DequantizeOp op);

inline bool operator==(const QuantizeSource &a, const QuantizeSource &b) {
  return a.tensor == b.tensor && a.scales == b.scales &&
         a.numberType == b.numberType;
}

/// The region of a new quantization or matmul, made of the bodies of others.
class FusedRegionBuilder {
public:
  /// A prologue or, with its block, an epilogue, which reads all tensors but
  /// matmuls by tensor.extract.
  FusedRegionBuilder(mlir::IRRewriter &rewriter, mlir::Operation *place,
                     mlir::Block *epilogue = nullptr);

  /// From now on `tensor` has, at the place of the element, matrix `matrix` of
  /// `matmul`, `width` columns wide: a sum, or what its epilogue makes of it.
  void inlineMatmul(MatmulOpInterface matmul, mlir::Value tensor,
                    int64_t matrix, int64_t width);

  /// The values that `op` yields, or its input.
  llvm::SmallVector<mlir::Value> inlinePrologue(FusedQuantizeOp op);

  /// The elements of these tensors, as inputs or as they are computed.
  llvm::SmallVector<mlir::Value> getElements(mlir::ValueRange tensors);

  /// From now on the results of `op` are computed where they are needed.
  void inlineElementwise(mlir::linalg::LinalgOp op);
  void inlineDequantize(DequantizeOp op);

  /// The value of an element of a tensor.
  mlir::Value getElement(mlir::Value tensor);

  /// Replaces `alike` with a quantization of `values` before `place`.
  FusedQuantizeOp finish(FusedQuantizeOp alike, llvm::ArrayRef<int64_t> axes,
                         llvm::ArrayRef<mlir::Value> outs, bool hasAmax,
                         llvm::ArrayRef<mlir::Value> values);

private:
  mlir::Value getElement(const QuantizeSource &source);
  mlir::Value extract(mlir::Value tensor, mlir::ValueRange indices);
  mlir::Value access(mlir::linalg::LinalgOp op, mlir::OpOperand *operand);
  mlir::Value getIndex(unsigned loop, unsigned numLoops);
  llvm::SmallVector<mlir::Value> clone(mlir::Block &body,
                                       mlir::IRMapping &mapping);

  mlir::IRRewriter &rewriter;
  mlir::Operation *place;
  std::unique_ptr<mlir::Block> prologue;
  mlir::Block *block;
  mlir::Value row, column;
  /// Those of the new quantization, in the order of its arguments.
  llvm::SmallVector<QuantizeSource> sources;
  llvm::SmallVector<mlir::Location> locations;
  /// What stands for the elements of tensors that are computed in place.
  llvm::DenseMap<mlir::Value, mlir::Value> computed;
};

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEDREGIONBUILDER_H
