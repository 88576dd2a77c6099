//===- DequantizeLowering.cpp - Dequantization in registers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of an element and a scale is exact in f32, and the conversion to
// the result type rounds once. The multiplication by the 24-bit factor of an
// NVFP4 tensor is inexact. This multiplication rounds to odd, so a
// narrower result equals the rounded exact product.
//===----------------------------------------------------------------------===//

#include "../Common/Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/BlockFormats/BlockFormat.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

Value DequantizeMath::shiftRight(Value word, int64_t bits) {
  if (bits == 0)
    return word;
  return builder.shiftRight(word, bits);
}

/// Decodes bytes as floats. In f32, the word 0x4B000000 + b is 2^23 + b. An i8
/// with an inverted sign bit, read as an unsigned byte, is its value plus 128.
void DequantizeMath::decodeInt8(Value word, Values &numbers) {
  Value biased = builder.xorBits(word, int32_t(0x80808080));
  Value offset = arith::ConstantOp::create(
      builder, builder.getF32FloatAttr(-(0x1p23f + 128)));
  for (uint32_t i = 0; i < 4; ++i) {
    Value bits = builder.permute(biased, builder.i32(0x4B000000), 0x7440 | i);
    numbers.push_back(arith::AddFOp::create(
        builder, builder.bitcast(builder.getF32Type(), bits), offset));
  }
}

/// Converts two 4-bit or 6-bit codes, in the low bits of the halves of a word,
/// to f16. Moves their fields to the f16 fields and corrects the bias.
Value DequantizeMath::widenOnBits(Value codes) {
  const FloatFormatInfo &info = getElementFormat(element);
  int64_t magnitude = (1 << (info.bits - 1)) - 1, sign = 1 << (info.bits - 1);
  auto place = [&](int64_t mask, int64_t shift) -> Value {
    Value field = builder.andBits(codes, mask * 0x10001);
    return builder.shiftLeft(field, shift);
  };
  Value number = place(magnitude, 10 - info.mantissaBits);
  Value bits = builder.orBits(number, place(sign, 16 - int64_t(info.bits)));
  auto type = VectorType::get({2}, builder.getF16Type());
  auto factor =
      builder.getFloatAttr(builder.getF16Type(), double(1 << (15 - info.bias)));
  Value factors = LLVM::ConstantOp::create(
      builder, type, DenseElementsAttr::get(type, Attribute(factor)));
  return LLVM::FMulOp::create(
      builder, LLVM::BitcastOp::create(builder, type, bits).getResult(),
      factors);
}

/// Converts the two lowest codes of a word to two f16 values.
Value DequantizeMath::widen(Value codes) {
  if (hasConversions || element.getIntOrFloatBitWidth() == 8) {
    Type pair = builder.getIntegerType(isFour() ? 8 : 16);
    return builder.widenNarrow(arith::TruncIOp::create(builder, pair, codes),
                               element);
  }
  if (!isFour())
    return widenOnBits(builder.permute(codes, builder.i32(0), 0x4140));
  Value low = builder.andBits(codes, 0xF);
  Value high = builder.andBits(codes, 0xF0);
  high = builder.shiftLeft(high, 12);
  return widenOnBits(builder.orBits(low, high));
}

