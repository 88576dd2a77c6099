//===- Arithmetic.cpp - Evaluation of operators ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the host arithmetic defined by docs/reference/Math.md. Results
// do not depend on the processor. Operations on f16, bf16 and f32 are computed
// in f64, and the result is rounded to the type. f64 has at least two bits more
// than twice the bits of these types. Therefore, a sum, product, quotient or
// root that is rounded twice is the correctly rounded result.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Expression.h"
#include "mx/Support/FloatFormats.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace mx;
using namespace mx::plan;

//===----------------------------------------------------------------------===//
// Numbers as 64 bits
//===----------------------------------------------------------------------===//

static uint64_t getMask(unsigned width) {
  return width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
}

static uint64_t toUnsigned(int64_t number, unsigned width) {
  return uint64_t(number) & getMask(width);
}

/// Sign-extends the low `width` bits. An i1 becomes 0 or -1.
static int64_t toSigned(int64_t number, unsigned width) {
  uint64_t sign = uint64_t(1) << (width - 1);
  return int64_t((toUnsigned(number, width) ^ sign) - sign);
}

/// Converts to the stored form: sign-extended, except an i1, which is 0 or 1.
static int64_t toHeld(uint64_t number, unsigned width) {
  return width == 1 ? int64_t(number & 1) : toSigned(int64_t(number), width);
}

/// Returns the format of a 16-bit float type, or none for f32 and f64.
static std::optional<FloatFormat> getNarrow(NumberType type) {
  if (type.kind == NumberType::F16)
    return FloatFormat::F16;
  return type.kind == NumberType::BF16 ? std::optional(FloatFormat::BF16)
                                       : std::nullopt;
}

static double toDouble(int64_t bits, NumberType type) {
  if (std::optional<FloatFormat> narrow = getNarrow(type))
    return double(decode(*narrow, uint16_t(bits)));
  return type.kind == NumberType::F32 ? double(floatFromBits(uint32_t(bits)))
                                      : doubleFromBits(uint64_t(bits));
}

