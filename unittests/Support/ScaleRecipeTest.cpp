//===- ScaleRecipeTest.cpp - Recipes of power-of-two scales ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives the constants of the recipes from the formats.
// test/Integration/CPU/quantize.py compares the scales of all bf16 magnitudes
// with numpy.
//===----------------------------------------------------------------------===//

#include "mx/Support/ScaleRecipe.h"
#include "Oracle.h"
#include "gtest/gtest.h"

using namespace mx;
using namespace mx::test;

/// Checks the recipe of an element type with the largest number `max`. Values
/// below `limit` round to at most `max`, and so does `limit` itself if
/// `isTied`.
static void check(const ScaleRecipe &recipe, double max, unsigned mantissaBits,
                  double limit, bool isTied) {
  EXPECT_EQ(recipe.maxReciprocalBits, bitsOf(float(1.0 / max)));
  EXPECT_EQ(recipe.emax, std::ilogb(max));
  EXPECT_EQ(recipe.mantissaBits, mantissaBits);
  uint32_t last = bitsOf(float(limit)) - !isTied;
  EXPECT_EQ((last + recipe.fitCarry) >> 23, bitsOf(float(max)) >> 23);
  EXPECT_EQ((last + 1 + recipe.fitCarry) >> 23, (bitsOf(float(max)) >> 23) + 1);
}

TEST(ScaleRecipe, FollowsFromTheFormat) {
  for (FloatFormat elem :
       {FloatFormat::E4M3, FloatFormat::E5M2, FloatFormat::E3M2,
        FloatFormat::E2M3, FloatFormat::E2M1}) {
    SCOPED_TRACE(getInfo(elem).name);
    double max = oracle(elem).max();
    unsigned bits = unsigned(oracle(elem).mantissaBits);
    // E4M3 encodes NaN above its largest number. That number is even, so a tie
    // rounds to the number. The largest numbers of the other formats are odd.
    bool isTied = elem == FloatFormat::E4M3;
    check(getScaleRecipe(elem), max, bits,
          max + std::ldexp(0.5, std::ilogb(max) - int(bits)), isTied);
  }
  check(getInt8ScaleRecipe(), 127.0 / 64, 6, 127.5 / 64, /*isTied=*/false);
}
