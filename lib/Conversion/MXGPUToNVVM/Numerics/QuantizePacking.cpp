//===- QuantizePacking.cpp - Packed elements in registers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// From numbers that are elements but for their rounding to words of elements.
//
//===----------------------------------------------------------------------===//

#include "NarrowRounding.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mx/Support/BlockQuantize.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

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
