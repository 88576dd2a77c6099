//===- NormalReciprocal.h - Reciprocals without special cases ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-expand-math knows of a division and a target may use.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_NORMALRECIPROCAL_H
#define MX_DIALECT_MX_IR_NORMALRECIPROCAL_H

#include "llvm/ADT/StringRef.h"

namespace mx {

/// A unit attribute on an `arith.divf` of 1 by d in f32: d is a NaN, or
/// 1 <= d < 0.9 * 2^126, so that no step on the way to the reciprocal meets a
/// subnormal number or an infinity. The result is IEEE's with and without it.
inline constexpr llvm::StringLiteral kNormalReciprocalName =
    "mx.normal_reciprocal";

} // namespace mx

#endif // MX_DIALECT_MX_IR_NORMALRECIPROCAL_H
