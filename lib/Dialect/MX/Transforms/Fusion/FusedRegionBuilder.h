//===- FusedRegionBuilder.h - Builder of fused regions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the prologue of a quantization from the bodies of its producers
// (elementwise operations, dequantizations, other prologues), and the epilogue
// of a matmul from the bodies of its users.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEDREGIONBUILDER_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEDREGIONBUILDER_H

#include "Obstacles.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mx {

/// Returns true if an element of the result depends on the row or column index.
bool usesPlaces(mlir::linalg::LinalgOp op);

/// Returns true if a region can compute `op` without an additional rounding.
bool canInline(DequantizeOp op);

inline bool operator==(const QuantizeSource &a, const QuantizeSource &b) {
  return a.tensor == b.tensor && a.scales == b.scales &&
         a.numberType == b.numberType;
}

/// Builds the region of a new quantization or matmul.
class FusedRegionBuilder {
public:
  /// Builds a prologue or, given its block, an epilogue. An epilogue reads all
  /// tensors except matmul results by tensor.extract.
  FusedRegionBuilder(mlir::IRRewriter &rewriter, mlir::Operation *place,
                     mlir::Block *epilogue = nullptr);

  /// Maps `tensor`, the result of `matmul` for B matrix number `matrix`, to the
  /// element's accumulator or to the result of the epilogue. The matrix has
  /// `width` columns.
  void inlineMatmul(MatmulOpInterface matmul, mlir::Value tensor,
                    int64_t matrix, int64_t width);

  /// Inlines the prologue of `op`, if any, and returns the values to quantize.
  llvm::SmallVector<mlir::Value> inlinePrologue(FusedQuantizeOp op);

  /// Returns the elements of `tensors`, which are region arguments or values
  /// computed in the region.
  llvm::SmallVector<mlir::Value> getElements(mlir::ValueRange tensors);

  /// Computes the results of `op` in the region in place of reading them.
  void inlineElementwise(mlir::linalg::LinalgOp op);
  void inlineDequantize(DequantizeOp op);

  mlir::Value getElement(mlir::Value tensor);

  /// Creates a quantization of `values` before `place`, with the recipe of
  /// `alike`.
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
  /// Sources of the new quantization, in the order of its arguments.
  llvm::SmallVector<QuantizeSource> sources;
  llvm::SmallVector<mlir::Location> locations;
  /// Elements that the region computes, keyed by tensor.
  llvm::DenseMap<mlir::Value, mlir::Value> computed;
};

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEDREGIONBUILDER_H
