//===- Rounding.cpp - Rounding without cvt --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Rounding.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mx/Support/Philox.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Rounding of a value or a pair
//===----------------------------------------------------------------------===//

Value NarrowRounding::number(float value) {
  if (!pairs)
    return LLVM::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  auto type = VectorType::get({2}, builder.getBF16Type());
  Attribute one = builder.getFloatAttr(builder.getBF16Type(), value);
  return LLVM::ConstantOp::create(builder, type,
                                  DenseElementsAttr::get(type, one));
}

/// Returns a constant with `bits` in every number of a word.
Value NarrowRounding::repeat(uint32_t bits) {
  return builder.i32(int32_t(pairs ? bits * 0x10001u : bits));
}

Value NarrowRounding::toNumber(Value bits) {
  Type type = builder.getF32Type();
  if (pairs)
    type = VectorType::get({2}, builder.getBF16Type());
  return LLVM::BitcastOp::create(builder, type, bits);
}

Value NarrowRounding::toBits(Value number) {
  return LLVM::BitcastOp::create(builder, builder.getI32Type(), number);
}

Value NarrowRounding::scaleAndAdd(Value y, float factor, float addend) {
  return LLVM::FMAOp::create(builder, y, number(factor), number(addend));
}

/// Emits minima or maxima of unsigned integers.
template <typename MinMaxOp>
Value NarrowRounding::compareBits(Value a, Value b) {
  if (!pairs)
    return MinMaxOp::create(builder, a, b);
  Type halves = VectorType::get({2}, builder.getI16Type());
  return toBits(MinMaxOp::create(
      builder, LLVM::BitcastOp::create(builder, halves, a).getResult(),
      LLVM::BitcastOp::create(builder, halves, b).getResult()));
}

/// Returns the smaller value. If one value is NaN, returns the other value.
Value NarrowRounding::min(Value a, Value b) {
  return LLVM::MinNumOp::create(builder, a, b);
}

//===----------------------------------------------------------------------===//
// Magnitudes
//===----------------------------------------------------------------------===//

/// Rounds for a format with two exponent bits and therefore three ulps. The ulp
/// of subnormals and the first binade is the smallest number. The ulps of the
/// next two binades are 2 and 4 times as large. In binade b the code is the
/// magnitude in ulps plus b * 2^m. The formula of any other binade yields at
/// least this code, so the correct code is the minimum of the three.
Value NarrowRounding::roundTwoExponentBits(const FloatFormatInfo &format,
                                           Value magnitude) {
  Value y = toNumber(magnitude);
  Value least = number(integers() + format.maxCode);
  for (int binade = 2; binade >= 0; --binade) {
    float ulp = format.minSubnormal * float(1 << binade);
    float first = float(binade << format.mantissaBits);
    least = min(scaleAndAdd(y, 1 / ulp, integers() + first), least);
  }
  uint32_t all = (1u << (format.bits - 1)) - 1;
  return builder.andBits(toBits(least), repeat(all));
}

/// Rounds as roundTwoExponentBits, but compares the bits of the positive sums
/// as integers, so NaN is above all numbers.
Value NarrowRounding::roundE2M1(Value number) {
  const FloatFormatInfo &format = getInfo(FloatFormat::E2M1);
  Value y = LLVM::FAbsOp::create(builder, number);
  Value least = builder.i32(kIntegerBits + format.maxCode);
  for (int binade = 2; binade >= 0; --binade) {
    Value sum = scaleAndAdd(y, 1 / (format.minSubnormal * float(1 << binade)),
                            integers() + float(binade << format.mantissaBits));
    least = LLVM::UMinOp::create(builder, toBits(sum), least);
  }
  return least;
}

