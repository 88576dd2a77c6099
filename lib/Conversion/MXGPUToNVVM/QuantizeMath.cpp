//===- QuantizeMath.cpp - Numbers of a quantizer in registers -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Maxima and scales are computed on bits, so that nothing depends on how
// subnormals or NaN are compared. bf16 is multiplied with a power of two two
// numbers at a time, which is exact but for results below 2^-126, where every
// element type has 0; whatever else is multiplied as f32.
//
//===----------------------------------------------------------------------===//

#include "QuantizeMath.h"
#include "NarrowRounding.h"
#include "StochasticRounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/BlockQuantize.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kInfinity = 0x7F800000, kMaxFinite = 0x7F7FFFFF;

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

static const FloatFormatInfo &getFormat(Type element) {
  return getInfo(llvm::TypeSwitch<Type, FloatFormat>(element)
                     .Case([](Float8E4M3FNType) { return FloatFormat::E4M3; })
                     .Case([](Float8E5M2Type) { return FloatFormat::E5M2; })
                     .Case([](Float6E3M2FNType) { return FloatFormat::E3M2; })
                     .Case([](Float6E2M3FNType) { return FloatFormat::E2M3; })
                     .Case([](Float4E2M1FNType) { return FloatFormat::E2M1; }));
}

bool mx::mxgpu::hasNarrowConversions(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  for (Attribute attr : module.getTargetsAttr())
    if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(attr))
      if (auto *target = target::lookupTarget(nvvm.getChip().str()))
        return target->hasNarrowConversions();
  return false;
}

QuantizeRecipe QuantizeRecipe::get(Operation *op, Type input, Type element,
                                   Type scale, ScaleRounding rounding) {
  QuantizeRecipe recipe = {input, element, rounding};
  recipe.nvfp4 = isa<Float8E4M3FNType>(scale);
  recipe.narrowConversions = hasNarrowConversions(op);
  return recipe;
}

int64_t QuantizeRecipe::elementBits() const {
  return isa<Float4E2M1FNType>(element) ? 4 : 8;
}

/// bf16 pairs are multiplied as they are, unless the factor has more bits.
bool QuantizeMath::isScaledInPairs() const {
  return recipe.input.isBF16() && !recipe.nvfp4;
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

/// The larger magnitudes of two words. As integers for NVFP4, whose lanes hold
/// whole blocks: ptxas then needs fewer registers.
Value QuantizeMath::combine(Value a, Value b) {
  if (!recipe.nvfp4)
    return builder.largerMagnitude(a, b, recipe.input);
  if (recipe.inWord() == 1)
    return arith::MaxUIOp::create(builder, a, b);
  Type halves = VectorType::get({2}, builder.getI16Type());
  Value max = LLVM::UMaxOp::create(
      builder, LLVM::BitcastOp::create(builder, halves, a).getResult(),
      LLVM::BitcastOp::create(builder, halves, b).getResult());
  return LLVM::BitcastOp::create(builder, builder.getI32Type(), max);
}

/// Without the sign, the bits of floats are ordered as unsigned integers: NaN,
/// infinity, finite numbers.
Value QuantizeMath::getMaximum(ArrayRef<Value> words) {
  Value mask = builder.i32(recipe.inWord() == 1 ? 0x7FFFFFFF : 0x7FFF7FFF);
  Value maximum;
  for (Value word : words) {
    if (recipe.nvfp4)
      word = arith::AndIOp::create(builder, word, mask);
    maximum = maximum ? combine(maximum, word) : word;
  }
  if (recipe.nvfp4)
    return maximum;
  return arith::AndIOp::create(builder, maximum, mask);
}

Value QuantizeMath::shareMaximum(Value maximum, uint64_t lanes) {
  for (uint64_t distance = 1; distance < lanes; distance *= 2)
    maximum = combine(maximum, builder.shuffleXor(maximum, distance));
  return maximum;
}

/// One half of a word as an f32.
Value QuantizeMath::toFloat(Value word, unsigned half) {
  if (recipe.input.isF16()) {
    Type pair = VectorType::get({2}, recipe.input);
    Value number = LLVM::ExtractElementOp::create(
        builder, LLVM::BitcastOp::create(builder, pair, word),
        builder.i32(half));
    return LLVM::FPExtOp::create(builder, builder.getF32Type(), number);
  }
  if (recipe.input.isBF16())
    word =
        half == 0
            ? arith::ShLIOp::create(builder, word, builder.i32(16)).getResult()
            : arith::AndIOp::create(builder, word,
                                    builder.i32(int32_t(0xFFFF0000)))
                  .getResult();
  return arith::BitcastOp::create(builder, builder.getF32Type(), word);
}

Value QuantizeMath::getColumnMaximum(Value maximum, unsigned half) {
  return arith::BitcastOp::create(builder, builder.getI32Type(),
                                  toFloat(maximum, half));
}

Value QuantizeMath::getRowMaximum(Value maximum) {
  if (recipe.inWord() == 2)
    maximum = combine(
        maximum, arith::ShRUIOp::create(builder, maximum, builder.i32(16)));
  return getColumnMaximum(maximum, 0);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Value QuantizeMath::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, condition, yes, no);
}

