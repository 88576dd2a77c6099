//===- ExpressionTest.cpp - Expressions of a launch plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the spelling of expressions and compares their arithmetic with 128-bit
// integers.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Expression.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace mx::plan;

namespace {

TEST(Number, Spelling) {
  for (const char *text :
       {"v0", "v12", "arg3", "arg0[1]", "arg10[2]", "arg2.bits", "arg1.address",
        "result0.address", "work7.address", "const2.address", "win1.address",
        "buf3.address", "group1.rank", "sm_count"}) {
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
                           "win0",
                           "win0.rank",
                           "group0",
                           "group0.address",
                           "group.rank",
                           "arg0[1].bits",
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

TEST(Operator, Types) {
  for (const char *text :
       {"i1", "i8", "i33", "i64", "f16", "bf16", "f32", "f64"}) {
    std::optional<NumberType> type = NumberType::parse(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(type->str(), text);
  }
  for (const char *text : {"", "i", "i0", "i65", "i08", "u8", "f8", "f128"})
    EXPECT_FALSE(NumberType::parse(text)) << text;
  NumberType i8 = {NumberType::Integer, 8}, i32 = {NumberType::Integer, 32};
  NumberType f16 = {NumberType::F16, 0}, bf16 = {NumberType::BF16, 0};
  NumberType f32 = {NumberType::F32, 0};
  EXPECT_TRUE(takesTypes(Operator::AddI, i8, {}));
  EXPECT_FALSE(takesTypes(Operator::AddI, f32, {}));
  EXPECT_FALSE(takesTypes(Operator::AddF, i8, {}));
  EXPECT_TRUE(takesTypes(Operator::ULt, i8, {}));
  EXPECT_TRUE(takesTypes(Operator::ULt, f16, {}));
  EXPECT_TRUE(takesTypes(Operator::ExtSI, i8, i32));
  EXPECT_FALSE(takesTypes(Operator::ExtSI, i32, i8));
  EXPECT_FALSE(takesTypes(Operator::TruncI, i32, i32));
  EXPECT_TRUE(takesTypes(Operator::TruncF, f32, bf16));
  EXPECT_FALSE(takesTypes(Operator::TruncF, f16, bf16));
  EXPECT_TRUE(takesTypes(Operator::Bitcast, f32, i32));
  EXPECT_FALSE(takesTypes(Operator::Bitcast, f32, i8));
  EXPECT_FALSE(takesTypes(Operator::Bitcast, {}, {}));
}

/// Evaluates the operator in 128 bits. Returns nothing for an invalid divisor.
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
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> applyPlain(Operator op, const Operands &operands,
                                  std::string &error) {
  Expression expression;
  expression.op = op;
  return apply(expression, operands, error);
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
  for (unsigned i = 0; getTypeCount(Operator(i)) == 0; ++i)
    for (int64_t a : interesting)
      for (int64_t b : interesting) {
        int64_t c = a ^ b;
        std::optional<__int128> want = expected(Operator(i), a, b, c);
        bool fits = want && *want >= INT64_MIN && *want <= INT64_MAX;
        std::string error;
        std::optional<int64_t> found =
            applyPlain(Operator(i), {a, b, c}, error);
        ASSERT_EQ(found.has_value(), fits)
            << getName(Operator(i)) << " " << a << " " << b;
        ASSERT_EQ(error.empty(), fits);
        if (fits) {
          ASSERT_EQ(__int128(*found), *want)
              << getName(Operator(i)) << " " << a << " " << b;
        }
        ++(fits ? accepted : refused);
      }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(accepted, 10000u);
}

/// Compares i8 operations with 128-bit arithmetic.
/// test/Execution/host-arithmetic.py covers all operations and types.
TEST(Operator, NarrowIntegers) {
  Expression expression;
  expression.type = {NumberType::Integer, 8};
  auto run = [&](Operator op, int64_t a, int64_t b) {
    expression.op = op;
    std::string error;
    std::optional<int64_t> result = apply(expression, {a, b, 0}, error);
    EXPECT_TRUE(result) << error;
    return result.value_or(0);
  };
  for (int64_t a = -128; a < 128; ++a)
    for (int64_t b = -128; b < 128; ++b) {
      ASSERT_EQ(run(Operator::AddI, a, b), int8_t(a + b));
      ASSERT_EQ(run(Operator::MulI, a, b), int8_t(a * b));
      ASSERT_EQ(run(Operator::MulSIHigh, a, b), int8_t((a * b) >> 8));
      ASSERT_EQ(run(Operator::MinUI, a, b),
                int8_t(std::min(uint8_t(a), uint8_t(b))));
      ASSERT_EQ(run(Operator::ULt, a, b), uint8_t(a) < uint8_t(b));
      if (b == 0)
        continue;
      ASSERT_EQ(run(Operator::DivSI, a, b), int8_t(a / b));
      ASSERT_EQ(run(Operator::RemUI, a, b), int8_t(uint8_t(a) % uint8_t(b)));
    }
}

TEST(Operator, Messages) {
  std::string error;
  applyPlain(Operator::CeilDiv, {7, 0, 0}, error);
  EXPECT_EQ(error, "expected a divisor of at least 1, found 0");
  applyPlain(Operator::Mod, {7, -2, 0}, error);
  EXPECT_EQ(error, "expected a divisor of at least 1, found -2");
  applyPlain(Operator::Mul, {INT64_MAX, 2, 0}, error);
  EXPECT_EQ(error, "9223372036854775807 * 2 does not fit into 64 bits");
  Expression expression;
  expression.op = Operator::RemUI;
  expression.type = {NumberType::Integer, 16};
  EXPECT_FALSE(apply(expression, {7, 0, 0}, error));
  EXPECT_EQ(error, "expected a divisor other than 0, found 0");
}

} // namespace
