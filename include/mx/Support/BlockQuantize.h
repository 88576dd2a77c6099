//===- BlockQuantize.h - normative block quantization recipes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How one block of f32 values becomes a scale and element codes, and back.
// Every path (reference, simulator tests, device) must agree with these
// functions in every bit of every output, on all inputs, so that the recipes
// are written once, here, on integer arithmetic.
//
// Sources: OCP Microscaling Formats (MX) v1.0, section 6.3 (conversion to MX);
// PTX ISA, cvt.rp.satfinite.ue8m0x2 and cvt.rn.satfinite.*.
//
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_BLOCKQUANTIZE_H
#define MX_SUPPORT_BLOCKQUANTIZE_H

#include "mx/Support/FloatFormats.h"
#include <cstddef>

namespace mx {

/// What the scale recipes need to know about an element type.
struct ScaleRecipe {
  /// How the power of two of a block is chosen from its largest magnitude a.
  enum class Rounding : uint8_t {
    Ceil,  ///< cvt.rp.ue8m0(a * fl(1 / max)): no element saturates
    Floor, ///< OCP MX v1.0: exponent of a minus emax
    Even,  ///< floor of a rounded to the element's mantissa
    Fit    ///< TOSA 1.1: the least with which a is rounded to an element
  };

  uint32_t maxReciprocalBits; ///< fl(1 / largest element) as binary32
  int emax;                   ///< exponent of the largest element
  unsigned mantissaBits;
  /// `Ceil` in integers: exponent of a - emax, plus 1 if the mantissa of a is
  /// above this, clamped to 0 .. 254; 0 for subnormals. That equals the
  /// multiplication for every bf16 value, and for every f32 but one per
  /// floating-point element type (0x04600001 for E4M3).
  uint32_t ceilThreshold;
  /// `Fit` adds this to the bits of a: the exponent becomes one more where a
  /// would be rounded beyond the largest element. Of all types but E4M3, which
  /// has NaN there, that is `Even`'s half unit of the mantissa.
  uint32_t fitCarry;

  /// What is added to the bits of a before its exponent is taken.
  uint32_t getCarry(Rounding rounding) const {
    return rounding == Rounding::Even  ? 1u << (22 - mantissaBits)
           : rounding == Rounding::Fit ? fitCarry
                                       : 0;
  }
};

/// The recipe of E4M3, E5M2, E3M2, E2M3 or E2M1 elements.
const ScaleRecipe &getScaleRecipe(FloatFormat elem);
/// The recipe of MXINT8 elements: largest value 127/64, emax 0.
const ScaleRecipe &getInt8ScaleRecipe();

/// The largest (bits & 0x7FFFFFFF) of x[0], x[stride], ...: as unsigned
/// integers NaN > infinity > finite. 0 for an empty block.
uint32_t absMaxBits(const float *x, size_t n, ptrdiff_t stride = 1);

/// The E8M0 scale of a block whose largest magnitude has the given bits: 255
/// for NaN, 254 for infinity.
uint8_t blockScale(const ScaleRecipe &recipe, ScaleRecipe::Rounding rounding,
                   uint32_t absMaxBits);
uint8_t blockScale(FloatFormat elem, ScaleRecipe::Rounding rounding,
                   uint32_t absMaxBits);

/// 2^(127 - byte), built from bits: byte 254 gives the subnormal 0x00400000,
/// byte 255 NaN.
float inverseScale(uint8_t scaleByte);

/// One element: encode(elem, RN(x * inverse)).
uint8_t quantizeElement(FloatFormat elem, float x, float inverse);
int8_t quantizeElementInt8(float x, float inverse);

/// Quantizes one block of n values (x[i * stride]); writes one code per byte to
/// codes[i * stride] and returns the scale byte.
uint8_t quantizeBlock(FloatFormat elem, ScaleRecipe::Rounding rounding,
                      const float *x, size_t n, uint8_t *codes,
                      ptrdiff_t stride = 1);
uint8_t quantizeBlockInt8(ScaleRecipe::Rounding rounding, const float *x,
                          size_t n, int8_t *codes, ptrdiff_t stride = 1);

//===----------------------------------------------------------------------===//
// NVFP4: E2M1 elements, E4M3 scales, tensor-wide encode scale
//===----------------------------------------------------------------------===//

/// s = encode(E4M3, RN(RN(a * fl(1/6)) * enc)), where enc > 0 is the
/// tensor-wide scale. A NaN block gives 0x7F.
uint8_t nvfp4Scale(uint32_t absMaxBits, float enc);

/// 0 if s is 0, else min(RN(enc / float(s)), FLT_MAX); NaN if s is NaN.
float nvfp4InverseScale(uint8_t scaleCode, float enc);

uint8_t quantizeBlockNVFP4(float enc, const float *x, size_t n, uint8_t *codes,
                           ptrdiff_t stride = 1);

//===----------------------------------------------------------------------===//
// Dequantization
//===----------------------------------------------------------------------===//

/// element * scale as an exact double; NaN if either is. `scaleFormat` is E8M0,
/// UE4M3 or E4M3 (whose sign bit is then ignored too).
double dequantizeExact(FloatFormat elem, uint32_t code, FloatFormat scaleFormat,
                       uint8_t scale);
double dequantizeExactInt8(int8_t code, uint8_t scaleByte);

/// The same rounded once to f32, bf16 or f16; NaN is 0x7FFFFFFF or 0x7FFF.
float dequantize(FloatFormat elem, uint32_t code, FloatFormat scaleFormat,
                 uint8_t scale);
uint16_t dequantizeTo(FloatFormat result, FloatFormat elem, uint32_t code,
                      FloatFormat scaleFormat, uint8_t scale);

} // namespace mx

#endif // MX_SUPPORT_BLOCKQUANTIZE_H
