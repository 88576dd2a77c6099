//===- Arithmetic.cpp - What operators give -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of host code as docs/reference/Math.md defines it, whatever the
// processor does. Floats of less than 64 bits are computed in f64 and rounded
// once: f64 has more than twice their bits and two, so that a sum, a product, a
// quotient or a root that was rounded to f64 before rounds to the same number.
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "mx/Support/FloatFormats.h"

#include <algorithm>
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

/// The low bits with their sign, also of one bit.
static int64_t toSigned(int64_t number, unsigned width) {
  uint64_t sign = uint64_t(1) << (width - 1);
  return int64_t((toUnsigned(number, width) ^ sign) - sign);
}

/// As numbers are held: a bit is 0 or 1.
static int64_t toHeld(uint64_t number, unsigned width) {
  return width == 1 ? int64_t(number & 1) : toSigned(int64_t(number), width);
}

static unsigned getFloatWidth(NumberType type) {
  return type.kind == NumberType::F64   ? 64
         : type.kind == NumberType::F32 ? 32
                                        : 16;
}

static double toDouble(int64_t bits, NumberType type) {
  switch (type.kind) {
  case NumberType::F16:
    return double(decode(FloatFormat::F16, uint16_t(bits)));
  case NumberType::BF16:
    return double(decode(FloatFormat::BF16, uint16_t(bits)));
  case NumberType::F32:
    return double(floatFromBits(uint32_t(bits)));
  default:
    return doubleFromBits(uint64_t(bits));
  }
}

