//===- GroupTest.cpp - Collectives of simulated devices -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <algorithm>
#include <random>

using Bytes = std::vector<uint8_t>;

namespace {

/// Returns byte `i` that rank `from` sends to rank `to` in round `round`.
uint8_t byteOf(int round, int from, int to, size_t i) {
  uint32_t x = uint32_t(round * 7919 + from * 104729 + to * 1299709) +
               uint32_t(i) * 2654435761u;
  return uint8_t((x ^ x >> 15) >> 8);
}

/// Memory of the current device or of the host, with a guard area at both ends.
class Block {
public:
  Block(size_t bytes, bool isOnHost) : bytes(bytes), isOnHost(isOnHost) {
    Bytes begin(bytes + 2 * kBorder, 0xA5);
    all = begin;
    if (!isOnHost) {
      EXPECT_SUCCESS(mxMemAlloc(&memory, begin.size()));
    }
    write(begin, 0);
  }
  ~Block() {
    if (!isOnHost) {
      EXPECT_SUCCESS(mxMemFree(memory));
    }
  }
  void *get() {
    return (isOnHost ? all.data() : static_cast<uint8_t *>(memory)) + kBorder;
  }
  void set(const Bytes &values, size_t at) { write(values, kBorder + at); }
  /// Checks the guard areas and returns the contents.
  Bytes read() {
    Bytes values(bytes + 2 * kBorder);
    if (isOnHost) {
      values = all;
    } else {
      EXPECT_SUCCESS(
          mxMemcpyToHost(values.data(), memory, values.size(), nullptr));
    }
    auto isKept = [](uint8_t value) { return value == 0xA5; };
    EXPECT_TRUE(std::all_of(values.begin(), values.begin() + kBorder, isKept));
    EXPECT_TRUE(std::all_of(values.end() - kBorder, values.end(), isKept));
    return {values.begin() + kBorder, values.end() - kBorder};
  }

private:
  static constexpr size_t kBorder = 64;
  void write(const Bytes &values, size_t at) {
    if (isOnHost) {
      std::copy(values.begin(), values.end(), all.begin() + int64_t(at));
    } else if (!values.empty()) {
      EXPECT_SUCCESS(mxMemcpyToDevice(static_cast<uint8_t *>(memory) + at,
                                      values.data(), values.size(), nullptr));
    }
  }
  size_t bytes;
  bool isOnHost;
  void *memory = nullptr;
  Bytes all;
};

/// Runs both collectives of a round and compares all bytes.
void checkRound(const TestRank &test, int round, size_t n, bool isOnHost) {
  size_t all = n * size_t(test.size);
  Block window(all, isOnHost), from(all, isOnHost), to(all, isOnHost);
  Bytes gathered(all), sent(all), received(all);
  for (size_t i = 0; i < all; ++i) {
    int segment = int(i / n);
    gathered[i] = byteOf(round, segment, -1, i % n);
    sent[i] = byteOf(round, test.rank, segment, i % n);
    received[i] = byteOf(round, segment, test.rank, i % n);
  }
  size_t begin = size_t(test.rank) * n;
  window.set({gathered.begin() + int64_t(begin),
              gathered.begin() + int64_t(begin + n)},
             begin);
  from.set(sent, 0);
  ASSERT_SUCCESS(mxGroupAllGather(test.group, window.get(), n, nullptr));
  ASSERT_SUCCESS(mxGroupAllToAll(test.group, from.get(), to.get(), n, nullptr));
  EXPECT_TRUE(window.read() == gathered) << "rank " << test.rank << " of " << n;
  EXPECT_TRUE(to.read() == received) << "rank " << test.rank << " of " << n;
  EXPECT_TRUE(from.read() == sent) << "rank " << test.rank << " of " << n;
}

class Sizes : public Groups, public testing::WithParamInterface<int> {};

TEST_P(Sizes, CollectivesMoveEveryByte) {
  runRanks(GetParam(), kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    std::mt19937 random{uint32_t(test.rank)};
    size_t most = test.size > 3 ? 300001 : 3000001;
    int round = 0;
    for (size_t n :
         {size_t(0), size_t(1), size_t(7), size_t(4096), most, size_t(33)}) {
      // Ranks arrive in any order.
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
      checkRound(test, round++, n, /*isOnHost=*/false);
      checkRound(test, round++, n, /*isOnHost=*/true);
    }
    EXPECT_EQ(test.report().status, MX_SUCCESS);
    EXPECT_STREQ(test.report().text, "");
  });
}
INSTANTIATE_TEST_SUITE_P(Ranks, Sizes, testing::Values(1, 2, 3, 8));

TEST_F(Groups, ManySmallCollectivesStayInOrder) {
  runRanks(4, kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    for (int round = 0; round < 300; ++round)
      checkRound(test, round, size_t(1 + round % 50), /*isOnHost=*/true);
  });
}

TEST_F(Groups, TwoGroupsOfAProcessAreIndependent) {
  std::thread other;
  auto body = [](int round) {
    runRanks(2, kLong, [&](TestRank &test) {
      ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
      for (int i = 0; i < 50; ++i)
        checkRound(test, round + i, 1000, /*isOnHost=*/false);
    });
  };
  other = std::thread(body, 100);
  body(200);
  other.join();
}

