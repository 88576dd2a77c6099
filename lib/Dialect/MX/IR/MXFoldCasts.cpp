//===- MXFoldCasts.cpp - Take over static sizes from casts ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream folds tensor.cast into every destination-style operation, but its
// way of cloning dereferences the first block of each region, and the epilogue
// of a product may have none. These patterns do the same for the operations
// with an epilogue, and go first.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

namespace {
template <typename OpT>
struct FoldCastsIntoProduct final : OpRewritePattern<OpT> {
  FoldCastsIntoProduct(MLIRContext *context)
      : OpRewritePattern<OpT>(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if (!tensor::hasFoldableTensorCastOperand(op))
      return rewriter.notifyMatchFailure(op, "no operand is such a cast");
    SmallVector<Type> types;
    SmallVector<Value> operands = tensor::getUpdatedOperandsAfterCastOpFolding(
        cast<DestinationStyleOpInterface>(op.getOperation()), types);
    Operation *folded = rewriter.clone(*op.getOperation());
    rewriter.modifyOpInPlace(folded, [&] {
      folded->setOperands(operands);
      for (auto [result, type] : llvm::zip_equal(folded->getResults(), types))
        result.setType(type);
    });
    SmallVector<Value> results;
    for (auto [result, old] :
         llvm::zip_equal(folded->getResults(), op->getResults()))
      results.push_back(result.getType() == old.getType()
                            ? Value(result)
                            : tensor::CastOp::create(rewriter, op.getLoc(),
                                                     old.getType(), result));
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<FoldCastsIntoProduct<MatmulOp>>(context);
}

void GroupedMatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<FoldCastsIntoProduct<GroupedMatmulOp>>(context);
}