/// Computes two codes and returns the larger code. The first is the rounded
/// upper part of the float's bits. It is correct for normal numbers and too
/// small for subnormals. The second is the multiple of the smallest number. It
/// is correct for subnormals and limited to their range. The difference of the
/// exponent biases is added before the comparison, so both are positive.
Value NarrowRounding::roundOnBits(const FloatFormatInfo &format,
                                  Value magnitude) {
  unsigned m = format.mantissaBits, dropped = mantissaBits() - m;
  uint32_t bias = uint32_t(127 - format.bias) << m;
  // To round to nearest even, add half an ulp minus 1, and the last kept bit.
  // The sign bit is 0, so no carry leaves a half of the word.
  Value shift = builder.i32(dropped);
  Value last = builder.andBits(builder.shiftRight(magnitude, shift), repeat(1));
  Value rounded = builder.add(
      builder.add(magnitude, repeat((1u << (dropped - 1)) - 1)), last);
  uint32_t width = pairs ? 16 : 32;
  Value normal =
      builder.andBits(builder.shiftRight(rounded, shift),
                      repeat(uint32_t((uint64_t(1) << (width - dropped)) - 1)));

  Value multiple =
      min(scaleAndAdd(toNumber(magnitude), 1 / format.minSubnormal, integers()),
          number(integers() + float(1 << m)));
  uint32_t base = pairs ? 0x4300u : 0x4B000000u; // bits of integers()
  Value subnormal = builder.add(toBits(multiple), repeat(bias - base));
  Value code = compareBits<LLVM::UMaxOp>(normal, subnormal);
  code = compareBits<LLVM::UMinOp>(code, repeat(bias + format.maxCode));
  return builder.sub(code, repeat(bias));
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

Value NarrowRounding::round(const FloatFormatInfo &format, Value bits,
                            Value signs) {
  uint32_t width = pairs ? 16 : 32;
  Value magnitude = builder.andBits(bits, int32_t(~getSignMask()));
  Value code = format.exponentBits == 2
                   ? roundTwoExponentBits(format, magnitude)
                   : roundOnBits(format, magnitude);
  Value sign =
      builder.shiftRight(builder.andBits(bits, signs), width - format.bits);
  return builder.orBits(code, sign);
}

Value NarrowRounding::roundInt8(Value value) {
  Value least = number(-127.0f / 64), largest = number(127.0f / 64);
  Value bounded = LLVM::MaxNumOp::create(builder, min(value, largest), least);
  // Adding 1.5 * 2^23 rounds to integers of either sign, because floats near
  // this sum have an ulp of 1. The low byte of the constant is 0.
  Value sum = scaleAndAdd(bounded, 64, 0x1.8p23f);
  return builder.andBits(toBits(sum), 0xFF);
}

static constexpr int64_t kFloatMantissaBits = 23, kFloatBias = 127;
static constexpr int64_t kHidden = 1 << kFloatMantissaBits;
static constexpr int64_t kRandomBits = 32;

Value StochasticRounding::draw(Value index, Value seed) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto low = [&](Value wide) -> Value {
    return arith::TruncIOp::create(builder, i32, wide);
  };
  auto high = [&](Value wide) -> Value {
    return low(builder.shiftRight(wide, builder.i64(32)));
  };
  auto multiply = [&](Value word, uint32_t by) -> Value {
    return builder.mul(arith::ExtUIOp::create(builder, i64, word),
                       builder.i64(by));
  };
  auto mix = [&](Value a, Value b, Value c) -> Value {
    return builder.xorBits(builder.xorBits(a, b), c);
  };
  Value zero = builder.i32(0);
  Value counter[4] = {low(index), high(index), zero, zero};
  Value key[2] = {low(seed), high(seed)};
  for (unsigned round = 0; round < kPhiloxRounds; ++round) {
    Value even = multiply(counter[0], kPhiloxMultipliers[0]);
    Value odd = multiply(counter[2], kPhiloxMultipliers[1]);
    counter[0] = mix(high(odd), counter[1], key[0]);
    counter[1] = low(odd);
    counter[2] = mix(high(even), counter[3], key[1]);
    counter[3] = low(even);
    for (unsigned i = 0; i < 2; ++i)
      key[i] = builder.add(key[i], builder.i32(int32_t(kPhiloxWeyl[i])));
  }
  return counter[0];
}

