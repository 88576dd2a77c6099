//===- ExpandViews.cpp - Reshapes and copies of views ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Conversion/MXToCPU/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXEXPANDRESHAPES
#define GEN_PASS_DEF_MXEXPANDSTRIDEDCOPIES
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Dimensions that become several dynamic ones
//
// Upstream's lowering of memref.expand_shape divides the dimension by the sizes
// that are static, and has no other source for the one that is not: two of them
// end it by a signal, and so does a size of 0. The operation names its sizes.
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Copies between views as loops
//
// The LLVM lowering of memref.copy calls memrefCopy of MLIR's runner library
// where an array is not contiguous; a process without that library should run
// the module too.
//===----------------------------------------------------------------------===//

namespace {

bool isContiguous(Value array) {
  auto type = dyn_cast<MemRefType>(array.getType());
  return !type || type.getLayout().isIdentity();
}

void expand(memref::CopyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  int64_t rank = cast<MemRefType>(op.getTarget().getType()).getRank();
  SmallVector<Value> indices;
  for (int64_t i = 0; i < rank; ++i) {
    Value size = memref::DimOp::create(builder, loc, op.getTarget(), i);
    auto loop = scf::ForOp::create(builder, loc, zero, size, one);
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value element = memref::LoadOp::create(builder, loc, op.getSource(), indices);
  memref::StoreOp::create(builder, loc, element, op.getTarget(), indices);
  op.erase();
}

struct ExpandStridedCopiesPass final
    : mx::impl::MXExpandStridedCopiesBase<ExpandStridedCopiesPass> {
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) {
      bool ranked = isa<MemRefType>(op.getSource().getType()) &&
                    isa<MemRefType>(op.getTarget().getType());
      if (ranked &&
          !(isContiguous(op.getSource()) && isContiguous(op.getTarget())))
        copies.push_back(op);
    });
    llvm::for_each(copies, expand);
  }
};

} // namespace