/// Rounds a number to a type, to nearest even, and returns its bits.
static int64_t toBits(double value, NumberType type) {
  if (std::optional<FloatFormat> narrow = getNarrow(type))
    return int64_t(encodeF64(*narrow, value));
  return int64_t(type.kind == NumberType::F32 ? encodeF32Bits(value)
                                              : bitsOf(value));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Signed and unsigned operands of an integer operator.
struct Integers {
  int64_t a, b;
  uint64_t ua, ub;
  unsigned width;
};

/// Divides signed numbers. Rounds the quotient down if `rounding` is -1, up if
/// it is 1, and towards zero if it is 0.
static uint64_t divide(const Integers &x, int rounding = 0) {
  if (x.b == -1) // the negated minimum wraps to itself
    return -x.ua;
  bool isExact = x.a % x.b == 0, isNegative = (x.a < 0) != (x.b < 0);
  return uint64_t(x.a / x.b +
                  (isExact || isNegative != (rounding < 0) ? 0 : rounding));
}

struct IntegerOperator {
  Operator op;
  uint64_t (*apply)(const Integers &x);
};

/// Integer operators. A shift by at least the width returns 0. An arithmetic
/// right shift by at least the width returns the sign in all bits.
static constexpr IntegerOperator kIntegerOperators[] = {
    {Operator::AddI, [](auto &x) { return x.ua + x.ub; }},
    {Operator::SubI, [](auto &x) { return x.ua - x.ub; }},
    {Operator::MulI, [](auto &x) { return x.ua * x.ub; }},
    {Operator::DivSI, [](auto &x) { return divide(x); }},
    {Operator::DivUI, [](auto &x) { return x.ua / x.ub; }},
    {Operator::RemSI,
     [](auto &x) { return x.b == -1 ? 0 : uint64_t(x.a % x.b); }},
    {Operator::RemUI, [](auto &x) { return x.ua % x.ub; }},
    {Operator::FloorDivSI, [](auto &x) { return divide(x, -1); }},
    {Operator::CeilDivSI, [](auto &x) { return divide(x, 1); }},
    {Operator::CeilDivUI,
     [](auto &x) { return x.ua / x.ub + (x.ua % x.ub != 0); }},
    {Operator::AndI, [](auto &x) { return x.ua & x.ub; }},
    {Operator::OrI, [](auto &x) { return x.ua | x.ub; }},
    {Operator::XOrI, [](auto &x) { return x.ua ^ x.ub; }},
    {Operator::ShLI, [](auto &x) { return x.ub < x.width ? x.ua << x.ub : 0; }},
    {Operator::ShRSI,
     [](auto &x) { return uint64_t(x.a >> (x.ub < x.width ? x.ub : 63)); }},
    {Operator::ShRUI,
     [](auto &x) { return x.ub < x.width ? x.ua >> x.ub : 0; }},
    {Operator::MinSI, [](auto &x) { return uint64_t(std::min(x.a, x.b)); }},
    {Operator::MaxSI, [](auto &x) { return uint64_t(std::max(x.a, x.b)); }},
    {Operator::MinUI, [](auto &x) { return std::min(x.ua, x.ub); }},
    {Operator::MaxUI, [](auto &x) { return std::max(x.ua, x.ub); }},
    {Operator::MulSIHigh,
     [](auto &x) { return uint64_t(__int128(x.a) * x.b >> x.width); }},
    {Operator::MulUIHigh,
     [](auto &x) {
       return uint64_t((unsigned __int128)(x.ua) * x.ub >> x.width);
     }},
    {Operator::AddUICarry,
     [](auto &x) {
       return uint64_t(toUnsigned(int64_t(x.ua + x.ub), x.width) < x.ua);
     }},
    {Operator::AbsI, [](auto &x) { return x.a < 0 ? -x.ua : x.ua; }},
    {Operator::CtLZ,
     [](auto &x) {
       return x.ua ? uint64_t(__builtin_clzll(x.ua)) - (64 - x.width) : x.width;
     }},
    {Operator::CtTZ,
     [](auto &x) { return x.ua ? uint64_t(__builtin_ctzll(x.ua)) : x.width; }},
    {Operator::CtPop,
     [](auto &x) { return uint64_t(__builtin_popcountll(x.ua)); }},
    {Operator::SLt, [](auto &x) { return uint64_t(x.a < x.b); }},
    {Operator::SLe, [](auto &x) { return uint64_t(x.a <= x.b); }},
    {Operator::ULt, [](auto &x) { return uint64_t(x.ua < x.ub); }},
    {Operator::ULe, [](auto &x) { return uint64_t(x.ua <= x.ub); }},
};

static int64_t applyToIntegers(Operator op, unsigned width, int64_t x,
                               int64_t y) {
  // The rows have the order of the enumeration.
  const IntegerOperator &row =
      kIntegerOperators[unsigned(op) - unsigned(Operator::AddI)];
  assert(row.op == op && "expected an operator of integers");
  return toHeld(row.apply({toSigned(x, width), toSigned(y, width),
                           toUnsigned(x, width), toUnsigned(y, width), width}),
                width);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Computes a * b + c for numbers with at most 24 significant bits. The result
/// is rounded to odd, so a later rounding to 24 bits or fewer is correct.
static double multiplyAdd(double a, double b, double c) {
  double product = a * b, sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  double added = sum - product;
  double error = (product - (sum - added)) + (c - added);
  uint64_t bits = bitsOf(sum);
  if (error == 0 || bits & 1)
    return sum;
  bool isAway = (error > 0) == (sum > 0);
  return doubleFromBits(isAway ? bits + 1 : bits - 1);
}

/// Treats -0 as less than 0.
static bool isLess(double a, double b) {
  return a == b ? std::signbit(a) && !std::signbit(b) : a < b;
}

static double roundHalfAway(double a) {
  double whole = std::trunc(a);
  return std::fabs(a - whole) >= 0.5 ? whole + std::copysign(1.0, a) : whole;
}

static double roundHalfEven(double a) {
  double whole = std::trunc(a), rest = std::fabs(a - whole);
  bool isOdd = std::fmod(whole, 2.0) != 0;
  bool isUp = rest > 0.5 || (rest == 0.5 && isOdd);
  return std::copysign(isUp ? whole + std::copysign(1.0, a) : whole, a);
}

/// Compares two numbers. NaN is neither less than nor equal to any number.
static std::optional<bool> compare(Operator op, double a, double b) {
  bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (op) {
  case Operator::OEq:
    return a == b;
  case Operator::OLt:
    return a < b;
  case Operator::OLe:
    return a <= b;
  case Operator::ONe:
    return !isUnordered && a != b;
  case Operator::Ord:
    return !isUnordered;
  case Operator::UEq:
    return isUnordered || a == b;
  case Operator::ULt:
    return isUnordered || a < b;
  case Operator::ULe:
    return isUnordered || a <= b;
  case Operator::UNe:
    return a != b;
  case Operator::Uno:
    return isUnordered;
  case Operator::IsFinite:
    return std::isfinite(a);
  case Operator::IsInf:
    return std::isinf(a);
  case Operator::IsNaN:
    return std::isnan(a);
  default:
    return std::nullopt;
  }
}

static std::optional<int64_t> applyToBits(Operator op, NumberType type,
                                          int64_t x, int64_t y) {
  unsigned width = type.getBits();
  uint64_t bits = toUnsigned(x, width), sign = uint64_t(1) << (width - 1);
  unsigned mantissa = type.kind == NumberType::F16    ? 10
                      : type.kind == NumberType::BF16 ? 7
                      : type.kind == NumberType::F32  ? 23
                                                      : 52;
  switch (op) {
  case Operator::NegF:
    return int64_t(bits ^ sign);
  case Operator::AbsF:
    return int64_t(bits & ~sign);
  case Operator::CopySign: // NaN is treated as positive
    return int64_t((bits & ~sign) |
                   (std::isnan(toDouble(y, type)) ? 0 : uint64_t(y) & sign));
  case Operator::IsNormal: {
    uint64_t exponent = (bits & ~sign) >> mantissa;
    return exponent != 0 && exponent != (~sign & getMask(width)) >> mantissa;
  }
  default:
    return std::nullopt;
  }
}

static double applyToDoubles(Operator op, double a, double b) {
  switch (op) {
  case Operator::AddF:
    return a + b;
  case Operator::SubF:
    return a - b;
  case Operator::MulF:
    return a * b;
  case Operator::DivF:
    return a / b;
  case Operator::RemF:
    return std::fmod(a, b);
  case Operator::Sqrt:
    return std::sqrt(a);
  case Operator::Floor:
    return std::floor(a);
  case Operator::Ceil:
    return std::ceil(a);
  case Operator::Trunc:
    return std::trunc(a);
  case Operator::Round:
    return std::copysign(roundHalfAway(a), a);
  case Operator::RoundEven:
    return roundHalfEven(a);
  case Operator::MinimumF:
  case Operator::MaximumF:
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
    return isLess(a, b) == (op == Operator::MinimumF) ? a : b;
  case Operator::MinNumF:
  case Operator::MaxNumF:
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? b : a;
    return isLess(a, b) == (op == Operator::MinNumF) ? a : b;
  default:
    return 0;
  }
}

static int64_t applyToFloats(Operator op, NumberType type,
                             const Operands &operands) {
  if (std::optional<int64_t> bits =
          applyToBits(op, type, operands[0], operands[1]))
    return *bits;
  double a = toDouble(operands[0], type), b = toDouble(operands[1], type);
  if (std::optional<bool> holds = compare(op, a, b))
    return *holds;
  if (op != Operator::Fma)
    return toBits(applyToDoubles(op, a, b), type);
  double c = toDouble(operands[2], type);
  return toBits(type.kind == NumberType::F64 ? std::fma(a, b, c)
                                             : multiplyAdd(a, b, c),
                type);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Converts an integer to a float. An integer with more than 53 bits is first
/// rounded to odd in f64, unless the result is f64.
static int64_t fromInteger(uint64_t magnitude, bool isNegative,
                           NumberType type) {
  if (type.kind != NumberType::F64 && magnitude >> 53)
    magnitude = (magnitude & ~uint64_t(0xFFF)) |
                (magnitude & 0xFFF ? uint64_t(0x1000) : 0);
  double value = double(magnitude);
  return toBits(isNegative ? -value : value, type);
}

/// Converts a float to an integer, towards zero and saturating; NaN becomes 0.
static int64_t toInteger(double value, unsigned width, bool isSigned) {
  if (std::isnan(value))
    return 0;
  double whole = std::trunc(value);
  unsigned bits = isSigned ? width - 1 : width;
  double limit = std::ldexp(1.0, int(bits));
  if (whole >= limit)
    return toHeld(getMask(bits), width);
  if (isSigned)
    return toHeld(uint64_t(int64_t(std::max(whole, -limit))), width);
  return toHeld(whole <= 0 ? 0 : uint64_t(whole), width);
}

static int64_t convert(Operator op, NumberType from, NumberType to, int64_t x) {
  switch (op) {
  case Operator::ExtSI:
    return toHeld(uint64_t(toSigned(x, from.width)), to.width);
  case Operator::ExtUI:
  case Operator::TruncI:
    return toHeld(toUnsigned(x, from.width), to.width);
  case Operator::SIToFP: {
    int64_t number = toSigned(x, from.width);
    return fromInteger(number < 0 ? -uint64_t(number) : uint64_t(number),
                       number < 0, to);
  }
  case Operator::UIToFP:
    return fromInteger(toUnsigned(x, from.width), /*isNegative=*/false, to);
  case Operator::FPToSI:
  case Operator::FPToUI:
    return toInteger(toDouble(x, from), to.width, op == Operator::FPToSI);
  case Operator::ExtF:
  case Operator::TruncF:
    return toBits(toDouble(x, from), to);
  default: { // Bitcast
    uint64_t bits = toUnsigned(x, from.getBits());
    return to.isFloat() ? int64_t(bits) : toHeld(bits, to.width);
  }
  }
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

// Divisors are at least 1, so remainders are not negative. Most divisors are
// powers of two and use shifts, because divisions dominate the evaluation time.
static bool isPowerOfTwo(int64_t b) { return (b & (b - 1)) == 0; }
static int64_t floorDivide(int64_t a, int64_t b) {
  return isPowerOfTwo(b) ? a >> __builtin_ctzll(uint64_t(b))
                         : a / b - (a % b < 0);
}
static int64_t floorModulo(int64_t a, int64_t b) {
  if (isPowerOfTwo(b))
    return a & (b - 1);
  int64_t rest = a % b;
  return rest + (rest < 0 ? b : 0);
}

/// Applies an operator to sizes. Returns false and sets `error` on overflow.
static bool applyToSizes(Operator op, const Operands &operands, int64_t &result,
                         std::string &error) {
  int64_t a = operands[0], b = operands[1], c = operands[2];
  auto check = [&](bool overflows, const char *sign) {
    if (overflows)
      error = std::to_string(a) + sign + std::to_string(b) +
              " does not fit into 64 bits";
    return !overflows;
  };
  switch (op) {
  case Operator::Add:
    return check(__builtin_add_overflow(a, b, &result), " + ");
  case Operator::Sub:
    return check(__builtin_sub_overflow(a, b, &result), " - ");
  case Operator::Mul:
    return check(__builtin_mul_overflow(a, b, &result), " * ");
  case Operator::FloorDiv:
    result = floorDivide(a, b);
    break;
  case Operator::CeilDiv:
    result = floorDivide(a, b) + (floorModulo(a, b) != 0);
    break;
  case Operator::Mod:
    result = floorModulo(a, b);
    break;
  case Operator::Min:
    result = std::min(a, b);
    break;
  case Operator::Max:
    result = std::max(a, b);
    break;
  case Operator::Select:
    result = a != 0 ? b : c;
    break;
  case Operator::Eq:
    result = a == b;
    break;
  case Operator::Ne:
    result = a != b;
    break;
  case Operator::Lt:
    result = a < b;
    break;
  default: // Le
    result = a <= b;
    break;
  }
  return true;
}

std::optional<int64_t> mx::plan::apply(const Expression &expression,
                                       const Operands &operands,
                                       std::string &error) {
  Operator op = expression.op;
  bool isOfSizes = getTypeCount(op) == 0;
  if (int64_t divisor = operands[1];
      isDivision(op) && (isOfSizes ? divisor < 1 : divisor == 0)) {
    error = std::string("expected a divisor ") +
            (isOfSizes ? "of at least 1" : "other than 0") + ", found " +
            std::to_string(divisor);
    return std::nullopt;
  }
  if (isOfSizes) {
    int64_t result = 0;
    if (!applyToSizes(op, operands, result, error))
      return std::nullopt;
    return result;
  }
  if (getTypeCount(op) == 2)
    return convert(op, expression.type, expression.to, operands[0]);
  if (expression.type.isFloat())
    return applyToFloats(op, expression.type, operands);
  return applyToIntegers(op, expression.type.width, operands[0], operands[1]);
}