/// Rounds once, to nearest even.
static int64_t toBits(double value, NumberType type) {
  switch (type.kind) {
  case NumberType::F16:
    return int64_t(encodeF64(FloatFormat::F16, value));
  case NumberType::BF16:
    return int64_t(encodeF64(FloatFormat::BF16, value));
  case NumberType::F32:
    return int64_t(encodeF32Bits(value));
  default:
    return int64_t(bitsOf(value));
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static int64_t divideSigned(Operator op, int64_t a, int64_t b) {
  // The least number by -1 is itself, with the rest 0.
  if (b == -1)
    return op == Operator::RemSI ? 0 : int64_t(-uint64_t(a));
  int64_t quotient = a / b, rest = a % b;
  bool isNegative = (a < 0) != (b < 0);
  switch (op) {
  case Operator::RemSI:
    return rest;
  case Operator::FloorDivSI:
    return quotient - (rest != 0 && isNegative);
  case Operator::CeilDivSI:
    return quotient + (rest != 0 && !isNegative);
  default:
    return quotient;
  }
}

static uint64_t divideUnsigned(Operator op, uint64_t a, uint64_t b) {
  switch (op) {
  case Operator::RemUI:
    return a % b;
  case Operator::CeilDivUI:
    return a / b + (a % b != 0);
  default:
    return a / b;
  }
}

/// By the width or more nothing is left but, to the right, the sign.
static uint64_t shift(Operator op, int64_t a, uint64_t by, unsigned width) {
  bool isLarge = by >= width;
  if (op == Operator::ShRSI)
    return uint64_t(toSigned(a, width) >> (isLarge ? 63 : by));
  if (isLarge)
    return 0;
  return op == Operator::ShLI ? uint64_t(a) << by : toUnsigned(a, width) >> by;
}

static unsigned countLeadingZeros(uint64_t number, unsigned width) {
  unsigned count = 0;
  while (count < width && !(number >> (width - 1 - count) & 1))
    ++count;
  return count;
}

static unsigned countTrailingZeros(uint64_t number, unsigned width) {
  unsigned count = 0;
  while (count < width && !(number >> count & 1))
    ++count;
  return count;
}

int64_t mx::plan::applyToIntegers(Operator op, unsigned width, int64_t x,
                                  int64_t y) {
  int64_t a = toSigned(x, width), b = toSigned(y, width);
  uint64_t ua = toUnsigned(x, width), ub = toUnsigned(y, width);
  auto hold = [&](uint64_t number) { return toHeld(number, width); };
  switch (op) {
  case Operator::AddI:
    return hold(ua + ub);
  case Operator::SubI:
    return hold(ua - ub);
  case Operator::MulI:
    return hold(ua * ub);
  case Operator::DivSI:
  case Operator::RemSI:
  case Operator::FloorDivSI:
  case Operator::CeilDivSI:
    return hold(uint64_t(divideSigned(op, a, b)));
  case Operator::DivUI:
  case Operator::RemUI:
  case Operator::CeilDivUI:
    return hold(divideUnsigned(op, ua, ub));
  case Operator::AndI:
    return hold(ua & ub);
  case Operator::OrI:
    return hold(ua | ub);
  case Operator::XOrI:
    return hold(ua ^ ub);
  case Operator::ShLI:
  case Operator::ShRSI:
  case Operator::ShRUI:
    return hold(shift(op, x, ub, width));
  case Operator::MinSI:
    return hold(uint64_t(std::min(a, b)));
  case Operator::MaxSI:
    return hold(uint64_t(std::max(a, b)));
  case Operator::MinUI:
    return hold(std::min(ua, ub));
  case Operator::MaxUI:
    return hold(std::max(ua, ub));
  case Operator::MulSIHigh:
    return hold(uint64_t((__int128(a) * b) >> width));
  case Operator::MulUIHigh:
    return hold(uint64_t(((unsigned __int128)(ua)*ub) >> width));
  case Operator::AddUICarry:
    return toUnsigned(int64_t(ua + ub), width) < ua;
  case Operator::AbsI:
    return hold(a < 0 ? -uint64_t(a) : uint64_t(a));
  case Operator::CtLZ:
    return hold(countLeadingZeros(ua, width));
  case Operator::CtTZ:
    return hold(countTrailingZeros(ua, width));
  case Operator::CtPop:
    return hold(uint64_t(__builtin_popcountll(ua)));
  case Operator::SLt:
    return a < b;
  case Operator::SLe:
    return a <= b;
  case Operator::ULt:
    return ua < ub;
  case Operator::ULe:
    return ua <= ub;
  default:
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// a * b + c of numbers of at most 24 bits, with the last bit set where the sum
/// was not exact: whatever is rounded from it is rounded once.
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

/// -0 is less than 0.
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

/// Of two numbers, by which comparison: NaN is neither less nor equal.
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

/// What only looks at the bits.
static std::optional<int64_t> applyToBits(Operator op, NumberType type,
                                          int64_t x, int64_t y) {
  unsigned width = getFloatWidth(type);
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
  case Operator::CopySign: // the sign of a NaN is positive
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

int64_t mx::plan::applyToFloats(Operator op, NumberType type,
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

/// Rounded once. Of a number that f64 does not hold the bits that it lacks
/// become its last one, unless it is what the number is rounded to.
static int64_t fromInteger(uint64_t magnitude, bool isNegative,
                           NumberType type) {
  if (type.kind == NumberType::F64) {
    double value = double(magnitude);
    return int64_t(bitsOf(isNegative ? -value : value));
  }
  if (magnitude >> 53)
    magnitude = (magnitude & ~uint64_t(0xFFF)) |
                (magnitude & 0xFFF ? uint64_t(0x1000) : 0);
  double value = double(magnitude);
  return toBits(isNegative ? -value : value, type);
}

/// Towards zero; what does not fit becomes the nearest number that does, and
/// NaN 0.
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

int64_t mx::plan::convert(Operator op, NumberType from, NumberType to,
                          int64_t x) {
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
    unsigned width = from.isFloat() ? getFloatWidth(from) : from.width;
    uint64_t bits = toUnsigned(x, width);
    return to.isFloat() ? int64_t(bits) : toHeld(bits, width);
  }
  }
}
