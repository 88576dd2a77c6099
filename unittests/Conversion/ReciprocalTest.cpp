//===- ReciprocalTest.cpp - Rounding of reciprocals after Newton steps ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The GPU division (MathLowering.cpp) starts from rcp.approx, which is off by
// at most 1 ulp (PTX ISA), and refines it with two Newton steps. For every
// significand, the test applies both steps to every number within 1 ulp of the
// reciprocal. Exponents only shift these numbers unless a value is subnormal.
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

namespace {

/// Refines a guess as MathLowering.cpp does.
float refine(float x, float guess) {
  float error = std::fma(-x, guess, 1.0f);
  return std::fma(guess, error, guess);
}

/// Returns the numbers within 1 ulp of 1/x for 1 <= x < 2. The reciprocal is in
/// (1/2, 1], and its ulp is 2^-24, or 2^-23 at 1 itself.
std::vector<float> getGuesses(float x) {
  double exact = 1.0 / x; // error 2^-54; guesses are 2^-24 apart
  double ulp = x == 1.0f ? 0x1p-23 : 0x1p-24;
  std::vector<float> guesses;
  float guess = std::nextafter(std::nextafter(1.0f / x, 0.0f), 0.0f);
  for (int i = 0; i < 5; ++i, guess = std::nextafter(guess, 2.0f))
    if (std::fabs(guess - exact) <= ulp)
      guesses.push_back(guess);
  return guesses;
}

struct Miss {
  float x, guess;
};

TEST(ReciprocalTest, EverySignificandFromEveryGuess) {
  std::vector<Miss> misses;
  int64_t count = 0;
  for (uint32_t significand = 0; significand < 1u << 23; ++significand) {
    float x = 1.0f + static_cast<float>(significand) * 0x1p-23f;
    for (float guess : getGuesses(x)) {
      ++count;
      if (refine(x, guess) != 1.0f / x)
        misses.push_back({x, guess});
    }
  }
  EXPECT_GT(count, 2 << 23);
  // Only the last significand with a guess of 1/2 is rounded in the wrong
  // direction, because the result is a tie. The GPU never starts from this
  // guess: ptxas expands rcp.rn to the same instructions, and rcp.rn rounds
  // correctly (docs/reference/Math.md).
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(misses[0].x, 0x1.fffffep+0f);
  EXPECT_EQ(misses[0].guess, 0.5f);
}

TEST(ReciprocalTest, ExponentsOnlyShift) {
  // The largest denominator of a sigmoid is below 0.9 * 2^126.
  for (int exponent = 0; exponent < 126; ++exponent)
    for (uint32_t significand = 0; significand < 0x7333; ++significand) {
      float x = 1.0f + static_cast<float>(significand) * 0x1p-15f;
      for (float guess : getGuesses(x))
        ASSERT_EQ(std::ldexp(refine(x, guess), -exponent),
                  refine(std::ldexp(x, exponent), std::ldexp(guess, -exponent)))
            << x << " * 2^" << exponent;
    }
}

} // namespace
