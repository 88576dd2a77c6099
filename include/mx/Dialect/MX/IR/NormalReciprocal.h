//===- NormalReciprocal.h - Reciprocals without special cases ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Attribute by which mx-expand-math passes value ranges of a division to
// targets.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_NORMALRECIPROCAL_H
#define MX_DIALECT_MX_IR_NORMALRECIPROCAL_H

#include "llvm/ADT/StringRef.h"

namespace mx {

/// Unit attribute of an `arith.divf` of 1 by d in f32. Asserts that d is NaN or
/// 1 <= d < 0.9 * 2^126, so the reciprocal can be computed without subnormal
/// numbers and infinities. The result is exact per IEEE in either case.
inline constexpr llvm::StringLiteral kNormalReciprocalName =
    "mx.normal_reciprocal";

} // namespace mx

#endif // MX_DIALECT_MX_IR_NORMALRECIPROCAL_H
