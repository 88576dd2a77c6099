//===- TargetInfoTest.cpp - Table of chips --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Repeats every number of the table, so a change must be made twice.
//===----------------------------------------------------------------------===//

#include "mx/Target/Rates.h"
#include "gtest/gtest.h"
#include <set>

using namespace mx::target;

namespace {

TEST(TargetInfo, DataCenterChips) {
  for (const char *chip : {"sm_100a", "sm_100f", "sm_103a", "sm_90a"}) {
    const TargetInfo *t = lookupTarget(chip);
    ASSERT_TRUE(t) << chip;
    bool blackwell = std::string(chip) != "sm_90a";
    EXPECT_STREQ(t->chip, chip);
    EXPECT_STREQ(t->features, "+ptx88");
    EXPECT_EQ(t->hasTcgen05(), blackwell);
    EXPECT_EQ(t->tmemColumns, blackwell ? 512u : 0u);
    EXPECT_EQ(t->smemPerCta, 232448u);
    EXPECT_EQ(t->getSmemPerCta(1), 232448u);
    EXPECT_EQ(t->getSmemPerCta(2), 115712u);
    EXPECT_EQ(t->registersPerSm, 65536u);
    EXPECT_EQ(t->registersPerThread, 255u);
    EXPECT_EQ(t->threadsPerSm, 2048u);
    EXPECT_EQ(t->ctasPerSm, 32u);
    EXPECT_EQ(t->smCount, blackwell ? 148u : 132u);
  }
  EXPECT_EQ(lookupTarget("sm_100a")->computeCapability, 100u);
  EXPECT_EQ(lookupTarget("sm_103a")->computeCapability, 103u);
  EXPECT_EQ(lookupTarget("sm_90a")->mmaFamily, MmaFamily::Wgmma);
  EXPECT_TRUE(lookupTarget("sm_100a")->hasI8Mma);
  EXPECT_FALSE(lookupTarget("sm_100f")->hasI8Mma);
  EXPECT_FALSE(lookupTarget("sm_103a")->hasI8Mma);
}

TEST(TargetInfo, RowsAreDistinctAndConsistent) {
  std::set<std::string> chips;
  for (const TargetInfo &t : getTargets()) {
    EXPECT_TRUE(chips.insert(t.chip).second) << t.chip;
    EXPECT_EQ(lookupTarget(t.chip), &t);
    EXPECT_EQ(t.hasTcgen05(), t.tmemColumns != 0);
    // The matmul scheduler needs rates.
    EXPECT_EQ(t.rates != nullptr, t.hasMma()) << t.chip;
  }
}

TEST(TargetInfo, UnknownAndUnsupportedChips) {
  std::string error;
  const std::string tcgen05 = "expected one of 'sm_100a', 'sm_100f', 'sm_103a'";
  const std::string list =
      tcgen05 + ", 'sm_90a', 'sm_120a', 'sm_120f', 'sm_121a'";
  EXPECT_FALSE(lookupTarget("sm_100", error));
  EXPECT_EQ(error, "unknown chip 'sm_100': " + list);
  EXPECT_FALSE(lookupTarget(""));
  EXPECT_FALSE(lookupTarget("sm_100a "));
  EXPECT_TRUE(lookupTarget("sm_100a", error));
  EXPECT_EQ(checkTcgen05(*lookupTarget("sm_103a")), "");
  EXPECT_TRUE(lookupKernelTarget("sm_90a", error));
  EXPECT_TRUE(lookupKernelTarget("sm_100f", error));
  EXPECT_TRUE(lookupKernelTarget("sm_121a", error));
  EXPECT_FALSE(lookupKernelTarget("sm_1", error));
  for (const char *chip : {"sm_90a", "sm_120a"})
    EXPECT_EQ(checkTcgen05(*lookupTarget(chip)),
              "chip '" + std::string(chip) +
                  "' has no tcgen05 instructions: " + tcgen05);
}

/// A plug-in may add a chip for which there are no kernels.
TEST(TargetInfo, ChipsWithoutRates) {
  TargetInfo chip = *lookupTarget("sm_120a");
  chip.chip = "sm_none";
  chip.rates = nullptr;
  registerTarget(chip);
  std::string error;
  EXPECT_TRUE(lookupTarget("sm_none", error));
  EXPECT_FALSE(lookupKernelTarget("sm_none", error));
  EXPECT_EQ(error,
            "chip 'sm_none' is not supported: expected one of " + listChips());
}

TEST(TargetInfo, TensorMemoryIsAllocatedInPowersOfTwo) {
  const TargetInfo &t = *lookupTarget("sm_100a");
  struct {
    unsigned columns, size;
  } cases[] = {{0, 32},    {1, 32},    {32, 32},   {33, 64}, {128, 128},
               {129, 256}, {268, 512}, {512, 512}, {513, 0}};
  for (auto c : cases)
    EXPECT_EQ(tmemAllocationColumns(t, c.columns), c.size) << c.columns;
  EXPECT_EQ(tmemAllocationColumns(*lookupTarget("sm_90a"), 32), 0u);
}

TEST(TargetInfo, ResidencyLimits) {
  const TargetInfo &t = *lookupTarget("sm_100a");
  EXPECT_EQ(checkResidency(t, 2, 1024), "");
  EXPECT_EQ(checkResidency(t, 32, 64), "");
  EXPECT_EQ(checkResidency(t, 3, 1024),
            "expected at most 2 CTAs of 1024 threads on an SM of 'sm_100a', "
            "found 3");
  EXPECT_EQ(checkResidency(t, 33, 32),
            "expected at most 32 CTAs of 32 threads on an SM of 'sm_100a', "
            "found 33");
  EXPECT_NE(checkResidency(*lookupTarget("sm_120a"), 2, 1024), "");
}

} // namespace