Value QuantizeMath::compare(arith::CmpIPredicate predicate, Value a,
                            int64_t b) {
  return arith::CmpIOp::create(builder, predicate, a, builder.i32(b));
}

Value QuantizeMath::toFloatBits(Value f32) {
  return arith::BitcastOp::create(builder, builder.getI32Type(), f32);
}

Value QuantizeMath::fromBits(Value bits) {
  return arith::BitcastOp::create(builder, builder.getF32Type(), bits);
}

Value QuantizeMath::multiply(Value a, float b) {
  return arith::MulFOp::create(
      builder, a,
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(b)));
}

/// a * fl(1 / max), rounded up to a power of two: 255 for NaN, 254 for
/// infinity. 2^-127, byte 0, is the subnormal 0x00400000.
Value QuantizeMath::getScaleByteUp(Value bits, const ScaleRecipe &scale) {
  Value quotient =
      multiply(fromBits(bits), floatFromBits(scale.maxReciprocalBits));
  if (recipe.narrowConversions) {
    Value zero =
        arith::ConstantOp::create(builder, builder.getF32FloatAttr(0.0f));
    Value pair = builder.convertToE8M0Up(zero, quotient);
    return arith::AndIOp::create(
        builder, arith::ExtUIOp::create(builder, builder.getI32Type(), pair),
        builder.i32(0xFF));
  }
  quotient = toFloatBits(quotient);
  Value up = arith::ShRUIOp::create(
      builder, builder.add(quotient, builder.i32(0x7FFFFF)), builder.i32(23));
  Value isSmallest = compare(arith::CmpIPredicate::ule, quotient, 0x00400000);
  Value byte = select(isSmallest, builder.i32(0), up);
  byte = arith::MinUIOp::create(builder, byte, builder.i32(254));
  Value isNaN = compare(arith::CmpIPredicate::ugt, bits, kInfinity);
  return select(isNaN, builder.i32(255), byte);
}

/// The exponent of a, or of a rounded to the element's mantissa, minus that of
/// the largest element.
Value QuantizeMath::getScaleByteDown(Value bits, const ScaleRecipe &scale) {
  Value rounded = bits;
  if (recipe.rounding == ScaleRounding::Even)
    rounded = builder.add(bits, builder.i32(1 << (22 - scale.mantissaBits)));
  Value exponent = arith::ShRUIOp::create(builder, rounded, builder.i32(23));
  Value byte =
      arith::SubIOp::create(builder, exponent, builder.i32(scale.emax));
  byte = arith::MaxSIOp::create(builder, byte, builder.i32(0));
  byte = arith::MinSIOp::create(builder, byte, builder.i32(254));
  Value isInfinity = compare(arith::CmpIPredicate::eq, bits, kInfinity);
  Value isNaN = compare(arith::CmpIPredicate::ugt, bits, kInfinity);
  byte = select(isInfinity, builder.i32(254), byte);
  return select(isNaN, builder.i32(255), byte);
}

