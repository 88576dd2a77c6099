//===- Rounding.h - Rounding without cvt ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// To nearest even for E2M1, E2M3, E3M2 and MXINT8 on targets whose cvt does not
// know them: by the adder, since a sum in [2^p, 2^(p+1)), p being the number of
// mantissa bits, is an integer whose value is in its low bits.
//
// By random numbers for mx.quantize with a seed: one below the kept bits of a
// significand is added before the rest is cut off. On integers, for every
// target: conversions that take random bits use fewer of them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_ROUNDING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_ROUNDING_H

#include "mx/NVVM/NVVMBuilder.h"
#include "mx/Support/FloatFormats.h"

namespace mx::mxgpu {

/// Builds the code of f32 values, or those of pairs of bf16, whose bits stand
/// in an i32. Codes have their sign, and stand where the numbers stood, with
/// zeros above them.
class NarrowRounding {
public:
  NarrowRounding(NVVMBuilder &builder, bool pairs)
      : builder(builder), pairs(pairs) {}

  /// The code in a format of 2 or 3 exponent bits without NaN and infinity,
  /// saturated. Signs are taken from the bits of `signs`, which has all but
  /// them 0, so that NaN may have none.
  mlir::Value round(const FloatFormatInfo &format, mlir::Value bits,
                    mlir::Value signs);
  /// Where the signs of codes of this width stand (i32).
  uint32_t getSignMask() const { return pairs ? 0x80008000u : 0x80000000u; }

  /// The bits of a large f32 whose low ones are the code of the f32's
  /// magnitude; the others are kIntegerBits.
  mlir::Value roundE2M1(mlir::Value number);
  /// Those of 2^23.
  static constexpr uint32_t kIntegerBits = 0x4B000000;

  /// The number nearest to 64 times the f32, saturated to +-127, in the low
  /// byte. Anything for NaN.
  mlir::Value roundInt8(mlir::Value number);

private:
  mlir::Value number(float value);
  mlir::Value repeat(uint32_t bits);
  mlir::Value toNumber(mlir::Value bits);
  mlir::Value toBits(mlir::Value number);
  mlir::Value scaleAndAdd(mlir::Value y, float factor, float addend);
  mlir::Value min(mlir::Value a, mlir::Value b);
  template <typename MinMaxOp>
  mlir::Value compareBits(mlir::Value a, mlir::Value b);

  mlir::Value roundTwoExponentBits(const FloatFormatInfo &format,
                                   mlir::Value magnitude);
  mlir::Value roundOnBits(const FloatFormatInfo &format, mlir::Value magnitude);

  /// Mantissa bits of the numbers, and the power of two that has an ulp of 1.
  unsigned mantissaBits() const { return pairs ? 7 : 23; }
  float integers() const { return pairs ? 0x1p7f : 0x1p23f; }

  NVVMBuilder &builder;
  bool pairs;
};

class StochasticRounding {
public:
  explicit StochasticRounding(NVVMBuilder &builder) : builder(builder) {}

  /// The random word (i32) of the element with a linear index; i64 both.
  mlir::Value draw(mlir::Value index, mlir::Value seed);

  /// The saturated code of an f32 (its bits and `random` are i32) in the low
  /// bits of a word.
  mlir::Value round(const FloatFormatInfo &format, mlir::Value bits,
                    mlir::Value random);
  /// The same as a multiple of 1/64. Anything for NaN.
  mlir::Value roundInt8(mlir::Value bits, mlir::Value random);

private:
  mlir::Value cutOff(mlir::Value significand, mlir::Value count,
                     mlir::Value random);

  NVVMBuilder &builder;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_ROUNDING_H
