//===- GridLowering.cpp - A CTA among others ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Its rank in a pair, and the kernels before and after its own.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

struct CtaRankLowering final : OpConversionPattern<CtaRankOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(CtaRankOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, builder.getIndexType(), builder.ctaRank());
    return success();
  }
};

struct WaitDependenciesLowering final
    : OpConversionPattern<WaitDependenciesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WaitDependenciesOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder(op.getLoc(), rewriter).waitForGrids();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LaunchDependentsLowering final
    : OpConversionPattern<LaunchDependentsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LaunchDependentsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder(op.getLoc(), rewriter).launchDependentGrids();
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mx::mxgpu::populateGridPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter) {
  patterns
      .add<CtaRankLowering, WaitDependenciesLowering, LaunchDependentsLowering>(
          converter, patterns.getContext());
}
