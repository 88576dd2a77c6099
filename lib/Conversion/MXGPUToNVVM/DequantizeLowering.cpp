//===- DequantizeLowering.cpp - Elements times scales in registers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Codes become f32 numbers, which they are exactly, and so is their product
// with a scale: at most 8 bits of significand, and down to 2^-143. What is left
// is one rounding, of the conversion. The factor of an NVFP4 tensor has 24
// bits, so that its product is rounded to odd first, from which any narrower
// result rounds as from the exact number.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Support/FloatFormats.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

using Values = SmallVector<Value>;

/// Builds the numbers that codes stand for.
class DequantizeMath {
public:
  DequantizeMath(NVVMBuilder &builder, Type element, bool hasConversions)
      : builder(builder), element(element), hasConversions(hasConversions) {}

  /// All elements of some words as f32, MXINT8 times 64.
  Values decode(ArrayRef<Value> words);
  /// The scale (i8) as f32, MXINT8's by 64.
  Value decodeScale(Value byte, bool nvfp4);

private:
  Value shiftRight(Value word, int64_t bits);
  Value widen(Value codes);
  Value widenOnBits(Value codes);
  void decodeInt8(Value word, Values &numbers);

  bool isFour() const { return isa<Float4E2M1FNType>(element); }

  NVVMBuilder &builder;
  Type element;
  bool hasConversions;
};

} // namespace

Value DequantizeMath::shiftRight(Value word, int64_t bits) {
  if (bits == 0)
    return word;
  return arith::ShRUIOp::create(builder, word, builder.i32(bits));
}

/// A byte beside 0x4B0000 is 2^23 more than it in f32; without its sign bit
/// upside down it is 128 too large.
void DequantizeMath::decodeInt8(Value word, Values &numbers) {
  Value biased =
      arith::XOrIOp::create(builder, word, builder.i32(int32_t(0x80808080)));
  Value offset = arith::ConstantOp::create(
      builder, builder.getF32FloatAttr(-(0x1p23f + 128)));
  for (uint32_t i = 0; i < 4; ++i) {
    Value bits = builder.permute(biased, builder.i32(0x4B000000), 0x7440 | i);
    numbers.push_back(arith::AddFOp::create(
        builder, arith::BitcastOp::create(builder, builder.getF32Type(), bits),
        offset));
  }
}

/// Two codes of 4 or 6 bits, in the low bits of the halves of a word, as f16:
/// their fields stand where those of f16 do, whose exponent has another bias.
Value DequantizeMath::widenOnBits(Value codes) {
  auto format = isa<Float6E3M2FNType>(element)   ? FloatFormat::E3M2
                : isa<Float6E2M3FNType>(element) ? FloatFormat::E2M3
                                                 : FloatFormat::E2M1;
  const FloatFormatInfo &info = getInfo(format);
  int64_t magnitude = (1 << (info.bits - 1)) - 1, sign = 1 << (info.bits - 1);
  auto place = [&](int64_t mask, int64_t shift) -> Value {
    Value field =
        arith::AndIOp::create(builder, codes, builder.i32(mask * 0x10001));
    return arith::ShLIOp::create(builder, field, builder.i32(shift));
  };
  Value number = place(magnitude, 10 - info.mantissaBits);
  Value bits = arith::OrIOp::create(builder, number,
                                    place(sign, 16 - int64_t(info.bits)));
  auto type = VectorType::get({2}, builder.getF16Type());
  auto factor =
      builder.getFloatAttr(builder.getF16Type(), double(1 << (15 - info.bias)));
  Value factors = LLVM::ConstantOp::create(
      builder, type, DenseElementsAttr::get(type, Attribute(factor)));
  return LLVM::FMulOp::create(
      builder, LLVM::BitcastOp::create(builder, type, bits).getResult(),
      factors);
}

/// The two lowest codes of a word as two f16.
Value DequantizeMath::widen(Value codes) {
  if (hasConversions || element.getIntOrFloatBitWidth() == 8) {
    Type pair = builder.getIntegerType(isFour() ? 8 : 16);
    return builder.widenNarrow(arith::TruncIOp::create(builder, pair, codes),
                               element);
  }
  if (!isFour())
    return widenOnBits(builder.permute(codes, builder.i32(0), 0x4140));
  Value low = arith::AndIOp::create(builder, codes, builder.i32(0xF));
  Value high = arith::AndIOp::create(builder, codes, builder.i32(0xF0));
  high = arith::ShLIOp::create(builder, high, builder.i32(12));
  return widenOnBits(arith::OrIOp::create(builder, low, high));
}

Values DequantizeMath::decode(ArrayRef<Value> words) {
  Values numbers;
  int64_t step = isFour() ? 8 : 16;
  for (Value word : words) {
    if (element.isInteger()) {
      decodeInt8(word, numbers);
      continue;
    }
    // Bytes of 6 bits have two that say nothing.
    if (element.getIntOrFloatBitWidth() == 6 && hasConversions)
      word = arith::AndIOp::create(builder, word, builder.i32(0x3F3F3F3F));
    for (int64_t bits = 0; bits < 32; bits += step) {
      Value pair = widen(shiftRight(word, bits));
      for (int64_t i : {0, 1})
        numbers.push_back(LLVM::FPExtOp::create(
            builder, builder.getF32Type(),
            LLVM::ExtractElementOp::create(builder, pair, builder.i32(i))
                .getResult()));
    }
  }
  return numbers;
}

Value DequantizeMath::decodeScale(Value byte, bool nvfp4) {
  Value code = arith::ExtUIOp::create(builder, builder.getI32Type(), byte);
  if (nvfp4) { // without a sign
    code = arith::AndIOp::create(builder, code, builder.i32(0x7F));
    return builder.widenE4M3(
        arith::TruncIOp::create(builder, builder.getI16Type(), code));
  }
  // 2^-127, byte 0, is the subnormal 0x00400000.
  Value bits = arith::ShLIOp::create(builder, code, builder.i32(23));
  bits = arith::MaxSIOp::create(builder, bits, builder.i32(0x00400000));
  Value isNaN = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, code,
                                      builder.i32(255));
  bits = arith::SelectOp::create(builder, isNaN, builder.i32(0x7FC00000), bits);
  Value scale = arith::BitcastOp::create(builder, builder.getF32Type(), bits);
  if (!element.isInteger())
    return scale;
  return arith::MulFOp::create(
      builder, scale,
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(1.0f / 64)));
}

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
