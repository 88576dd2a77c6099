//===- SwizzleTest.cpp - Shared-memory swizzles ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tests the table and the periods of swizzles. SimulatorAgreementTest.cpp
// compares addresses with the simulator. The unit test of the simulator repeats
// the tables of the PTX ISA.
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
