//===- SwizzleTest.cpp - Shared-memory swizzles ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares each swizzle with the PTX ISA's description in lines and chunks.
//
//===----------------------------------------------------------------------===//

#include "mx/Support/Swizzle.h"
#include "gtest/gtest.h"

using namespace mx;

namespace {

Swizzle swizzleAt(unsigned i) { return Swizzle(i); }

TEST(Swizzle, TableIsInOrder) {
  for (unsigned i = 0; i < kNumSwizzles; ++i)
    EXPECT_EQ(unsigned(getInfo(swizzleAt(i)).swizzle), i);
  EXPECT_STREQ(getInfo(Swizzle::B128).name, "128b");
  EXPECT_EQ(getInfo(Swizzle::B128).alignment, 1024u);
  EXPECT_EQ(getInfo(Swizzle::B64).alignment, 512u);
  EXPECT_EQ(getInfo(Swizzle::B32).alignment, 256u);
  EXPECT_EQ(getInfo(Swizzle::B128Atom32).alignment, 512u);
  EXPECT_EQ(getInfo(Swizzle::B128Atom64).alignment, 256u);
}

/// Returns the position of chunk `c` of line `line`, for lines of 128 bytes in
/// chunks of 16 bytes, as in the tables of the PTX ISA.
unsigned chunkOf(Swizzle swizzle, unsigned line, unsigned c) {
  switch (swizzle) {
  case Swizzle::None:
    return c;
  case Swizzle::B32: // Pairs of chunks; every second line exchanges them.
    return c ^ line % 2;
  case Swizzle::B64: // Groups of four.
    return c / 4 * 4 + (c % 4 ^ line % 4);
  case Swizzle::B128: // All eight.
    return c ^ line % 8;
  case Swizzle::B128Atom32:
  case Swizzle::B128Atom32Flip8: // Pairs of chunks move together.
    return (c / 2 ^ line % 4) * 2 + c % 2;
  case Swizzle::B128Atom64: // Halves of the line.
    return (c / 4 ^ line % 2) * 4 + c % 4;
  }
  return c;
}

TEST(Swizzle, MatchesTheTablesOfThePtxIsa) {
  for (unsigned i = 0; i < kNumSwizzles; ++i)
    for (uint32_t address = 0; address < 4096; ++address) {
      Swizzle swizzle = swizzleAt(i);
      uint32_t line = address / 128, byte = address % 16;
      if (swizzle == Swizzle::B128Atom32Flip8 && line % 2)
        byte = (byte + 8) % 16;
      uint32_t expected =
          line * 128 + chunkOf(swizzle, line, address / 16 % 8) * 16 + byte;
      ASSERT_EQ(swizzleAddress(swizzle, address), expected)
          << getInfo(swizzle).name << " " << address;
    }
}

TEST(Swizzle, IsItsOwnInverseAndRepeats) {
  for (unsigned i = 0; i < kNumSwizzles; ++i) {
    Swizzle swizzle = swizzleAt(i);
    uint32_t period = getInfo(swizzle).alignment;
    for (uint32_t address = 0; address < 8192; ++address)
      for (uint32_t base : {0u, 1u, 5u}) {
        uint32_t there = swizzleAddress(swizzle, address, base);
        ASSERT_EQ(swizzleAddress(swizzle, there, base), address);
        ASSERT_EQ(swizzleAddress(swizzle, address + period, base),
                  there + period);
      }
  }
}

} // namespace
