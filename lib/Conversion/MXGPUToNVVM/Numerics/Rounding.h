//===- Rounding.h - Rounding without cvt ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounds to E2M1, E2M3, E3M2 and MXINT8 on targets without cvt for these types.
// An addition rounds to nearest even: with p mantissa bits, a sum in [2^p,
// 2^(p+1)) is an integer with its value in the low bits.
//
// For mx.quantize with a seed, rounds stochastically: adds a random number
// below the kept bits of the significand, and truncates. All targets use
// integer arithmetic, because their conversions take fewer random bits.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_ROUNDING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_ROUNDING_H

#include "mx/NVVM/NVVMBuilder.h"
#include "mx/Support/FloatFormats.h"

namespace mx::mxgpu {

/// Builds the code of an f32, or the codes of a pair of bf16, given as an i32.
/// A code includes the sign and occupies the low bits of the word or half, with
/// zeros above.
class NarrowRounding {
public:
  NarrowRounding(NVVMBuilder &builder, bool pairs)
      : builder(builder), pairs(pairs) {}

  /// Returns the saturated code in `format`. Requires a format with 2 or 3
  /// exponent bits and neither NaN nor infinity. `signs` contains only the sign
  /// bits, which may be 0 for NaN.
  mlir::Value round(const FloatFormatInfo &format, mlir::Value bits,
                    mlir::Value signs);
  uint32_t getSignMask() const { return pairs ? 0x80008000u : 0x80000000u; }

  /// Returns kIntegerBits plus the code of the magnitude.
  mlir::Value roundE2M1(mlir::Value number);
  /// Bits of 2^23 as f32.
  static constexpr uint32_t kIntegerBits = 0x4B000000;

  /// Returns 64 times the f32 rounded to an integer, saturated to +-127, in the
  /// low byte. The result is unspecified for NaN.
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

  /// Return the number of mantissa bits, and the power of two with an ulp of 1.
  unsigned mantissaBits() const { return pairs ? 7 : 23; }
  float integers() const { return pairs ? 0x1p7f : 0x1p23f; }

  NVVMBuilder &builder;
  bool pairs;
};

class StochasticRounding {
public:
  explicit StochasticRounding(NVVMBuilder &builder) : builder(builder) {}

  /// Returns the random word (i32) of the element with a linear index (i64).
  mlir::Value draw(mlir::Value index, mlir::Value seed);

  /// Returns the saturated code of an f32 in the low bits of a word. The f32's
  /// bits and `random` are i32.
  mlir::Value round(const FloatFormatInfo &format, mlir::Value bits,
                    mlir::Value random);
  /// Returns the code as a multiple of 1/64. The result is unspecified for NaN.
  mlir::Value roundInt8(mlir::Value bits, mlir::Value random);

private:
  mlir::Value cutOff(mlir::Value significand, mlir::Value count,
                     mlir::Value random);

  NVVMBuilder &builder;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_ROUNDING_H
