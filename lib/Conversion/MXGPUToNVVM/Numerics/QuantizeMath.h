//===- QuantizeMath.h - Quantizer arithmetic in registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the arithmetic of mx.quantize (mx/Support/ScaleRecipe.h) for every
// input, element type and target: maxima, scales and packed elements from the
// words of a thread. Callers assign threads to blocks.
//
// A word is an i32 with two bf16 or f16, the first in the low half, or an f32.
// Along a row, words hold consecutive elements. Alternatively the halves hold
// two columns of a row, each column with its own scale.
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

/// Returns true if the chip of the enclosing gpu.module supports cvt for 4-bit
/// elements, 6-bit elements and E8M0 scales.
bool hasNarrowConversions(mlir::Operation *op);

const FloatFormatInfo &getElementFormat(mlir::Type element);

/// Input and element types, and capabilities of the target.
struct QuantizeRecipe {
  mlir::Type input;   ///< bf16, f16 or f32
  mlir::Type element; ///< one of five float types, or i8
  ScaleRounding rounding = ScaleRounding::Ceil;
  bool isRelative = false;           ///< true if scales are not powers of two
  const ScaleCodec *codec = nullptr; ///< codec of a format outside the table
  /// True if the target supports cvt to e2m1, e2m3, e3m2 and ue8m0.
  bool narrowConversions = false;

  /// Returns the recipe for the target of the enclosing gpu.module.
  static QuantizeRecipe get(mlir::Operation *op, mlir::Type input,
                            mlir::Type element, mlir::Type scale,
                            ScaleRounding rounding);

  const FloatFormatInfo &getFormat() const;
  /// Returns the number of values per input word, 2 or 1.
  int64_t inWord() const { return input.isF32() ? 1 : 2; }
  /// Returns the number of bits per element in memory, 4 or 8.
  int64_t elementBits() const;
};

/// Converts the bits of a scale (i32) to the scale type.
mlir::Value toScale(NVVMBuilder &builder, mlir::Value bits, mlir::Type scale);

struct BlockScale {
  mlir::Value bits;   ///< i32
  mlir::Value factor; ///< f32 multiplier of the elements
  mlir::Value isNaN;  ///< i1: all elements become the type's NaN
};

/// Random numbers of stochastic rounding: a seed, the linear index (i64) of the
/// first element in the tensor, and the increment of the index per element.
struct RandomNumbers {
  mlir::Value seed, first, stride;
};

/// Builds the instructions of a recipe.
class QuantizeMath {
public:
  QuantizeMath(NVVMBuilder &builder, const QuantizeRecipe &recipe)
      : builder(builder), recipe(recipe) {}

  /// Returns the largest magnitude in `words` as a word. If words contain
  /// pairs, the low and high halves of the result are separate maxima.
  mlir::Value getMaximum(llvm::ArrayRef<mlir::Value> words);
  /// Reduces `maximum` over `lanes` adjacent lanes, which all get the result.
  mlir::Value shareMaximum(mlir::Value maximum, uint64_t lanes);
  /// Reduces a word of maxima to the maximum of a row's block, as f32 bits.
  mlir::Value getRowMaximum(mlir::Value maximum);
  /// Returns the maximum of a column as f32 bits: the low (0) or high (1) half
  /// of a word of maxima.
  mlir::Value getColumnMaximum(mlir::Value maximum, unsigned half);

  /// Computes the scale of a block from the bits (i32) of its largest
  /// magnitude; `encode` is NVFP4's factor of the tensor (f32).
  BlockScale getScale(mlir::Value maximumBits, mlir::Value encode = {});

  /// Converts a row's words to packed elements, which must fill whole words.
  llvm::SmallVector<mlir::Value>
  convertRow(llvm::ArrayRef<mlir::Value> words, const BlockScale &scale,
             std::optional<RandomNumbers> random = {});
  /// Converts two columns, the low and the high halves, to packed elements.
  std::array<llvm::SmallVector<mlir::Value>, 2>
  convertColumns(llvm::ArrayRef<mlir::Value> words,
                 const std::array<BlockScale, 2> &scales,
                 std::optional<RandomNumbers> random = {});

private:
  using Values = llvm::SmallVector<mlir::Value>;

  bool isScaledInPairs() const;
  bool isConvertedByTarget() const;
  bool isRoundedInPairs() const;

  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      int64_t b);
  mlir::Value toFloatBits(mlir::Value f32);
  mlir::Value fromBits(mlir::Value bits);
  mlir::Value multiply(mlir::Value a, float b);
  mlir::Value toFloat(mlir::Value word, unsigned half);

  mlir::Value getScaleByteUp(mlir::Value bits, const ScaleRecipe &scale);
  mlir::Value getScaleByteDown(mlir::Value bits, const ScaleRecipe &scale);
  BlockScale getPowerOfTwoScale(mlir::Value bits);
  BlockScale getRelativeScale(mlir::Value bits, mlir::Value encode);
  BlockScale getEncodedScale(mlir::Value bits);
  mlir::Value divideByScale(mlir::Value encode, mlir::Value scale);

  mlir::Value combine(mlir::Value a, mlir::Value b);

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

/// Decodes elements and scales to f32 without rounding. Their product is also
/// exact, because it needs at most 8 significand bits and is at least 2^-143.
class DequantizeMath {
public:
  DequantizeMath(NVVMBuilder &builder, mlir::Type element, bool hasConversions)
      : builder(builder), element(element), hasConversions(hasConversions) {}

  /// Returns all elements of words as f32, with MXINT8 multiplied by 64.
  llvm::SmallVector<mlir::Value> decode(llvm::ArrayRef<mlir::Value> words);
  /// Converts the bits of a scale to f32, divided by 64 for MXINT8.
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
