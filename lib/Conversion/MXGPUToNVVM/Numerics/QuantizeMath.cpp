//===- QuantizeMath.cpp - Maxima and scales of a quantizer in registers ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maxima and scales are computed on the bits of floats, so they do not depend
// on how comparisons treat subnormals and NaN. QuantizeElements.cpp computes
// elements.
//===----------------------------------------------------------------------===//

#include "QuantizeMath.h"
#include "../Common/Lowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Support/ScaleRecipe.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

const FloatFormatInfo &mx::mxgpu::getElementFormat(Type element) {
  return getInfo(*getFloatFormat(element));
}

const FloatFormatInfo &QuantizeRecipe::getFormat() const {
  return getElementFormat(element);
}

bool mx::mxgpu::hasNarrowConversions(Operation *op) {
  const target::TargetInfo *target = getKernelTarget(op);
  return target && target->hasNarrowConversions();
}

QuantizeRecipe QuantizeRecipe::get(Operation *op, Type input, Type element,
                                   Type scale, ScaleRounding rounding) {
  QuantizeRecipe recipe = {input, element, rounding};
  const BlockFormat &format = getBlockFormat(scale);
  recipe.isRelative = format.hasTensorFactor || format.codec;
  recipe.codec = format.getCodec(rounding == ScaleRounding::Ceil);
  recipe.narrowConversions = hasNarrowConversions(op);
  return recipe;
}

int64_t QuantizeRecipe::elementBits() const {
  return isa<Float4E2M1FNType>(element) ? 4 : 8;
}

/// Returns true if pairs of bf16 values are multiplied by a power of two.
bool QuantizeMath::isScaledInPairs() const {
  return recipe.input.isBF16() && !recipe.isRelative;
}

bool QuantizeMath::isConvertedByTarget() const {
  return isa<Float8E4M3FNType, Float8E5M2Type>(recipe.element) ||
         (recipe.narrowConversions && !recipe.element.isInteger());
}

