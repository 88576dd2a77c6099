//===- ScaleRecipe.h - Recipes of power-of-two scales -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Constants from which the CPU path and kernels compute the scale of a block.
//
// Sources: OCP Microscaling Formats (MX) v1.0, section 6.3 (conversion to MX);
// PTX ISA, cvt.rp.satfinite.ue8m0x2.
//
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_SCALERECIPE_H
#define MX_SUPPORT_SCALERECIPE_H

#include "mx/Support/FloatFormats.h"

namespace mx {

/// Constants of the scale of a block of one element type.
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

} // namespace mx

#endif // MX_SUPPORT_SCALERECIPE_H
