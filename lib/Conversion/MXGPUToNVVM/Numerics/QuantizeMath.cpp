//===- QuantizeMath.cpp - Numbers of a quantizer in registers -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Maxima are computed on bits, so that nothing depends on how subnormals or NaN
// are compared. bf16 is multiplied with a power of two two numbers at a time,
// which is exact but for results below 2^-126, where every element type has 0;
// whatever else is multiplied as f32. QuantizeScales.cpp has the scales,
// QuantizePacking.cpp what makes words of the elements.
//
//===----------------------------------------------------------------------===//

#include "QuantizeMath.h"
#include "../Lowering.h"
#include "NarrowRounding.h"
#include "StochasticRounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/Support/BlockQuantize.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

const FloatFormatInfo &mx::mxgpu::getElementFormat(Type element) {
  return getInfo(llvm::TypeSwitch<Type, FloatFormat>(element)
                     .Case([](Float8E4M3FNType) { return FloatFormat::E4M3; })
                     .Case([](Float8E5M2Type) { return FloatFormat::E5M2; })
                     .Case([](Float6E3M2FNType) { return FloatFormat::E3M2; })
                     .Case([](Float6E2M3FNType) { return FloatFormat::E2M3; })
                     .Case([](Float4E2M1FNType) { return FloatFormat::E2M1; }));
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
    codes.push_back(recipe.element.isInteger()
                        ? rounding.roundInt8(bits, word)
                        : rounding.round(recipe.getFormat(), bits, word));
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
    codes.push_back(rounding.round(recipe.getFormat(), word, signs));
  return codes;
}
