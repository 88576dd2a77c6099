//===- Arithmetic.h - What operators give -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of operators that name types. Operands are held as NumberType says; divisors
// are not 0.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_PLAN_ARITHMETIC_H
#define MX_LIB_PLAN_ARITHMETIC_H

#include "mx/Plan/Expression.h"

namespace mx::plan {

int64_t applyToIntegers(Operator op, unsigned width, int64_t a, int64_t b);
int64_t applyToFloats(Operator op, NumberType type, const Operands &operands);
int64_t convert(Operator op, NumberType from, NumberType to, int64_t number);

} // namespace mx::plan

#endif // MX_LIB_PLAN_ARITHMETIC_H