/// The factor 2^(127 - byte) has an exponent field of 254 - byte, except that
/// byte 254 needs a subnormal and 255 is NaN.
BlockScale QuantizeMath::getPowerOfTwoScale(Value bits) {
  const ScaleRecipe &scale =
      recipe.element.isInteger()
          ? getInt8ScaleRecipe()
          : getScaleRecipe(getFormat(recipe.element).format);
  Value byte = recipe.rounding == ScaleRounding::Ceil
                   ? getScaleByteUp(bits, scale)
                   : getScaleByteDown(bits, scale);
  Value field = arith::SubIOp::create(builder, builder.i32(254), byte);
  Value factor = arith::MaxSIOp::create(
      builder, arith::ShLIOp::create(builder, field, builder.i32(23)),
      builder.i32(0x00400000));
  Value isNaN = compare(arith::CmpIPredicate::ugt, bits, kInfinity);
  factor = select(isNaN, builder.i32(0x7FC00000), factor);
  return {byte, fromBits(factor), isNaN};
}

/// RN(encode / scale) for an E4M3 scale above 0. The quotient of a reciprocal
/// that is right but for its last bits and one correction by the exact
/// remainder; where that could leave the normal numbers, a division.
Value QuantizeMath::divideByScale(Value encode, Value scale) {
  Value bits = toFloatBits(encode);
  // From 2^-64 to below 2^64.
  Value offset = arith::SubIOp::create(builder, bits, builder.i32(63 << 23));
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

/// s = E4M3(RN(RN(a / 6) * encode)); the factor is encode / s, bounded, or 0.
BlockScale QuantizeMath::getNVFP4Scale(Value bits, Value encode) {
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

BlockScale QuantizeMath::getScale(Value bits, Value encode) {
  return recipe.nvfp4 ? getNVFP4Scale(bits, encode) : getPowerOfTwoScale(bits);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Multiplies the low half with the first factor, the high one with the second.
QuantizeMath::Values
QuantizeMath::scalePairs(ArrayRef<Value> words,
                         const std::array<Value, 2> &factors) {
  // The upper halves of both factors.
  Value both =
      builder.permute(toFloatBits(factors[0]), toFloatBits(factors[1]), 0x7632);
  Type type = VectorType::get({2}, recipe.input);
  Value factor = LLVM::BitcastOp::create(builder, type, both);
  Values scaled;
  for (Value word : words) {
    Value pair = LLVM::BitcastOp::create(builder, type, word);
    Value product = LLVM::FMulOp::create(builder, pair, factor);
    scaled.push_back(
        LLVM::BitcastOp::create(builder, builder.getI32Type(), product));
  }
  return scaled;
}

/// Two at a time, as targets can that have packed arithmetic. For NVFP4, whose
/// lanes hold whole blocks, there are too few registers for aligned pairs.
void QuantizeMath::scaleNumbers(MutableArrayRef<Value> numbers, Value factor) {
  if (isScaledInPairs())
    return;
  if (recipe.nvfp4) {
    for (Value &number : numbers)
      number = arith::MulFOp::create(builder, number, factor);
    return;
  }
  Value factors = builder.joinFloats(factor, factor);
  for (size_t i = 0; i < numbers.size(); i += 2) {
    Value product = LLVM::FMulOp::create(
        builder, builder.joinFloats(numbers[i], numbers[i + 1]), factors);
    for (unsigned k : {0, 1})
      numbers[i + k] =
          LLVM::ExtractElementOp::create(builder, product, builder.i32(k));
  }
}

QuantizeMath::Values
QuantizeMath::convertRow(ArrayRef<Value> words, const BlockScale &scale,
                         std::optional<RandomNumbers> random) {
  Values scaled(words);
  if (isScaledInPairs())
    scaled = scalePairs(words, {scale.factor, scale.factor});
  if (isRoundedInPairs() && !random)
    return packRow(roundPairs(scaled, {scale, scale}));
  Values numbers;
  for (Value word : scaled)
    for (unsigned half = 0; half < recipe.inWord(); ++half)
      numbers.push_back(toFloat(word, half));
  scaleNumbers(numbers, scale.factor);
  return roundAndPack(numbers, scale, random);
}

/// Random numbers that are computed beside each other: of more, the registers
/// of a thread would not hold what is between.
static constexpr size_t kDrawsAtOnce = 4;

/// The codes of the elements, each in the low bits of a word.
QuantizeMath::Values
QuantizeMath::roundStochastically(ArrayRef<Value> numbers,
                                  const RandomNumbers &random) {
  StochasticRounding rounding(builder);
  Values codes;
  Value index = random.first;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    if (i)
      index = builder.add(index, random.stride);
    if (i && i % kDrawsAtOnce == 0)
      index = builder.after(index, codes.back());
    Value word = rounding.draw(index, random.seed);
    Value bits = toFloatBits(number);
    codes.push_back(
        recipe.element.isInteger()
            ? rounding.roundInt8(bits, word)
            : rounding.round(getFormat(recipe.element), bits, word));
  }
  return codes;
}

std::array<QuantizeMath::Values, 2>
QuantizeMath::convertColumns(ArrayRef<Value> words,
                             const std::array<BlockScale, 2> &scales,
                             std::optional<RandomNumbers> random) {
  Values scaled(words);
  if (isScaledInPairs())
    scaled = scalePairs(words, {scales[0].factor, scales[1].factor});
  if (isRoundedInPairs() && !random)
    return packColumns(roundPairs(scaled, scales));
  std::array<Values, 2> columns;
  for (unsigned half = 0; half < 2; ++half) {
    Values numbers;
    for (Value word : scaled)
      numbers.push_back(toFloat(word, half));
    scaleNumbers(numbers, scales[half].factor);
    if (random && half)
      random->first = builder.add(random->first, builder.i64(1));
    columns[half] = roundAndPack(numbers, scales[half], random);
  }
  return columns;
}

/// The codes of both halves of all words, each in its half.
QuantizeMath::Values
QuantizeMath::roundPairs(ArrayRef<Value> words,
                         const std::array<BlockScale, 2> &scales) {
  NarrowRounding rounding(builder, /*pairs=*/true);
  Value none = builder.i32(0);
  Value low = select(scales[0].isNaN, none, builder.i32(0x8000));
  Value high = select(scales[1].isNaN, none, builder.i32(int32_t(0x80000000)));
  Value signs = arith::OrIOp::create(builder, low, high);
  Values codes;
  for (Value word : words)
    codes.push_back(rounding.round(getFormat(recipe.element), word, signs));
  return codes;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Words of numbers whose values are the elements but for their rounding, which
/// random numbers decide if there are any.
QuantizeMath::Values
QuantizeMath::roundAndPack(ArrayRef<Value> numbers, const BlockScale &scale,
                           const std::optional<RandomNumbers> &random) {
  return random ? packCodes(roundStochastically(numbers, *random), scale)
                : packNumbers(numbers, scale);
}

/// To nearest even.
QuantizeMath::Values QuantizeMath::packNumbers(ArrayRef<Value> numbers,
                                               const BlockScale &scale) {
  if (isConvertedByTarget())
    return packByTarget(numbers);
  if (isa<Float4E2M1FNType>(recipe.element))
    return packE2M1(numbers, scale);
  NarrowRounding rounding(builder, /*pairs=*/false);
  Values codes;
  if (recipe.element.isInteger()) {
    for (Value number : numbers)
      codes.push_back(rounding.roundInt8(number));
  } else {
    Value signs =
        select(scale.isNaN, builder.i32(0), builder.i32(int32_t(0x80000000)));
    for (Value number : numbers)
      codes.push_back(rounding.round(getFormat(recipe.element),
                                     toFloatBits(number), signs));
  }
  return packCodes(codes, scale);
}

QuantizeMath::Values QuantizeMath::packCodes(ArrayRef<Value> codes,
                                             const BlockScale &scale) {
  Values words;
  int64_t bits = recipe.elementBits(), inWord = 32 / bits;
  for (size_t i = 0; i < codes.size(); i += inWord)
    words.push_back(merge(codes.slice(i, inWord), bits));
  if (recipe.element.isInteger()) // NaN is 0.
    for (Value &word : words)
      word = select(scale.isNaN, builder.i32(0), word);
  return words;
}

/// Codes are the low bits of large floats, so that one addition puts each in
/// its place; what their high bits add up to is taken off once for all eight.
QuantizeMath::Values QuantizeMath::packE2M1(ArrayRef<Value> numbers,
                                            const BlockScale &scale) {
  NarrowRounding rounding(builder, /*pairs=*/false);
  Values words;
  for (size_t i = 0; i < numbers.size(); i += 8) {
    // The sign bits of every other number, as those of bytes.
    auto signsOf = [&](size_t first) -> Value {
      auto two = [&](size_t j) -> Value {
        return builder.permute(toFloatBits(numbers[j]),
                               toFloatBits(numbers[j + 2]), 0x0073);
      };
      Value four = builder.permute(two(i + first), two(i + first + 4), 0x5410);
      return arith::AndIOp::create(builder, four, builder.i32(0x80808080));
    };
    Value even = arith::ShRUIOp::create(builder, signsOf(0), builder.i32(4));
    Value word = arith::OrIOp::create(builder, even, signsOf(1));
    constexpr uint32_t kHighBits = NarrowRounding::kIntegerBits;
    word = builder.add(word, builder.i32(-(kHighBits + (kHighBits << 4))));
    for (size_t j = 0; j < 8; ++j)
      word = builder.add(word, arith::ShLIOp::create(
                                   builder, rounding.roundE2M1(numbers[i + j]),
                                   builder.i32(4 * j)));
    words.push_back(select(scale.isNaN, builder.i32(0x77777777), word));
  }
  return words;
}

QuantizeMath::Values QuantizeMath::packByTarget(ArrayRef<Value> numbers) {
  auto convert = [&](size_t i) -> Value {
    return builder.convertToNarrow(numbers[i + 1], numbers[i], recipe.element);
  };
  Values words;
  size_t inWord = 32 / recipe.elementBits();
  for (size_t i = 0; i < numbers.size(); i += inWord)
    words.push_back(recipe.elementBits() == 4
                        ? builder.convertToE2M1(numbers.slice(i, inWord))
                        : builder.joinHalves(convert(i), convert(i + 2)));
  return words;
}

/// What stands in the lowest `bits` of each word, or of each half, one beside
/// the other; bits above are 0.
Value QuantizeMath::merge(ArrayRef<Value> words, int64_t bits) {
  Value merged = words[0];
  for (size_t i = 1; i < words.size(); ++i)
    merged = arith::OrIOp::create(
        builder, merged,
        arith::ShLIOp::create(builder, words[i],
                              builder.i32(int64_t(i) * bits)));
  return merged;
}

/// Codes of consecutive elements in the halves of words.
QuantizeMath::Values QuantizeMath::packRow(ArrayRef<Value> codes) {
  Values packed;
  if (recipe.elementBits() == 8) {
    for (size_t i = 0; i < codes.size(); i += 2)
      packed.push_back(builder.permute(codes[i], codes[i + 1], 0x6420));
    return packed;
  }
  // Two words of codes become four elements in the low half.
  auto four = [&](size_t i) -> Value {
    Value both = merge(codes.slice(i, 2), 8);
    return arith::OrIOp::create(
        builder, both, arith::ShRUIOp::create(builder, both, builder.i32(12)));
  };
  for (size_t i = 0; i < codes.size(); i += 4)
    packed.push_back(builder.permute(four(i), four(i + 2), 0x5410));
  return packed;
}

std::array<QuantizeMath::Values, 2>
QuantizeMath::packColumns(ArrayRef<Value> codes) {
  std::array<Values, 2> columns;
  size_t inHalf = 16 / recipe.elementBits();
  for (size_t i = 0; i < codes.size(); i += 2 * inHalf) {
    Value first = merge(codes.slice(i, inHalf), recipe.elementBits());
    Value second = merge(codes.slice(i + inHalf, inHalf), recipe.elementBits());
    columns[0].push_back(builder.permute(first, second, 0x5410));
    columns[1].push_back(builder.permute(first, second, 0x7632));
  }
  return columns;
}