/// Adds `count` random bits, at most 32, to the last `count` bits of the
/// significand, and drops these bits. `count` must be at least 1.
Value StochasticRounding::cutOff(Value significand, Value count, Value random) {
  Type i64 = builder.getI64Type();
  Value none = builder.i32(0), most = builder.i32(kRandomBits);
  Value lost = arith::MinSIOp::create(
      builder, arith::MaxSIOp::create(builder, builder.sub(count, most), none),
      builder.i32(31));
  significand = builder.shiftRight(significand, lost);
  count = arith::ExtUIOp::create(builder, i64,
                                 arith::MinSIOp::create(builder, count, most));
  Value mask =
      builder.sub(builder.shiftLeft(builder.i64(1), count), builder.i64(1));
  Value below =
      builder.andBits(arith::ExtUIOp::create(builder, i64, random), mask);
  Value sum =
      builder.add(arith::ExtUIOp::create(builder, i64, significand), below);
  return arith::TruncIOp::create(builder, builder.getI32Type(),
                                 builder.shiftRight(sum, count));
}

namespace {
/// Fields of an f32.
struct Fields {
  Fields(NVVMBuilder &builder, Value bits) {
    auto mask = [&](Value value, int64_t bits) -> Value {
      return builder.andBits(value, bits);
    };
    magnitude = mask(bits, 0x7FFFFFFF);
    field = builder.shiftRight(magnitude, kFloatMantissaBits);
    significand = builder.orBits(mask(bits, kHidden - 1), kHidden);
    // Zero has no hidden bit. Subnormals round to 0 with and without this bit.
    Value isZero = builder.isEqual(field, builder.i32(0));
    significand = builder.select(isZero, builder.i32(0), significand);
    isNegative = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, bits,
                                       builder.i32(0));
  }
  Value magnitude, field, significand, isNegative;
};
} // namespace

Value StochasticRounding::round(const FloatFormatInfo &format, Value bits,
                                Value random) {
  Fields x(builder, bits);
  // f32 exponent field of the smallest normal number of the format.
  Value lowest = builder.i32(kFloatBias + 1 - format.bias);
  Value field = arith::MaxSIOp::create(builder, x.field, lowest);
  Value count =
      builder.add(builder.sub(field, x.field),
                  builder.i32(kFloatMantissaBits - format.mantissaBits));
  Value kept = cutOff(x.significand, count, random);
  // The hidden bit of a normal number adds 1 to the exponent field of the code,
  // so add only the further steps of the exponent.
  Value steps = builder.sub(field, lowest);
  Value code = builder.add(kept, builder.shiftLeft(steps, format.mantissaBits));
  code = builder.min(code, format.maxCode);
  Value sign = builder.select(x.isNegative, builder.i32(1 << (format.bits - 1)),
                              builder.i32(0));
  code = builder.orBits(code, sign);
  Value isNaN = arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt,
                                      x.magnitude, builder.i32(0x7F800000));
  return builder.select(isNaN, builder.i32(format.nanCode), code);
}

/// Rounds the value in units of 1/64, which is significand * 2^(field - 144).
/// Values with fewer than 17 bits below the integer exceed 127.
Value StochasticRounding::roundInt8(Value bits, Value random) {
  Fields x(builder, bits);
  Value count = arith::MaxSIOp::create(
      builder,
      builder.sub(builder.i32(kFloatBias + kFloatMantissaBits - 6), x.field),
      builder.i32(16));
  Value kept = builder.min(cutOff(x.significand, count, random), 127);
  Value negative = builder.sub(builder.i32(0), kept);
  Value number = builder.select(x.isNegative, negative, kept);
  return builder.andBits(number, 0xFF);
}
