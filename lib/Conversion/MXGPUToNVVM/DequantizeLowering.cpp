//===- DequantizeLowering.cpp - Elements times scales in registers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The product of an element and a scale is exact in f32 (DequantizeMath). What
// is left is one rounding, of the conversion. The factor of an NVFP4 tensor has
// 24 bits, so that its product is rounded to odd first, from which any narrower
// result rounds as from the exact number.
//
//===----------------------------------------------------------------------===//

#include "DequantizeMath.h"
#include "Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

using Values = SmallVector<Value>;

/// The product towards zero, with the last bit set where it is not exact: where
/// those downwards and upwards differ.
static Value multiplyToOdd(NVVMBuilder &builder, Value a, Value b) {
  auto getBits = [&](Direction direction) -> Value {
    return arith::BitcastOp::create(builder, builder.getI32Type(),
                                    builder.multiply(a, b, direction));
  };
  Value down = getBits(Direction::Down), up = getBits(Direction::Up);
  Value isInexact =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, down, up);
  Value last = arith::ExtUIOp::create(builder, builder.getI32Type(), isInexact);
  Value odd =
      arith::OrIOp::create(builder, getBits(Direction::TowardsZero), last);
  return arith::BitcastOp::create(builder, builder.getF32Type(), odd);
}

/// Words of the result's type.
static Values pack(NVVMBuilder &builder, ArrayRef<Value> numbers, Type type) {
  Values words;
  if (type.isF32()) {
    for (Value number : numbers)
      words.push_back(
          arith::BitcastOp::create(builder, builder.getI32Type(), number));
    return words;
  }
  for (size_t i = 0; i < numbers.size(); i += 2)
    words.push_back(builder.convertToHalves(numbers[i + 1], numbers[i], type));
  return words;
}

namespace {
struct DequantizeBlockLowering final : OpConversionPattern<DequantizeBlockOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(DequantizeBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    DequantizeMath math(builder, getElementTypeOrSelf(op.getInput().getType()),
                        hasNarrowConversions(op));
    Value byte = arith::BitcastOp::create(builder, builder.getI8Type(),
                                          adaptor.getScale());
    Value scale =
        math.decodeScale(byte, isa<Float8E4M3FNType>(op.getScale().getType()));
    Value decode = adaptor.getDecode();
    Values numbers = math.decode(splitWords(builder, adaptor.getInput()));
    for (Value &number : numbers) {
      number = arith::MulFOp::create(builder, number, scale);
      if (decode)
        number =
            type.getElementType().isF32()
                ? arith::MulFOp::create(builder, number, decode).getResult()
                : multiplyToOdd(builder, number, decode);
    }
    rewriter.replaceOp(
        op, joinWords(builder, pack(builder, numbers, type.getElementType()),
                      type));
    return success();
  }
};
} // namespace

void mx::mxgpu::populateDequantizePatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  patterns.add<DequantizeBlockLowering>(converter, patterns.getContext());
}
