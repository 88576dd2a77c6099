//===- ScaleRecipe.h - Rounding of power-of-two scales ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants for computing block scales on the CPU path and in kernels. Sources:
// OCP Microscaling Formats (MX) v1.0, section 6.3 (conversion to MX); PTX ISA,
// cvt.rp.satfinite.ue8m0x2.
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_SCALERECIPE_H
#define MX_SUPPORT_SCALERECIPE_H

#include "mx/Support/FloatFormats.h"

namespace mx {

/// Constants for the block scale of an element type.
struct ScaleRecipe {
  /// Rule for the power-of-two scale of a block with largest magnitude a.
  enum class Rounding : uint8_t {
    Ceil,  ///< cvt.rp.ue8m0(a * fl(1 / max)): no element saturates
    Floor, ///< OCP MX v1.0: exponent of a minus emax
    Even,  ///< Floor, after a is rounded to the element's mantissa bits
    Fit    ///< TOSA 1.1: smallest scale for which a does not overflow
  };

  uint32_t maxReciprocalBits; ///< fl(1 / largest element) as binary32
  int emax;                   ///< exponent of the largest element
  unsigned mantissaBits;
  /// `Fit` adds this value to the bits of `a`, which increments the exponent if
  /// `a` would round to more than the largest element. The value is half a
  /// unit of the element's mantissa, as for `Even`, except for E4M3, whose
  /// largest mantissa encodes NaN.
  uint32_t fitCarry;

  /// Returns the value added to the bits of a before its exponent is read.
  uint32_t getCarry(Rounding rounding) const {
    return rounding == Rounding::Even  ? 1u << (22 - mantissaBits)
           : rounding == Rounding::Fit ? fitCarry
                                       : 0;
  }
};

/// Returns the recipe of E4M3, E5M2, E3M2, E2M3 or E2M1 elements.
const ScaleRecipe &getScaleRecipe(FloatFormat elem);
/// Returns the recipe of MXINT8 elements: largest value 127/64, emax 0.
const ScaleRecipe &getInt8ScaleRecipe();

} // namespace mx

#endif // MX_SUPPORT_SCALERECIPE_H
