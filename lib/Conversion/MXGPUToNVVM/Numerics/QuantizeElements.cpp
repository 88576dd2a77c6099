//===- QuantizeElements.cpp - Elements of a quantizer in registers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts words of the input to words of elements. Pairs of bf16 values are
// multiplied by a power of two. This is exact except for results below 2^-126,
// which every element type rounds to 0. Other inputs are multiplied as f32.
//===----------------------------------------------------------------------===//

#include "QuantizeMath.h"
#include "Rounding.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mx/Support/ScaleRecipe.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Multiplies the low half by the first factor and the high half by the second.
QuantizeMath::Values
QuantizeMath::scalePairs(ArrayRef<Value> words,
                         const std::array<Value, 2> &factors) {
  // The upper halves of both f32 factors form a pair of bf16 factors.
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

/// Multiplies pairs of numbers on targets with packed arithmetic. NVFP4
/// multiplies single numbers, because a lane owns a whole block and lacks the
/// registers for aligned pairs.
void QuantizeMath::scaleNumbers(MutableArrayRef<Value> numbers, Value factor) {
  if (isScaledInPairs())
    return;
  if (recipe.isRelative) {
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

/// Number of random numbers that a thread computes together. It lacks the
/// registers for more.
static constexpr size_t kDrawsAtOnce = 4;

/// Returns the codes of the elements, each in the low bits of a word.
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

/// Rounds both halves of all words and returns each code in its half.
QuantizeMath::Values
QuantizeMath::roundPairs(ArrayRef<Value> words,
                         const std::array<BlockScale, 2> &scales) {
  NarrowRounding rounding(builder, /*pairs=*/true);
  Value none = builder.i32(0);
  Value low = select(scales[0].isNaN, none, builder.i32(0x8000));
  Value high = select(scales[1].isNaN, none, builder.i32(int32_t(0x80000000)));
  Value signs = builder.orBits(low, high);
  Values codes;
  for (Value word : words)
    codes.push_back(rounding.round(recipe.getFormat(), word, signs));
  return codes;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Rounds scaled numbers to nearest or stochastically, and packs the results.
QuantizeMath::Values
QuantizeMath::roundAndPack(ArrayRef<Value> numbers, const BlockScale &scale,
                           const std::optional<RandomNumbers> &random) {
  return random ? packCodes(roundStochastically(numbers, *random), scale)
                : packNumbers(numbers, scale);
}

/// Rounds to nearest even and packs the elements.
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
      codes.push_back(
          rounding.round(recipe.getFormat(), toFloatBits(number), signs));
  }
  return packCodes(codes, scale);
}

QuantizeMath::Values QuantizeMath::packCodes(ArrayRef<Value> codes,
                                             const BlockScale &scale) {
  Values words;
  int64_t bits = recipe.elementBits(), inWord = 32 / bits;
  for (size_t i = 0; i < codes.size(); i += inWord)
    words.push_back(merge(codes.slice(i, inWord), bits));
  if (recipe.element.isInteger()) // NaN becomes 0
    for (Value &word : words)
      word = select(scale.isNaN, builder.i32(0), word);
  return words;
}

/// Rounds and packs eight numbers per word. A code is the low bits of a large
/// float, so shifted floats are added, and the sum of their high bits is
/// subtracted once for all eight.
QuantizeMath::Values QuantizeMath::packE2M1(ArrayRef<Value> numbers,
                                            const BlockScale &scale) {
  NarrowRounding rounding(builder, /*pairs=*/false);
  Values words;
  for (size_t i = 0; i < numbers.size(); i += 8) {
    // Returns the signs of every second number as the sign bits of four bytes.
    auto signsOf = [&](size_t first) -> Value {
      auto two = [&](size_t j) -> Value {
        return builder.permute(toFloatBits(numbers[j]),
                               toFloatBits(numbers[j + 2]), 0x0073);
      };
      Value four = builder.permute(two(i + first), two(i + first + 4), 0x5410);
      return builder.andBits(four, 0x80808080);
    };
    Value even = builder.shiftRight(signsOf(0), 4);
    Value word = builder.orBits(even, signsOf(1));
    constexpr uint32_t kHighBits = NarrowRounding::kIntegerBits;
    word = builder.add(word, builder.i32(-(kHighBits + (kHighBits << 4))));
    for (size_t j = 0; j < 8; ++j)
      word = builder.add(
          word, builder.shiftLeft(rounding.roundE2M1(numbers[i + j]), 4 * j));
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

/// Concatenates the lowest `bits` bits of the words. The higher bits must be 0.
/// Both halves are concatenated at once if the words contain pairs.
Value QuantizeMath::merge(ArrayRef<Value> words, int64_t bits) {
  Value merged = words[0];
  for (size_t i = 1; i < words.size(); ++i)
    merged =
        builder.orBits(merged, builder.shiftLeft(words[i], int64_t(i) * bits));
  return merged;
}

/// Packs codes of consecutive elements from the halves of words.
QuantizeMath::Values QuantizeMath::packRow(ArrayRef<Value> codes) {
  Values packed;
  if (recipe.elementBits() == 8) {
    for (size_t i = 0; i < codes.size(); i += 2)
      packed.push_back(builder.permute(codes[i], codes[i + 1], 0x6420));
    return packed;
  }
  // Merges the four codes of two words into the low half of a word.
  auto four = [&](size_t i) -> Value {
    Value both = merge(codes.slice(i, 2), 8);
    return builder.orBits(both, builder.shiftRight(both, 12));
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
