//===- ExpressionTest.cpp - Numbers of a launch plan ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spelling, and arithmetic against that of 128 bits.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Expression.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace mx::plan;

namespace {

TEST(Number, Spelling) {
  for (const char *text :
       {"v0", "v12", "arg3", "arg0[1]", "arg10[2]", "arg2.bits", "arg1.address",
        "result0.address", "work7.address", "sm_count"}) {
    std::optional<Number> number = Number::parse(text);
    ASSERT_TRUE(number) << text;
    EXPECT_FALSE(number->isConstant());
    EXPECT_EQ(number->str(), text);
  }
  EXPECT_EQ(Number(-5).str(), "-5");
}

TEST(Number, Misspelling) {
  for (const char *text : {"",
                           "v",
                           "v-1",
                           "v01",
                           "v1 ",
                           " v1",
                           "w1",
                           "arg",
                           "arg[0]",
                           "arg0[",
                           "arg0[]",
                           "arg0[1",
                           "arg0[1]x",
                           "arg0[01]",
                           "arg0.addres",
                           "arg0.",
                           "v0.address",
                           "v0[1]",
                           "result0",
                           "result0[1]",
                           "v0.bits",
                           "result0.bits",
                           "sm_counts",
                           "5",
                           "v1000000000",
                           "arg0[99999999999999999999]"})
    EXPECT_FALSE(Number::parse(text)) << text;
}

TEST(Operator, Names) {
  for (unsigned i = 0; i < kNumOperators; ++i)
    EXPECT_EQ(parseOperator(getName(Operator(i))), Operator(i));
  EXPECT_FALSE(parseOperator("div"));
  EXPECT_FALSE(parseOperator(""));
  EXPECT_EQ(getOperandCount(Operator::Select), 3u);
  EXPECT_EQ(getOperandCount(Operator::Add), 2u);
}

float toFloat(int64_t bits) {
  uint32_t word = uint32_t(bits);
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

int64_t toBits(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return word;
}

/// Rounded once, from f64, which is exact enough for a sum, a product and a
/// quotient of two f32s.
std::optional<__int128> expectedOfFloats(Operator op, double a, double b) {
  switch (op) {
  case Operator::AddF:
    return toBits(float(a + b));
  case Operator::SubF:
    return toBits(float(a - b));
  case Operator::MulF:
    return toBits(float(a * b));
  case Operator::DivF:
    return toBits(float(a / b));
  case Operator::EqF:
    return a == b;
  case Operator::LtF:
    return a < b;
  case Operator::LeF:
    return a <= b;
  default:
    return std::nullopt;
  }
}

/// Whether a number are the bits of a NaN, which may have any payload.
bool isNaN(__int128 bits) {
  return bits != 0 && toFloat(int64_t(bits)) != toFloat(int64_t(bits));
}

/// What the operator means, in 128 bits; nothing for a bad divisor.
std::optional<__int128> expected(Operator op, __int128 a, __int128 b,
                                 __int128 c) {
  __int128 floor = 0;
  if (op == Operator::FloorDiv || op == Operator::CeilDiv ||
      op == Operator::Mod) {
    if (b < 1)
      return std::nullopt;
    // The largest q with q * b <= a.
    floor = a / b;
    while (floor * b > a)
      --floor;
  }
  switch (op) {
  case Operator::Add:
    return a + b;
  case Operator::Sub:
    return a - b;
  case Operator::Mul:
    return a * b;
  case Operator::FloorDiv:
    return floor;
  case Operator::CeilDiv:
    return floor * b == a ? floor : floor + 1;
  case Operator::Mod:
    return a - floor * b;
  case Operator::Min:
    return a < b ? a : b;
  case Operator::Max:
    return a < b ? b : a;
  case Operator::Select:
    return a ? b : c;
  case Operator::Eq:
    return a == b;
  case Operator::Ne:
    return a != b;
  case Operator::Lt:
    return a < b;
  case Operator::Le:
    return a <= b;
  case Operator::IntToF:
    return toBits(float(int64_t(a)));
  default:
    return expectedOfFloats(op, toFloat(int64_t(a)), toFloat(int64_t(b)));
  }
}

TEST(Operator, Arithmetic) {
  std::vector<int64_t> interesting = {0,
                                      1,
                                      -1,
                                      2,
                                      -2,
                                      127,
                                      128,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MAX - 1,
                                      INT64_MIN + 1};
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i)
    interesting.push_back(int64_t(random()) >> (random() % 64));
  size_t refused = 0, accepted = 0;
  for (unsigned i = 0; i < kNumOperators; ++i)
    for (int64_t a : interesting)
      for (int64_t b : interesting) {
        int64_t c = a ^ b;
        std::optional<__int128> want = expected(Operator(i), a, b, c);
        bool fits = want && *want >= INT64_MIN && *want <= INT64_MAX;
        std::string error;
        std::optional<int64_t> found = apply(Operator(i), {a, b, c}, error);
        ASSERT_EQ(found.has_value(), fits)
            << getName(Operator(i)) << " " << a << " " << b;
        ASSERT_EQ(error.empty(), fits);
        bool isFloat = i >= unsigned(Operator::AddF);
        if (fits && isFloat && isNaN(*want))
          ASSERT_TRUE(isNaN(*found));
        else if (fits)
          ASSERT_EQ(__int128(*found), *want)
              << getName(Operator(i)) << " " << a << " " << b;
        ++(fits ? accepted : refused);
      }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(accepted, 10000u);
}

TEST(Operator, Messages) {
  std::string error;
  apply(Operator::CeilDiv, {7, 0, 0}, error);
  EXPECT_EQ(error, "ceildiv(7, 0): expected a divisor of at least 1");
  apply(Operator::Mul, {INT64_MAX, 2, 0}, error);
  EXPECT_EQ(error, "9223372036854775807 * 2 does not fit into 64 bits");
}

} // namespace