TEST_F(Groups, Info) {
  runRanks(2, kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    mxGroupInfo info = mxSized<mxGroupInfo>();
    ASSERT_SUCCESS(mxGroupGetInfo(test.group, &info));
    EXPECT_STREQ(info.name, "ep");
    EXPECT_EQ(info.rank, test.rank);
    EXPECT_EQ(info.size, 2);
    EXPECT_STREQ(info.transport, "host");
    EXPECT_EQ(info.ncclVersion, 0);
    EXPECT_STREQ(info.device, test.rank ? "sim:1" : "sim:0");
    EXPECT_EQ(info.timeoutNs, 20000000000u);
    EXPECT_EQ(info.windows, nullptr);
    EXPECT_EQ(info.windowBytes, 0u);
  });
}

TEST_F(Groups, OneRankNeedsNoExchange) {
  mxSetThreadDevice("sim:0");
  mxGroup group = nullptr;
  mxGroupConfig config = mxSized<mxGroupConfig>();
  config.name = "alone";
  config.size = 1;
  ASSERT_SUCCESS(mxGroupCreate(&group, &config));
  mxGroupInfo info = mxSized<mxGroupInfo>();
  ASSERT_SUCCESS(mxGroupGetInfo(group, &info));
  EXPECT_STREQ(info.transport, "local");
  EXPECT_EQ(info.timeoutNs, 100000000000u);
  EXPECT_SUCCESS(mxGroupReserveWindows(group, 64));
  EXPECT_SUCCESS(mxGroupDestroy(group));
  EXPECT_ERROR(mxGroupDestroy(group), MX_ERROR_INVALID_VALUE,
               "expected a group, found an invalid handle");
  EXPECT_SUCCESS(mxGroupDestroy(nullptr));
  mxSetThreadDevice(nullptr);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

mxGroupInfo getInfo(const TestRank &test) {
  mxGroupInfo info = mxSized<mxGroupInfo>();
  EXPECT_SUCCESS(mxGroupGetInfo(test.group, &info));
  return info;
}

TEST_F(Groups, OldWindowsStayValidAfterGrowth) {
  runRanks(3, kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    // All ranks reserve the largest requested size.
    ASSERT_SUCCESS(mxGroupReserveWindows(test.group, size_t(100 * test.rank)));
    mxGroupInfo first = getInfo(test);
    EXPECT_EQ(first.windowBytes, 200u);
    ASSERT_SUCCESS(mxGroupReserveWindows(test.group, 150));
    EXPECT_EQ(getInfo(test).windows, first.windows);
    ASSERT_SUCCESS(mxGroupReserveWindows(test.group, 1000));
    mxGroupInfo second = getInfo(test);
    EXPECT_EQ(second.windowBytes, 1000u);
    EXPECT_NE(second.windows, first.windows);
    for (void *memory : {first.windows, second.windows}) {
      EXPECT_SUCCESS(mxMemset(static_cast<uint8_t *>(memory) + test.rank * 8,
                              uint8_t(test.rank + 1), 8, nullptr));
      ASSERT_SUCCESS(mxGroupAllGather(test.group, memory, 8, nullptr));
      uint8_t bytes[24];
      ASSERT_SUCCESS(mxMemcpyToHost(bytes, memory, 24, nullptr));
      for (int i = 0; i < 24; ++i)
        EXPECT_EQ(bytes[i], i / 8 + 1);
    }
  });
}

TEST_F(Groups, OversizedWindowsFailOnAllRanks) {
  runRanks(2, kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    EXPECT_ERROR_WITH(
        mxGroupReserveWindows(test.group, test.rank ? size_t(1) << 60 : 1),
        MX_ERROR_OUT_OF_MEMORY,
        "group ep: rank 0: allocating 1152921504606846976");
    EXPECT_EQ(getInfo(test).windowBytes, 0u);
    // The group is still usable.
    EXPECT_SUCCESS(mxGroupReserveWindows(test.group, 64));
  });
}

TEST_F(Groups, AdoptedWindowsAreChecked) {
  runRanks(2, kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    void *memory = nullptr;
    ASSERT_SUCCESS(mxMemAlloc(&memory, 64));
    EXPECT_ERROR(
        mxGroupAdoptWindows(test.group, memory, size_t(64 - test.rank)),
        MX_ERROR_MISMATCH,
        "group ep: the ranks differ in the window size: rank 0 has '64 "
        "bytes', rank 1 has '63 bytes'");
    EXPECT_ERROR(
        mxGroupAdoptWindows(test.group, test.rank ? nullptr : memory, 64),
        MX_ERROR_INVALID_VALUE,
        "group ep: rank 1: expected memory for windows, found a null pointer");
    EXPECT_SUCCESS(mxGroupAdoptWindows(test.group, memory, 64));
    EXPECT_EQ(getInfo(test).windows, memory);
    EXPECT_EQ(getInfo(test).windowBytes, 64u);
    EXPECT_SUCCESS(mxMemFree(memory));
  });
}

} // namespace
