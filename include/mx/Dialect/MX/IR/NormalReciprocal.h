//===- NormalReciprocal.h - Reciprocals without special cases ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mx-expand-math sets this attribute to inform the lowerings of all targets
// about the range of a divisor.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_NORMALRECIPROCAL_H
#define MX_DIALECT_MX_IR_NORMALRECIPROCAL_H

#include "llvm/ADT/StringRef.h"

namespace mx {

/// Unit attribute of an f32 `arith.divf` that divides 1 by d. Asserts that d is
/// NaN or 1 <= d < 0.9 * 2^126, so the reciprocal can be computed without
/// special cases for subnormal numbers and infinities. The result is rounded
/// per IEEE with or without the attribute.
inline constexpr llvm::StringLiteral kNormalReciprocalName =
    "mx.normal_reciprocal";

} // namespace mx

#endif // MX_DIALECT_MX_IR_NORMALRECIPROCAL_H
