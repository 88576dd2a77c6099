//===- RanksTest.cpp - Ranks as threads -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Execution/Ranks.h"
#include "gtest/gtest.h"
#include <functional>
#include <thread>

using namespace mx;

/// Runs `call` for each rank in its own thread and returns all messages.
static std::vector<std::string>
callAll(int count, const std::function<std::string(int)> &call) {
  std::vector<std::string> said(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] { said[rank] = call(rank); });
  for (std::thread &thread : threads)
    thread.join();
  return said;
}

// Segment s of rank r holds 100 s + r before the exchange and 100 r + s after.
TEST(Ranks, BytesArrive) {
  constexpr int kCount = 5;
  Ranks ranks(kCount);
  std::vector<std::vector<int>> from(kCount, std::vector<int>(kCount)), to,
      windows;
  for (int rank = 0; rank < kCount; ++rank)
    for (int segment = 0; segment < kCount; ++segment)
      from[rank][segment] = 100 * segment + rank;
  windows = to = from;
  auto said = callAll(kCount, [&](int rank) {
    std::string why =
        ranks.allToAll(rank, from[rank].data(), to[rank].data(), sizeof(int));
    return why + ranks.allGather(rank, windows[rank].data(), sizeof(int));
  });
  EXPECT_EQ(said, std::vector<std::string>(kCount));
  for (int rank = 0; rank < kCount; ++rank)
    for (int segment = 0; segment < kCount; ++segment) {
      EXPECT_EQ(to[rank][segment], 100 * rank + segment);
      EXPECT_EQ(windows[rank][segment], 100 * segment + segment);
    }
}

TEST(Ranks, MissingRanksAreNamed) {
  using std::chrono::milliseconds;
  Ranks ranks(4, milliseconds(200));
  int word = 0;
  auto said = callAll(4, [&](int rank) {
    if (rank == 1 || rank == 3)
      std::this_thread::sleep_for(milliseconds(600));
    return ranks.allGather(rank, &word, 0);
  });
  // Late ranks receive the same message.
  for (const std::string &text : said)
    EXPECT_EQ(text, "ranks 1 and 3 did not arrive (waited 0.2 s)");
}

TEST(Ranks, RanksThatLeaveAreNamed) {
  Ranks ranks(3);
  int words[3] = {}, all[3];
  auto said = callAll(3, [&](int rank) {
    if (rank == 2)
      ranks.leave(rank);
    return ranks.exchange(rank, &words[rank], sizeof(int), all);
  });
  for (const std::string &text : said)
    EXPECT_EQ(text, "rank 2 has ended");
}
