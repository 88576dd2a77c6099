//===- QuantizeMath.h - Numbers of a quantizer in registers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// From the words that a thread holds to maxima, scales and packed elements: the
// recipes of mx.quantize (mx/Support/ScaleRecipe.h) for every input, element
// type and target. The caller decides how threads share a block.
//
// A word is an i32 with two bf16 or f16, the first in the low half, or with one
// f32. Along a row, words hold consecutive elements. Of halves, words may also
// hold two columns, one row each; every column then has a scale of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_QUANTIZEMATH_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_QUANTIZEMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Dialect/Shared/ScaleRounding.h"
#include "mx/NVVM/NVVMBuilder.h"
#include <optional>

namespace mx {
class ScaleCodec;
struct BlockFormat;
struct FloatFormatInfo;
struct ScaleRecipe;
} // namespace mx

namespace mx::mxgpu {

/// Whether the target of an operation's gpu.module has cvt from and to elements
/// of 4 and 6 bits and from and to E8M0.
bool hasNarrowConversions(mlir::Operation *op);

/// What elements of a float type are.
const FloatFormatInfo &getElementFormat(mlir::Type element);

/// What is quantized to what, and what the target does by itself.
struct QuantizeRecipe {
  mlir::Type input;   ///< bf16, f16 or f32
  mlir::Type element; ///< one of the five float types, or i8
  ScaleRounding rounding = ScaleRounding::Ceil;
  bool isRelative = false;           ///< Factors are no powers of two.
  const ScaleCodec *codec = nullptr; ///< of a format beside the table
  /// The target has cvt to e2m1, e2m3, e3m2 and ue8m0.
  bool narrowConversions = false;

  /// For an operation inside a gpu.module, whose target decides.
  static QuantizeRecipe get(mlir::Operation *op, mlir::Type input,
                            mlir::Type element, mlir::Type scale,
                            ScaleRounding rounding);

  /// The format of elements that are floats.
  const FloatFormatInfo &getFormat() const;
  /// Numbers in a word of the input: 2 or 1.
  int64_t inWord() const { return input.isF32() ? 1 : 2; }
  /// Bits that an element takes in memory: 4 or 8.
  int64_t elementBits() const;
};

/// Bits of a scale (i32) as the scale type.
mlir::Value toScale(NVVMBuilder &builder, mlir::Value bits, mlir::Type scale);

/// The scale of a block.
struct BlockScale {
  mlir::Value bits;   ///< i32
  mlir::Value factor; ///< f32: what elements are multiplied with
  mlir::Value isNaN;  ///< i1: all elements become the type's NaN
};

/// What elements are rounded by if not to nearest even: a seed, and the linear
/// index in the tensor of the first of some elements (i64), by which it grows
/// from each to the next.
struct RandomNumbers {
  mlir::Value seed, first, stride;
};

/// Builds the instructions of one recipe.
class QuantizeMath {
public:
  QuantizeMath(NVVMBuilder &builder, const QuantizeRecipe &recipe)
      : builder(builder), recipe(recipe) {}

  /// Largest magnitudes in `words`, as a word: of the low and of the high
  /// halves, or of all.
  mlir::Value getMaximum(llvm::ArrayRef<mlir::Value> words);
  /// The largest of such words of `lanes` adjacent lanes, for all of them.
  mlir::Value shareMaximum(mlir::Value maximum, uint64_t lanes);
  /// The maximum of a row's block as the bits of an f32, from such a word.
  mlir::Value getRowMaximum(mlir::Value maximum);
  /// That of a column: of the low (0) or of the high halves (1).
  mlir::Value getColumnMaximum(mlir::Value maximum, unsigned half);

  /// The scale of a block whose largest magnitude has these bits (i32);
  /// `encode` is NVFP4's factor of the tensor (f32).
  BlockScale getScale(mlir::Value maximumBits, mlir::Value encode = {});

