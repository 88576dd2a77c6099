//===- TensorMbarrierTest.cpp - The mbarrier object -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares sequences of mbarrier operations with a model that keeps the fields
// of PTX ISA, "mbarrier", in separate variables, and tests each kind of misuse.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/Mbarrier.h"

#include <gtest/gtest.h>
#include <random>

using namespace mx::sim;

namespace {

bool passes(uint64_t word, unsigned parity) {
  bool done = false;
  EXPECT_FALSE(mbarrierTestParity(word, parity, done));
  return done;
}

TEST(Mbarrier, FreshBarrierHasCompletedThePreviousPhase) {
  uint64_t word = 0;
  ASSERT_FALSE(mbarrierInit(word, 1));
  EXPECT_TRUE(passes(word, 1));
  EXPECT_FALSE(passes(word, 0));
}

TEST(Mbarrier, PhaseWaitsForArrivalsAndBytes) {
  uint64_t word = 0;
  ASSERT_FALSE(mbarrierInit(word, 2));
  ASSERT_FALSE(mbarrierArriveExpectTx(word, 512));
  EXPECT_FALSE(passes(word, 0));
  ASSERT_FALSE(mbarrierArrive(word, 1));
  EXPECT_FALSE(passes(word, 0));
  ASSERT_FALSE(mbarrierCompleteTx(word, 500));
  EXPECT_EQ(describeMbarrier(word),
            "phase parity 0, 0 of 2 arrivals pending, tx-count 12 bytes");
  ASSERT_FALSE(mbarrierCompleteTx(word, 12));
  EXPECT_TRUE(passes(word, 0));
  EXPECT_FALSE(passes(word, 1));
  EXPECT_EQ(mbarrierState(word).pending, 2u);
}

TEST(Mbarrier, BytesMayArriveBeforeTheyAreExpected) {
  uint64_t word = 0;
  ASSERT_FALSE(mbarrierInit(word, 1));
  ASSERT_FALSE(mbarrierCompleteTx(word, 256));
  EXPECT_EQ(mbarrierState(word).tx, -256);
  EXPECT_FALSE(passes(word, 0));
  ASSERT_FALSE(mbarrierArriveExpectTx(word, 256));
  EXPECT_TRUE(passes(word, 0));
}

TEST(Mbarrier, ArriveDropLastsForTheNextPhases) {
  uint64_t word = 0;
  ASSERT_FALSE(mbarrierInit(word, 3));
  ASSERT_FALSE(mbarrierArriveDrop(word, 1));
  ASSERT_FALSE(mbarrierArrive(word, 2));
  EXPECT_TRUE(passes(word, 0));
  EXPECT_EQ(mbarrierState(word).expected, 2u);
  ASSERT_FALSE(mbarrierArrive(word, 2));
  EXPECT_TRUE(passes(word, 1));
}

TEST(Mbarrier, StateTokenNamesThePhaseOfTheArrival) {
  uint64_t word = 0;
  ASSERT_FALSE(mbarrierInit(word, 2));
  uint64_t token = word;
  ASSERT_FALSE(mbarrierArrive(word, 1));
  bool done = true;
  ASSERT_FALSE(mbarrierTest(word, token, done));
  EXPECT_FALSE(done);
  EXPECT_EQ(mbarrierPendingCount(token), 2u);
  ASSERT_FALSE(mbarrierArrive(word, 1));
  ASSERT_FALSE(mbarrierTest(word, token, done));
  EXPECT_TRUE(done);
}

TEST(Mbarrier, MatchesModelOnRandomSequences) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    uint32_t expected = 1 + random() % 5, pending = expected;
    int64_t tx = 0;
    unsigned parity = 0;
    uint64_t word = 0;
    ASSERT_FALSE(mbarrierInit(word, expected));
    for (int step = 0; step < 100; ++step) {
      uint32_t amount = random() % 1000;
      switch (random() % 4) {
      case 0:
        if (pending == 0)
          continue;
        ASSERT_FALSE(mbarrierArrive(word, 1));
        --pending;
        break;
      case 1:
        ASSERT_FALSE(mbarrierExpectTx(word, amount));
        tx += amount;
        break;
      case 2:
        ASSERT_FALSE(mbarrierCompleteTx(word, amount));
        // Copies may complete in pieces, so split this one at the end of the
        // phase.
        if (pending == 0 && tx > 0 && tx < amount) {
          amount -= uint32_t(tx);
          tx = 0;
          parity ^= 1;
          pending = expected;
        }
        tx -= amount;
        break;
      case 3:
        if (pending == 0)
          continue;
        ASSERT_FALSE(mbarrierArriveExpectTx(word, amount));
        tx += amount;
        --pending;
        break;
      }
      if (pending == 0 && tx == 0) {
        parity ^= 1;
        pending = expected;
      }
      MbarrierState state = mbarrierState(word);
      ASSERT_EQ(state.parity, parity);
      ASSERT_EQ(state.pending, pending);
      ASSERT_EQ(state.expected, expected);
      ASSERT_EQ(state.tx, tx);
    }
  }
}

TEST(Mbarrier, ReportsMisuseAndKeepsTheWord) {
  uint64_t word = 0;
  bool done;
  EXPECT_EQ(mbarrierArrive(word, 1).message,
            "mbarrier.arrive on memory that does not contain an initialized "
            "mbarrier");
  EXPECT_TRUE(mbarrierTestParity(0x1234, 0, done));
  EXPECT_TRUE(mbarrierInit(word, 0));
  EXPECT_TRUE(mbarrierInit(word, 1u << 20));
  EXPECT_EQ(word, 0u);
  ASSERT_FALSE(mbarrierInit(word, 1));
  uint64_t before = word;
  EXPECT_EQ(mbarrierArrive(word, 2).message,
            "mbarrier.arrive of 2 exceeds the 1 arrivals still pending in this "
            "phase");
  EXPECT_EQ(mbarrierExpectTx(word, 1u << 20).message,
            "expect_tx of 1048576 bytes takes the tx-count from 0 to 1048576, "
            "outside +-1048575");
  EXPECT_TRUE(mbarrierCompleteTx(word, 1u << 20));
  EXPECT_TRUE(mbarrierArrive(word, 1, /*noComplete=*/true));
  EXPECT_TRUE(mbarrierTest(word, 0, done));
  EXPECT_TRUE(mbarrierTestParity(word, 2, done));
  EXPECT_EQ(word, before);
  ASSERT_FALSE(mbarrierInval(word));
  EXPECT_EQ(mbarrierArrive(word, 1).message,
            "mbarrier.arrive on an mbarrier that was invalidated");
  EXPECT_TRUE(mbarrierInval(word));
}

} // namespace