bool QuantizeMath::isRoundedInPairs() const {
  return isScaledInPairs() && !isConvertedByTarget() &&
         !recipe.element.isInteger();
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

/// Returns the larger magnitudes of two words. For NVFP4, compares them as
/// integers, because ptxas then needs fewer registers.
Value QuantizeMath::combine(Value a, Value b) {
  if (!recipe.isRelative)
    return builder.largerMagnitude(a, b, recipe.input);
  if (recipe.inWord() == 1)
    return arith::MaxUIOp::create(builder, a, b);
  Type halves = VectorType::get({2}, builder.getI16Type());
  Value max = LLVM::UMaxOp::create(
      builder, LLVM::BitcastOp::create(builder, halves, a).getResult(),
      LLVM::BitcastOp::create(builder, halves, b).getResult());
  return LLVM::BitcastOp::create(builder, builder.getI32Type(), max);
}

/// Compares the bits of magnitudes as unsigned integers. In this order infinity
/// is above all finite numbers and NaN is above infinity.
Value QuantizeMath::getMaximum(ArrayRef<Value> words) {
  Value mask = builder.i32(recipe.inWord() == 1 ? 0x7FFFFFFF : 0x7FFF7FFF);
  Value maximum;
  for (Value word : words) {
    if (recipe.isRelative)
      word = builder.andBits(word, mask);
    maximum = maximum ? combine(maximum, word) : word;
  }
  if (recipe.isRelative)
    return maximum;
  return builder.andBits(maximum, mask);
}

Value QuantizeMath::shareMaximum(Value maximum, uint64_t lanes) {
  for (uint64_t distance = 1; distance < lanes; distance *= 2)
    maximum = combine(maximum, builder.shuffleXor(maximum, distance));
  return maximum;
}

Value QuantizeMath::toFloat(Value word, unsigned half) {
  if (recipe.input.isF16()) {
    Type pair = VectorType::get({2}, recipe.input);
    Value number = LLVM::ExtractElementOp::create(
        builder, LLVM::BitcastOp::create(builder, pair, word),
        builder.i32(half));
    return LLVM::FPExtOp::create(builder, builder.getF32Type(), number);
  }
  if (recipe.input.isBF16())
    word = half == 0 ? builder.shiftLeft(word, 16)
                     : builder.andBits(word, int32_t(0xFFFF0000));
  return builder.bitcast(builder.getF32Type(), word);
}

Value QuantizeMath::getColumnMaximum(Value maximum, unsigned half) {
  return builder.bitcast(builder.getI32Type(), toFloat(maximum, half));
}

Value QuantizeMath::getRowMaximum(Value maximum) {
  if (recipe.inWord() == 2)
    maximum = combine(maximum, builder.shiftRight(maximum, 16));
  return getColumnMaximum(maximum, 0);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

static constexpr int64_t kInfinity = 0x7F800000, kMaxFinite = 0x7F7FFFFF;

Value QuantizeMath::select(Value condition, Value yes, Value no) {
  return builder.select(condition, yes, no);
}

Value QuantizeMath::compare(arith::CmpIPredicate predicate, Value a,
                            int64_t b) {
  return arith::CmpIOp::create(builder, predicate, a, builder.i32(b));
}

Value QuantizeMath::toFloatBits(Value f32) {
  return builder.bitcast(builder.getI32Type(), f32);
}

Value QuantizeMath::fromBits(Value bits) {
  return builder.bitcast(builder.getF32Type(), bits);
}

Value QuantizeMath::multiply(Value a, float b) {
  return arith::MulFOp::create(
      builder, a,
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(b)));
}

/// Multiplies the magnitude by the rounded reciprocal of the largest element,
/// and returns the byte of the next power of two. Returns 255 for NaN and 254
/// for infinity. Byte 0 encodes 2^-127, the subnormal 0x00400000.
Value QuantizeMath::getScaleByteUp(Value bits, const ScaleRecipe &scale) {
  Value quotient =
      multiply(fromBits(bits), floatFromBits(scale.maxReciprocalBits));
  if (recipe.narrowConversions) {
    Value zero =
        arith::ConstantOp::create(builder, builder.getF32FloatAttr(0.0f));
    Value pair = builder.convertToScalesUp(zero, quotient);
    return builder.andBits(
        arith::ExtUIOp::create(builder, builder.getI32Type(), pair), 0xFF);
  }
  quotient = toFloatBits(quotient);
  Value up =
      builder.shiftRight(builder.add(quotient, builder.i32(0x7FFFFF)), 23);
  Value isSmallest = compare(arith::CmpIPredicate::ule, quotient, 0x00400000);
  Value byte = select(isSmallest, builder.i32(0), up);
  byte = builder.min(byte, 254);
  Value isNaN = compare(arith::CmpIPredicate::ugt, bits, kInfinity);
  return select(isNaN, builder.i32(255), byte);
}

/// Returns the exponent of the magnitude minus the exponent of the largest
/// element. Some recipes first round the magnitude to the element's mantissa.
Value QuantizeMath::getScaleByteDown(Value bits, const ScaleRecipe &scale) {
  uint32_t carry = scale.getCarry(ScaleRecipe::Rounding(recipe.rounding));
  Value rounded = carry ? builder.add(bits, builder.i32(carry)) : bits;
  Value exponent = builder.shiftRight(rounded, 23);
  Value byte = builder.sub(exponent, scale.emax);
  byte = arith::MaxSIOp::create(builder, byte, builder.i32(0));
  byte = arith::MinSIOp::create(builder, byte, builder.i32(254));
  Value isInfinity = compare(arith::CmpIPredicate::eq, bits, kInfinity);
  Value isNaN = compare(arith::CmpIPredicate::ugt, bits, kInfinity);
  byte = select(isInfinity, builder.i32(254), byte);
  return select(isNaN, builder.i32(255), byte);
}

/// Computes a power-of-two scale and its factor 2^(127 - byte) with exponent
/// field 254 - byte. The factor is subnormal for byte 254 and NaN for byte 255.
BlockScale QuantizeMath::getPowerOfTwoScale(Value bits) {
  const ScaleRecipe &scale = recipe.element.isInteger()
                                 ? getInt8ScaleRecipe()
                                 : getScaleRecipe(recipe.getFormat().format);
  Value byte = recipe.rounding == ScaleRounding::Ceil
                   ? getScaleByteUp(bits, scale)
                   : getScaleByteDown(bits, scale);
  Value field = builder.sub(builder.i32(254), byte);
  Value factor = arith::MaxSIOp::create(builder, builder.shiftLeft(field, 23),
                                        builder.i32(0x00400000));
  Value isNaN = compare(arith::CmpIPredicate::ugt, bits, kInfinity);
  factor = select(isNaN, builder.i32(0x7FC00000), factor);
  return {byte, fromBits(factor), isNaN};
}

/// Computes RN(encode / scale) for an E4M3 scale above 0. Multiplies by an
/// approximate reciprocal and corrects the result with the exact remainder.
/// Divides if an intermediate result could be subnormal.
Value QuantizeMath::divideByScale(Value encode, Value scale) {
  Value bits = toFloatBits(encode);
  // `encode` is in the usual range if it is at least 2^-64 and below 2^64.
  Value offset = builder.sub(bits, 63 << 23);
  Value isUsual =
      compare(arith::CmpIPredicate::ult, offset, int64_t(128) << 23);
  auto ifOp = scf::IfOp::create(builder, TypeRange(builder.getF32Type()),
                                isUsual, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  auto fma = [&](Value a, Value b, Value c) -> Value {
    return LLVM::FMAOp::create(builder, a, b, c);
  };
  Value one = arith::ConstantOp::create(builder, builder.getF32FloatAttr(1.0f));
  Value negated = arith::NegFOp::create(builder, scale);
  Value inverse = builder.reciprocal(scale);
  inverse = fma(inverse, fma(negated, inverse, one), inverse);
  Value quotient = arith::MulFOp::create(builder, encode, inverse);
  quotient = fma(fma(negated, quotient, encode), inverse, quotient);
  scf::YieldOp::create(builder, quotient);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  Value divided = arith::DivFOp::create(builder, encode, scale);
  scf::YieldOp::create(builder, divided);
  return ifOp.getResult(0);
}

/// Computes the scale s = E4M3(RN(RN(a / 6) * encode)) of a block with the
/// largest magnitude a. The factor is the bounded encode / s, or 0.
BlockScale QuantizeMath::getRelativeScale(Value bits, Value encode) {
  const ScaleRecipe &scale = getScaleRecipe(FloatFormat::E2M1);
  Value sixth =
      multiply(fromBits(bits), floatFromBits(scale.maxReciprocalBits));
  Value target = arith::MulFOp::create(builder, sixth, encode);
  Value zero =
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(0.0f));
  Type e4m3 = Float8E4M3FNType::get(builder.getContext());
  Value pair = builder.convertToNarrow(zero, target, e4m3);
  Value byte = arith::ExtUIOp::create(builder, builder.getI32Type(), pair);
  Value quotient = toFloatBits(divideByScale(encode, builder.widenE4M3(pair)));
  Value isInfinity = compare(arith::CmpIPredicate::eq, quotient, kInfinity);
  quotient = select(isInfinity, builder.i32(kMaxFinite), quotient);
  Value isZero = compare(arith::CmpIPredicate::eq, byte, 0);
  Value isNaN = compare(arith::CmpIPredicate::eq, byte, 0x7F);
  return {byte, fromBits(select(isZero, builder.i32(0), quotient)), isNaN};
}

/// Computes the scale with a codec. The factor is NaN for a NaN scale.
BlockScale QuantizeMath::getEncodedScale(Value bits) {
  EncodedScale scale = recipe.codec->encode(builder, builder.getLoc(),
                                            recipe.element, fromBits(bits));
  if (scale.bits.getType() != builder.getI32Type())
    scale.bits =
        arith::ExtUIOp::create(builder, builder.getI32Type(), scale.bits);
  Value isNaN = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO,
                                      scale.factor, scale.factor);
  return {scale.bits, scale.factor, isNaN};
}

Value mx::mxgpu::toScale(NVVMBuilder &builder, Value bits, Type scale) {
  Type type = builder.getIntegerType(scale.getIntOrFloatBitWidth());
  if (type != bits.getType())
    bits = arith::TruncIOp::create(builder, type, bits);
  return builder.bitcast(scale, bits);
}

BlockScale QuantizeMath::getScale(Value bits, Value encode) {
  if (recipe.codec)
    return getEncodedScale(bits);
  return recipe.isRelative ? getRelativeScale(bits, encode)
                           : getPowerOfTwoScale(bits);
}
