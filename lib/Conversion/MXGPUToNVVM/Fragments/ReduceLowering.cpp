//===- ReduceLowering.cpp - Numbers of the lanes of a warp as one ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Five steps, in each of which a lane combines its number with that of the lane
// whose number differs in one bit. Addition commutes, so that all lanes come to
// the same bits.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

struct ReduceLanesLowering final : OpConversionPattern<ReduceLanesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ReduceLanesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value value = adaptor.getValue();
    for (int64_t lanes = mx::target::kWarpSize / 2; lanes > 0; lanes /= 2) {
      Value bits =
          arith::BitcastOp::create(builder, builder.getI32Type(), value);
      Value other = arith::BitcastOp::create(builder, builder.getF32Type(),
                                             builder.shuffleXor(bits, lanes));
      value = combine(builder, op.getKind(), value, other);
    }
    rewriter.replaceOp(op, value);
    return success();
  }

private:
  static Value combine(NVVMBuilder &builder, ReduceKind kind, Value a,
                       Value b) {
    switch (kind) {
    case ReduceKind::Add:
      return LLVM::FAddOp::create(builder, a, b);
    case ReduceKind::Maximum:
      return LLVM::MaximumOp::create(builder, a, b);
    case ReduceKind::Minimum:
      return LLVM::MinimumOp::create(builder, a, b);
    }
    llvm_unreachable("all kinds are listed");
  }
};

} // namespace

void mx::mxgpu::populateReducePatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter) {
  patterns.add<ReduceLanesLowering>(converter, patterns.getContext());
}
