//===- LaunchPatterns.cpp - Tensor maps and launches of a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The parts of a memref are the parameters that a kernel takes it by.
//
//===----------------------------------------------------------------------===//

#include "../Utils/MapNumbers.h"
#include "Views.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

struct MapPattern final : OpConversionPattern<EncodeTensorMapOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EncodeTensorMapOp op, OneToNOpAdaptor operands,
                  ConversionPatternRewriter &rewriter) const override {
    PlanBuilder builder(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getSource().getType());
    View view = getView(builder, type, operands.getSource());
    if (!view.strides.empty()) {
      Value stride = view.strides.back();
      Value isOne =
          arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::eq,
                                stride, builder.index(1));
      RequireOp::create(
          rewriter, op.getLoc(), isOne,
          "expected elements side by side, found a stride of %lld", stride);
    }
    TensorMapNumbers numbers =
        getTensorMapNumbers(rewriter, op, view.sizes, view.strides);
    Value offset = builder.mul(
        view.offset, builder.index(type.getElementTypeBitWidth() / 8));
    rewriter.replaceOpWithNewOp<mxplan::EncodeTensorMapOp>(
        op, op.getType(), view.buffer, offset, numbers.dims, numbers.strides,
        op.getL2Promotion());
    return success();
  }
};

struct LaunchPattern final : OpConversionPattern<LaunchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LaunchOp op, OneToNOpAdaptor operands,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parameters;
    PlanBuilder builder(op.getLoc(), rewriter);
    for (auto [argument, parts] :
         llvm::zip_equal(op.getArgs(), operands.getArgs()))
      for (Value value : getParameters(builder, argument.getType(), parts))
        parameters.push_back(
            value.getType().isIndex()
                ? arith::IndexCastOp::create(rewriter, op.getLoc(),
                                             rewriter.getI64Type(), value)
                : value);
    rewriter.replaceOpWithNewOp<mxplan::LaunchOp>(
        op, op.getKernelAttr(), llvm::getSingleElement(operands.getGrid()),
        parameters);
    return success();
  }

  /// What stands for an argument in a plan, and for a contiguous memref that
  /// begins somewhere in its buffer, what stands for one that begins there.
  static SmallVector<Value> getParameters(PlanBuilder &builder, Type type,
                                          ValueRange parts) {
    Type taken = getParameterType(type);
    if (taken == type)
      return llvm::to_vector(parts);
    auto memref = cast<MemRefType>(type);
    View view = getView(builder, memref, parts);
    Value bits = builder.index(getElementBits(memref));
    Value bytes = builder.div(builder.mul(view.offset, bits), 8);
    view.buffer = mxplan::PartOp::create(builder, view.buffer.getType(),
                                         view.buffer, bytes);
    return getParts(cast<MemRefType>(taken), view);
  }
};

} // namespace

void mx::mxgpu::addLaunchPatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<MapPattern, LaunchPattern>(converter, patterns.getContext());
}