  /// The elements of a row's words, packed into words in their order. There are
  /// as many as make whole words.
  llvm::SmallVector<mlir::Value>
  convertRow(llvm::ArrayRef<mlir::Value> words, const BlockScale &scale,
             std::optional<RandomNumbers> random = {});
  /// The elements of two columns, likewise: of the low and of the high halves.
  std::array<llvm::SmallVector<mlir::Value>, 2>
  convertColumns(llvm::ArrayRef<mlir::Value> words,
                 const std::array<BlockScale, 2> &scales,
                 std::optional<RandomNumbers> random = {});

private:
  using Values = llvm::SmallVector<mlir::Value>;

  // How a recipe's elements come about.
  bool isScaledInPairs() const;
  bool isConvertedByTarget() const;
  bool isRoundedInPairs() const;

  // Short forms.
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      int64_t b);
  mlir::Value toFloatBits(mlir::Value f32);
  mlir::Value fromBits(mlir::Value bits);
  mlir::Value multiply(mlir::Value a, float b);
  mlir::Value toFloat(mlir::Value word, unsigned half);

  // Scales.
  mlir::Value getScaleByteUp(mlir::Value bits, const ScaleRecipe &scale);
  mlir::Value getScaleByteDown(mlir::Value bits, const ScaleRecipe &scale);
  BlockScale getPowerOfTwoScale(mlir::Value bits);
  BlockScale getRelativeScale(mlir::Value bits, mlir::Value encode);
  BlockScale getEncodedScale(mlir::Value bits);
  mlir::Value divideByScale(mlir::Value encode, mlir::Value scale);

  // Maxima.
  mlir::Value combine(mlir::Value a, mlir::Value b);

  // Elements.
  Values scalePairs(llvm::ArrayRef<mlir::Value> words,
                    const std::array<mlir::Value, 2> &factors);
  void scaleNumbers(llvm::MutableArrayRef<mlir::Value> numbers,
                    mlir::Value factor);
  Values roundPairs(llvm::ArrayRef<mlir::Value> words,
                    const std::array<BlockScale, 2> &scales);
  Values packNumbers(llvm::ArrayRef<mlir::Value> numbers,
                     const BlockScale &scale);
  Values roundStochastically(llvm::ArrayRef<mlir::Value> numbers,
                             const RandomNumbers &random);
  Values roundAndPack(llvm::ArrayRef<mlir::Value> numbers,
                      const BlockScale &scale,
                      const std::optional<RandomNumbers> &random);
  Values packCodes(llvm::ArrayRef<mlir::Value> codes, const BlockScale &scale);
  Values packE2M1(llvm::ArrayRef<mlir::Value> numbers, const BlockScale &scale);
  Values packByTarget(llvm::ArrayRef<mlir::Value> numbers);
  mlir::Value merge(llvm::ArrayRef<mlir::Value> words, int64_t bits);
  Values packRow(llvm::ArrayRef<mlir::Value> codes);
  std::array<Values, 2> packColumns(llvm::ArrayRef<mlir::Value> codes);

  NVVMBuilder &builder;
  QuantizeRecipe recipe;
};

/// Builds the values of codes, which are exact in f32, and so is their product
/// with a scale: at most 8 bits of significand, and down to 2^-143.
class DequantizeMath {
public:
  DequantizeMath(NVVMBuilder &builder, mlir::Type element, bool hasConversions)
      : builder(builder), element(element), hasConversions(hasConversions) {}

  /// All elements of some words as f32, MXINT8 times 64.
  llvm::SmallVector<mlir::Value> decode(llvm::ArrayRef<mlir::Value> words);
  /// The scale, an integer of its width, as f32, MXINT8's by 64.
  mlir::Value decodeScale(mlir::Value bits, const BlockFormat &format);

private:
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::Value shiftRight(mlir::Value word, int64_t bits);
  mlir::Value widen(mlir::Value codes);
  mlir::Value widenOnBits(mlir::Value codes);
  void decodeInt8(mlir::Value word, Values &numbers);

  bool isFour() const { return mlir::isa<mlir::Float4E2M1FNType>(element); }

  NVVMBuilder &builder;
  mlir::Type element;
  bool hasConversions;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_QUANTIZEMATH_H
