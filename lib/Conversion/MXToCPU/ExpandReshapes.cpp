//===- ExpandReshapes.cpp - Dimensions that become several dynamic ones ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream's lowering of memref.expand_shape divides the dimension by the sizes
// that are static, and has no other source for the one that is not: two of them
// end it by a signal, and so does a size of 0. The operation names its sizes.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_MXEXPANDRESHAPES
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;

namespace {

struct ExpandReshape final : OpRewritePattern<memref::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    if (!isOpen(op))
      return failure();
    Location loc = op.getLoc();
    auto source =
        memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    SmallVector<OpFoldResult> given = source.getConstifiedMixedStrides();
    SmallVector<OpFoldResult> strides(sizes.size());
    AffineExpr product =
        rewriter.getAffineSymbolExpr(0) * rewriter.getAffineSymbolExpr(1);
    for (auto [stride, group] : llvm::zip(given, op.getReassociationIndices()))
      for (int64_t dim : llvm::reverse(group)) {
        strides[dim] = stride;
        stride = affine::makeComposedFoldedAffineApply(rewriter, loc, product,
                                                       {stride, sizes[dim]});
      }
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
        op, op.getResultType(), source.getBaseBuffer(),
        source.getConstifiedMixedOffset(), sizes, strides);
    return success();
  }

  /// Whether a dynamic size is not what the static ones leave.
  static bool isOpen(memref::ExpandShapeOp op) {
    ArrayRef<int64_t> shape = op.getResultType().getShape();
    return llvm::any_of(op.getReassociationIndices(),
                        [&](const ReassociationIndices &group) {
                          int64_t dynamic = 0, empty = 0;
                          for (int64_t dim : group) {
                            dynamic += ShapedType::isDynamic(shape[dim]);
                            empty += shape[dim] == 0;
                          }
                          return dynamic > 1 || (dynamic && empty);
                        });
  }
};

struct ExpandReshapesPass final
    : mx::impl::MXExpandReshapesBase<ExpandReshapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandReshape>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