SmallVector<Value> DequantizeMath::decode(ArrayRef<Value> words) {
  Values numbers;
  int64_t step = isFour() ? 8 : 16;
  for (Value word : words) {
    if (element.isInteger()) {
      decodeInt8(word, numbers);
      continue;
    }
    // The upper two bits of 6-bit elements are undefined.
    if (element.getIntOrFloatBitWidth() == 6 && hasConversions)
      word = builder.andBits(word, 0x3F3F3F3F);
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

Value DequantizeMath::decodeScale(Value bits, const BlockFormat &format) {
  auto multiply = [&](Value scale) -> Value {
    if (!element.isInteger())
      return scale;
    return arith::MulFOp::create(
        builder, scale,
        arith::ConstantOp::create(builder, builder.getF32FloatAttr(1.0f / 64)));
  };
  if (format.codec)
    return multiply(format.codec->decode(builder, builder.getLoc(), bits));
  Value code = arith::ExtUIOp::create(builder, builder.getI32Type(), bits);
  if (getInfo(*format.scale).mantissaBits) { // E4M3 without sign
    code = builder.andBits(code, 0x7F);
    return builder.widenE4M3(
        arith::TruncIOp::create(builder, builder.getI16Type(), code));
  }
  // Byte 0 encodes 2^-127, the subnormal 0x00400000.
  bits = builder.shiftLeft(code, 23);
  bits = arith::MaxSIOp::create(builder, bits, builder.i32(0x00400000));
  Value isNaN = builder.isEqual(code, builder.i32(255));
  bits = builder.select(isNaN, builder.i32(0x7FC00000), bits);
  return multiply(builder.bitcast(builder.getF32Type(), bits));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

using Values = SmallVector<Value>;

/// Returns the product rounded toward zero, with the last bit set if the
/// product is inexact, that is, if rounding down and rounding up differ.
static Value multiplyToOdd(NVVMBuilder &builder, Value a, Value b) {
  auto getBits = [&](Direction direction) -> Value {
    return builder.bitcast(builder.getI32Type(),
                           builder.multiply(a, b, direction));
  };
  Value down = getBits(Direction::Down), up = getBits(Direction::Up);
  Value isInexact =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, down, up);
  Value last = arith::ExtUIOp::create(builder, builder.getI32Type(), isInexact);
  Value odd = builder.orBits(getBits(Direction::TowardsZero), last);
  return builder.bitcast(builder.getF32Type(), odd);
}

/// Converts numbers to words of the result type.
static Values pack(NVVMBuilder &builder, ArrayRef<Value> numbers, Type type) {
  Values words;
  if (type.isF32()) {
    for (Value number : numbers)
      words.push_back(builder.bitcast(builder.getI32Type(), number));
    return words;
  }
  if (type.getIntOrFloatBitWidth() == 8) {
    auto convert = [&](size_t first) -> Value {
      return arith::ExtUIOp::create(
          builder, builder.getI32Type(),
          builder.convertToNarrow(numbers[first + 1], numbers[first], type));
    };
    for (size_t i = 0; i < numbers.size(); i += 4)
      words.push_back(builder.orBits(
          convert(i),
          arith::ShLIOp::create(builder, convert(i + 2), builder.i32(16))));
    return words;
  }
  for (size_t i = 0; i < numbers.size(); i += 2)
    words.push_back(builder.convertToHalves(numbers[i + 1], numbers[i], type));
  return words;
}

static Value flatten(NVVMBuilder &builder, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (type.getRank() == 1)
    return vector;
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  return vector::ShapeCastOp::create(builder, flat, vector);
}

static Values splitScales(NVVMBuilder &builder, Value scale) {
  auto type = dyn_cast<VectorType>(scale.getType());
  if (!type)
    return {scale};
  Values scales;
  for (int64_t row = 0; row < type.getNumElements(); ++row)
    scales.push_back(vector::ExtractOp::create(builder, scale, row));
  return scales;
}

/// Returns the dequantized values of a block as words.
static Values dequantize(NVVMBuilder &builder, DequantizeBlockOp op,
                         Value decode, ArrayRef<Value> codes, Value scale) {
  DequantizeMath math(builder, getElementTypeOrSelf(op.getInput().getType()),
                      hasNarrowConversions(op));
  Type type = getElementTypeOrSelf(op.getType());
  const BlockFormat &format = getBlockFormat(scale.getType());
  Value bits = builder.bitcast(
      builder.getIntegerType(scale.getType().getIntOrFloatBitWidth()), scale);
  Value factor = math.decodeScale(bits, format);
  Values numbers = math.decode(codes);
  auto multiply = [&](Value a, Value b, bool isExact) -> Value {
    if (isExact || type.isF32())
      return arith::MulFOp::create(builder, a, b);
    return multiplyToOdd(builder, a, b);
  };
  for (Value &number : numbers) {
    number = multiply(number, factor, /*isExact=*/!format.codec);
    if (decode)
      number = multiply(number, decode, /*isExact=*/false);
  }
  return pack(builder, numbers, type);
}

static Values lowerDequantizeBlock(NVVMBuilder &builder, DequantizeBlockOp op,
                                   DequantizeBlockOp::Adaptor adaptor) {
  auto type = cast<VectorType>(op.getType());
  Values codes = splitWords(builder, flatten(builder, adaptor.getInput()));
  Values scales = splitScales(builder, adaptor.getScale());
  Values words;
  for (auto [row, scale] : llvm::enumerate(scales)) {
    size_t count = codes.size() / scales.size();
    llvm::append_range(
        words, dequantize(builder, op, adaptor.getDecode(),
                          ArrayRef(codes).slice(row * count, count), scale));
  }
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  Value result = joinWords(builder, words, flat);
  if (flat != type)
    result = vector::ShapeCastOp::create(builder, type, result);
  return {result};
}

void mx::mxgpu::populateDequantizePatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  addPatterns<lowerDequantizeBlock>(converter, patterns);
}
