//===- StochasticRounding.cpp - Rounding by random numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. A number is taken apart into a significand of 24 bits and its
// exponent field; f32 subnormals are so small that nothing of them is kept.
//
//===----------------------------------------------------------------------===//

#include "StochasticRounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Support/Philox.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kMantissaBits = 23, kBias = 127;
static constexpr int64_t kHidden = 1 << kMantissaBits;
static constexpr int64_t kRandomBits = 32;

Value StochasticRounding::draw(Value index, Value seed) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto low = [&](Value wide) -> Value {
    return arith::TruncIOp::create(builder, i32, wide);
  };
  auto high = [&](Value wide) -> Value {
    return low(arith::ShRUIOp::create(builder, wide, builder.i64(32)));
  };
  auto multiply = [&](Value word, uint32_t by) -> Value {
    return builder.mul(arith::ExtUIOp::create(builder, i64, word),
                       builder.i64(by));
  };
  auto mix = [&](Value a, Value b, Value c) -> Value {
    return arith::XOrIOp::create(builder, arith::XOrIOp::create(builder, a, b),
                                 c);
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

/// Drops the last `count` bits, one or more, which a random number of as many
/// bits decides on. There are 32 of them: what lies below is lost.
Value StochasticRounding::cutOff(Value significand, Value count, Value random) {
  Type i64 = builder.getI64Type();
  Value none = builder.i32(0), most = builder.i32(kRandomBits);
  Value lost = arith::MinSIOp::create(
      builder,
      arith::MaxSIOp::create(builder,
                             arith::SubIOp::create(builder, count, most), none),
      builder.i32(31));
  significand = arith::ShRUIOp::create(builder, significand, lost);
  count = arith::ExtUIOp::create(builder, i64,
                                 arith::MinSIOp::create(builder, count, most));
  Value mask = arith::SubIOp::create(
      builder, arith::ShLIOp::create(builder, builder.i64(1), count),
      builder.i64(1));
  Value below = arith::AndIOp::create(
      builder, arith::ExtUIOp::create(builder, i64, random), mask);
  Value sum =
      builder.add(arith::ExtUIOp::create(builder, i64, significand), below);
  return arith::TruncIOp::create(builder, builder.getI32Type(),
                                 arith::ShRUIOp::create(builder, sum, count));
}

namespace {
/// The parts of an f32.
struct Parts {
  Parts(NVVMBuilder &builder, Value bits) {
    auto mask = [&](Value value, int64_t bits) -> Value {
      return arith::AndIOp::create(builder, value, builder.i32(bits));
    };
    magnitude = mask(bits, 0x7FFFFFFF);
    field =
        arith::ShRUIOp::create(builder, magnitude, builder.i32(kMantissaBits));
    significand = arith::OrIOp::create(builder, mask(bits, kHidden - 1),
                                       builder.i32(kHidden));
    // Zero has no hidden bit; neither have subnormals, which does not matter.
    Value isZero = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                         field, builder.i32(0));
    significand =
        arith::SelectOp::create(builder, isZero, builder.i32(0), significand);
    isNegative = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, bits,
                                       builder.i32(0));
  }
  Value magnitude, field, significand, isNegative;
};
} // namespace

Value StochasticRounding::round(const FloatFormatInfo &format, Value bits,
                                Value random) {
  Parts x(builder, bits);
  // The field that the smallest normal number of the format has as an f32.
  Value lowest = builder.i32(kBias + 1 - format.bias);
  Value field = arith::MaxSIOp::create(builder, x.field, lowest);
  Value count = builder.add(arith::SubIOp::create(builder, field, x.field),
                            builder.i32(kMantissaBits - format.mantissaBits));
  Value kept = cutOff(x.significand, count, random);
  // The hidden bit of a normal number is its exponent's first step.
  Value steps = arith::SubIOp::create(builder, field, lowest);
  Value code = builder.add(
      kept,
      arith::ShLIOp::create(builder, steps, builder.i32(format.mantissaBits)));
  code = arith::MinUIOp::create(builder, code, builder.i32(format.maxCode));
  Value sign = arith::SelectOp::create(builder, x.isNegative,
                                       builder.i32(1 << (format.bits - 1)),
                                       builder.i32(0));
  code = arith::OrIOp::create(builder, code, sign);
  Value isNaN = arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt,
                                      x.magnitude, builder.i32(0x7F800000));
  return arith::SelectOp::create(builder, isNaN, builder.i32(format.nanCode),
                                 code);
}

/// In units of 1/64 the value is significand * 2^(field - 144). Anything that
/// loses less than 17 bits is beyond 127.
Value StochasticRounding::roundInt8(Value bits, Value random) {
  Parts x(builder, bits);
  Value count = arith::MaxSIOp::create(
      builder,
      arith::SubIOp::create(builder, builder.i32(kBias + kMantissaBits - 6),
                            x.field),
      builder.i32(16));
  Value kept = arith::MinUIOp::create(
      builder, cutOff(x.significand, count, random), builder.i32(127));
  Value negative = arith::SubIOp::create(builder, builder.i32(0), kept);
  Value number = arith::SelectOp::create(builder, x.isNegative, negative, kept);
  return arith::AndIOp::create(builder, number, builder.i32(0xFF));
}
