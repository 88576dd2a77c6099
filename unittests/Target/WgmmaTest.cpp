//===- WgmmaTest.cpp - Types and shapes of wgmma --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares all pairs of types and all N with a second definition of the rules
// (PTX ISA, "Asynchronous Warpgroup Level Matrix Shape").
//===----------------------------------------------------------------------===//

#include "mx/Target/Wgmma.h"
#include "gtest/gtest.h"

using namespace mx::target;

namespace {

TEST(Wgmma, Types) {
  auto is8 = [](MmaType type) {
    return type == MmaType::E4M3 || type == MmaType::E5M2;
  };
  auto is16 = [](MmaType type) {
    return type == MmaType::F16 || type == MmaType::BF16;
  };
  for (unsigned i = 0; i < kNumMmaTypes; ++i)
    for (unsigned j = 0; j < kNumMmaTypes; ++j) {
      MmaType a = MmaType(i), b = MmaType(j);
      unsigned k = is8(a) && is8(b)     ? 32
                   : a != b             ? 0
                   : is16(a)            ? 16
                   : a == MmaType::TF32 ? 8
                                        : 0;
      SCOPED_TRACE(std::string(getName(a)) + " " + getName(b));
      const WgmmaTypeRule *rule = lookupWgmma(a, b);
      ASSERT_EQ(rule != nullptr, k != 0);
      for (unsigned tried : {8, 16, 32, 64})
        EXPECT_EQ(checkWgmma(64, 128, tried, a, b).empty(), tried == k);
      if (!rule)
        continue;
      EXPECT_EQ(rule->k, k);
    }
}

TEST(Wgmma, Shapes) {
  for (unsigned n = 0; n <= 512; ++n)
    EXPECT_EQ(checkWgmma(64, n, 16, MmaType::BF16, MmaType::BF16).empty(),
              n >= 8 && n <= 256 && n % 8 == 0)
        << n;
}

TEST(Wgmma, NamesTheBrokenRule) {
  EXPECT_EQ(checkWgmma(64, 128, 16, MmaType::BF16, MmaType::F16),
            "expected operands of wgmma to be both f16, both bf16, both tf32, "
            "or each e4m3 or e5m2, found bf16 and f16");
  EXPECT_EQ(checkWgmma(64, 128, 32, MmaType::BF16, MmaType::BF16),
            "expected K of wgmma with bf16 to be 16, found 32");
  EXPECT_EQ(checkWgmma(128, 128, 16, MmaType::BF16, MmaType::BF16),
            "expected M of wgmma to be 64, found 128");
  EXPECT_EQ(checkWgmma(64, 12, 32, MmaType::E4M3, MmaType::E5M2),
            "expected N of wgmma to be 8 to 256 in steps of 8, found 12");
}

} // namespace
