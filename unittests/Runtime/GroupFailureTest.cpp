//===- GroupFailureTest.cpp - Groups that fail ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <atomic>
#include <sys/resource.h>

using Milliseconds = std::chrono::milliseconds;

namespace {

constexpr Milliseconds kShort(300);

/// Gathers `n` bytes of host memory.
int gather(const TestRank &test, size_t n) {
  std::vector<char> window(n * size_t(test.size) + 1);
  return mxGroupAllGather(test.group, window.data(), n, nullptr);
}

int sendAll(const TestRank &test, size_t n) {
  std::vector<char> from(n * size_t(test.size) + 1), to(from);
  return mxGroupAllToAll(test.group, from.data(), to.data(), n, nullptr);
}

/// Checks the failure of the group. Every later collective must report the
/// failure at once.
void expectFailure(const TestRank &test, int status, int rank,
                   const std::string &text) {
  mxGroupReport report = test.report();
  EXPECT_EQ(report.status, status);
  EXPECT_EQ(report.rank, rank);
  EXPECT_EQ(std::string(report.text).substr(0, text.size()), text);
  std::string whole = report.text;
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(gather(test, 5), status);
  EXPECT_EQ(mxGetThreadError(), whole);
  EXPECT_EQ(sendAll(test, 5), status);
  EXPECT_EQ(mxGroupReserveWindows(test.group, 64), status);
  EXPECT_EQ(mxGetThreadError(), whole);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, Milliseconds(200));
}

//===----------------------------------------------------------------------===//
// Mismatches
//===----------------------------------------------------------------------===//

TEST_F(Groups, DifferentSizesAreNamed) {
  std::atomic<int> done = 0;
  runRanks(3, kLong, [&](TestRank &test) {
    int status = gather(test, 100);
    // A mismatch also fails the collectives of slower ranks.
    for (++done; done < 3;)
      std::this_thread::yield();
    ASSERT_SUCCESS(status);
    EXPECT_EQ(gather(test, test.rank == 2 ? 1 << 20 : 512), MX_ERROR_MISMATCH);
    std::string text = test.report().text;
    // Rank 2 may have exchanged data with either rank first.
    EXPECT_TRUE(text.find("rank 0 is at all_gather") != std::string::npos ||
                text.find("rank 1 is at all_gather") != std::string::npos)
        << text;
    EXPECT_TRUE(
        contains(text, {" of 512 bytes, rank 2 is at all_gather (collective 3 "
                        "of the group) of 1048576 bytes"}));
    expectFailure(test, MX_ERROR_MISMATCH, 2, "group ep: the ranks differ: ");
  });
}

TEST_F(Groups, DifferentKindsAreNamed) {
  runRanks(2, kLong, [](TestRank &test) {
    int status = test.rank ? sendAll(test, 64) : gather(test, 64);
    EXPECT_EQ(status, MX_ERROR_MISMATCH);
    expectFailure(test, MX_ERROR_MISMATCH, 1,
                  "group ep: the ranks differ: rank 0 is at all_gather "
                  "(collective 2 of the group) of 64 bytes, rank 1 is at "
                  "all_to_all (collective 2 of the group) of 64 bytes");
  });
}

TEST_F(Groups, DifferentOrdersAreNamed) {
  runRanks(2, kLong, [](TestRank &test) {
    int status = MX_SUCCESS;
    for (int i = 0; i < 2 && !status; ++i)
      status = i == test.rank ? mxGroupReserveWindows(test.group, 64)
                              : gather(test, 8);
    EXPECT_EQ(status, MX_ERROR_MISMATCH);
    expectFailure(test, MX_ERROR_MISMATCH, 1,
                  "group ep: the ranks differ: rank 0 is at the agreement on "
                  "the bytes of windows of 8 bytes, rank 1 is at all_gather "
                  "(collective 2 of the group) of 8 bytes");
  });
}

//===----------------------------------------------------------------------===//
// Ended or missing ranks
//===----------------------------------------------------------------------===//

TEST_F(Groups, AbortsGiveTheReason) {
  runRanks(4, kLong, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    auto begin = std::chrono::steady_clock::now();
    if (test.rank == 3) {
      EXPECT_SUCCESS(
          mxGroupAbort(test.group, "9000 tokens, the window has 8192"));
    } else {
      EXPECT_EQ(gather(test, 1000), MX_ERROR_PEER);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 4);
    expectFailure(test, MX_ERROR_PEER, 3,
                  "group ep: rank 3 gave up after the agreement on the group: "
                  "9000 tokens, the window has 8192");
  });
}

/// All ranks abort at the same time, in many rounds. All of them must report
/// the same first abort.
TEST_F(Groups, FirstAbortWins) {
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> texts(4);
    std::atomic<int> missing = 4;
    runRanks(4, kLong, [&](TestRank &test) {
      std::string why = "reason of " + std::to_string(test.rank);
      for (--missing; missing;)
        std::this_thread::yield();
      EXPECT_SUCCESS(mxGroupAbort(test.group, why.c_str()));
      texts[size_t(test.rank)] = test.report().text;
    });
    for (const std::string &text : texts) {
      EXPECT_EQ(text, texts[0]);
      EXPECT_TRUE(contains(text, {"gave up after"}));
    }
  }
}

TEST_F(Groups, LateRanksAreNamed) {
  std::atomic<int> waiting = 3;
  runRanks(4, kShort, [&](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    if (test.rank == 2) {
      while (waiting || !test.report().status)
        std::this_thread::sleep_for(Milliseconds(1));
    } else {
      auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(gather(test, 70000), MX_ERROR_TIMEOUT);
      auto waited = std::chrono::steady_clock::now() - begin;
      EXPECT_GE(waited, kShort);
      EXPECT_LT(waited, kShort * 6);
      --waiting;
    }
    expectFailure(test, MX_ERROR_TIMEOUT, 2,
                  "group ep: rank 2 did not arrive at all_gather (collective 2 "
                  "of the group) (waited 0.3");
  });
}

/// If ranks wait in a chain, the error names the rank at its end.
TEST_F(Groups, EndOfAWaitChainIsNamed) {
  std::atomic<int> waiting = 3;
  runRanks(4, kShort, [&](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    if (test.rank == 1) {
      while (waiting || !test.report().status)
        std::this_thread::sleep_for(Milliseconds(1));
    } else {
      std::this_thread::sleep_for(Milliseconds(40 * test.rank));
      EXPECT_EQ(sendAll(test, 10), MX_ERROR_TIMEOUT);
      --waiting;
    }
    EXPECT_EQ(test.report().rank, 1);
  });
}

TEST_F(Groups, RanksThatLeaveAreNamed) {
  runRanks(3, kLong, [](TestRank &test) {
    ASSERT_SUCCESS(gather(test, 10));
    if (test.rank == 1) {
      EXPECT_SUCCESS(mxGroupDestroy(test.group));
      test.group = nullptr;
      return;
    }
    EXPECT_EQ(gather(test, 1 << 20), MX_ERROR_PEER);
    expectFailure(test, MX_ERROR_PEER, 1,
                  "group ep: rank 1 left during all_gather (collective 3 of "
                  "the group): it has destroyed the group");
  });
}

TEST_F(Groups, RanksMayLeaveAfterTheirLastCollective) {
  runRanks(3, kLong, [](TestRank &test) {
    ASSERT_SUCCESS(gather(test, 1 << 20));
    if (test.rank != 1) {
      mxGroupDestroy(test.group);
      test.group = nullptr;
      return;
    }
    std::this_thread::sleep_for(Milliseconds(50));
    EXPECT_EQ(test.report().status, MX_SUCCESS);
  });
}

TEST_F(Groups, InvalidArgumentsEndTheGroup) {
  runRanks(2, kLong, [](TestRank &test) {
    if (test.rank) {
      EXPECT_ERROR(mxGroupAllGather(test.group, nullptr, 64, nullptr),
                   MX_ERROR_INVALID_VALUE,
                   "expected 128 bytes of memory, found a null pointer");
    } else {
      EXPECT_EQ(gather(test, 64), MX_ERROR_PEER);
    }
    expectFailure(test, MX_ERROR_PEER, 1,
                  "group ep: rank 1 cannot do all_gather (collective 2 of the "
                  "group): expected 128 bytes of memory, found a null pointer");
  });
}

TEST_F(Groups, WrongMemoryIsRefused) {
  auto refuse = [](auto call, const char *text) {
    runRanks(2, kLong, [&](TestRank &test) {
      ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
      if (test.rank) {
        EXPECT_EQ(gather(test, 64), MX_ERROR_PEER);
        return;
      }
      EXPECT_EQ(call(test), MX_ERROR_INVALID_VALUE);
      EXPECT_EQ(std::string(mxGetThreadError()).substr(0, strlen(text)), text);
    });
  };
  std::vector<char> block(256);
  refuse(
      [&](TestRank &test) {
        return mxGroupAllToAll(test.group, &block[0], &block[127], 64, nullptr);
      },
      "expected two blocks of 128 bytes that do not overlap, found addresses "
      "127 bytes apart");
  refuse(
      [&](TestRank &test) {
        return mxGroupAllToAll(test.group, &block[0], &block[0], 64, nullptr);
      },
      "expected two blocks that do not overlap, found the same block twice");
  refuse(
      [&](TestRank &test) {
        return mxGroupAllGather(test.group, &block[0], SIZE_MAX / 2 + 1,
                                nullptr);
      },
      "expected segments that fit in memory");
  refuse(
      [&](TestRank &test) {
        void *memory = nullptr;
        mxSetThreadDevice("sim:1");
        EXPECT_SUCCESS(mxMemAlloc(&memory, 128));
        int status = mxGroupAllGather(test.group, memory, 64, nullptr);
        EXPECT_SUCCESS(mxMemFree(memory));
        return status;
      },
      "expected memory of sim:0, where the group was created, found memory of "
      "sim:1");
  refuse(
      [&](TestRank &test) {
        void *memory = nullptr;
        EXPECT_SUCCESS(mxMemAlloc(&memory, 64));
        int status = mxGroupAllGather(test.group, memory, 64 << 10, nullptr);
        EXPECT_SUCCESS(mxMemFree(memory));
        return status;
      },
      "copy: expected allocated device memory");
}

TEST_F(Groups, ANewGroupWorksAfterAFailure) {
  for (int round = 0; round < 3; ++round) {
    runRanks(3, kLong, [](TestRank &test) {
      if (test.rank == 0)
        mxGroupAbort(test.group, "a test");
      else
        EXPECT_EQ(gather(test, 10), MX_ERROR_PEER);
    });
    runRanks(3, kLong, [](TestRank &test) {
      ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
      EXPECT_SUCCESS(gather(test, 1000));
    });
  }
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// Checks that all ranks report the error when the group is created.
void expectRefusal(int size, int status, const std::string &text,
                   const std::function<void(int, mxGroupConfig &)> &change) {
  runRanks(
      size, kLong,
      [&](TestRank &test) {
        EXPECT_EQ(test.created, status);
        EXPECT_EQ(test.group, nullptr);
        EXPECT_EQ(test.error.substr(0, text.size()), text);
      },
      change);
}

TEST_F(Groups, DifferentConfigurationsAreRefused) {
  expectRefusal(3, MX_ERROR_MISMATCH,
                "group ep: the ranks differ in the name: rank 0 has ep, rank 1 "
                "has tp",
                [](int rank, mxGroupConfig &config) {
                  config.name = rank == 1 ? "tp" : "ep";
                });
  // The second rank expects a third rank.
  expectRefusal(
      2, MX_ERROR_MISMATCH,
      "group ep: the ranks differ in the size: rank 0 has 2, rank 1 "
      "has 3",
      [](int rank, mxGroupConfig &config) { config.size = rank == 1 ? 3 : 2; });
}

TEST_F(Groups, NcclNeedsAGpu) {
  expectRefusal(2, MX_ERROR_UNSUPPORTED,
                "group ep: rank 1 cannot take part: transport nccl needs a "
                "GPU, and sim:1 is in use",
                [](int rank, mxGroupConfig &config) {
                  config.transport = rank == 1 ? "nccl" : "host";
                });
}

TEST_F(Groups, DescriptorLimitIsChecked) {
  rlimit limit = {}, low = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  low = limit;
  low.rlim_cur = 36;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  // Threads share the file descriptors of a process.
  expectRefusal(3, MX_ERROR_OUT_OF_MEMORY,
                "group ep: expected at least 37 file descriptors in the "
                "process of rank 0, which has 3 of the 3 ranks, found a limit "
                "of 36: raise the limit (ulimit -n), or start ranks in "
                "several processes",
                nullptr);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(Groups, FailedExchangesAreReported) {
  expectRefusal(2, MX_ERROR_INVALID_VALUE,
                "group ep: the caller's exchange function returned 7",
                [](int, mxGroupConfig &config) {
                  config.exchange = [](void *, const void *, size_t, void *) {
                    return 7;
                  };
                });
  // The exchange returns the rank's own bytes twice.
  runRanks(
      2, kLong,
      [&](TestRank &test) {
        EXPECT_EQ(test.created, MX_ERROR_INVALID_VALUE);
        std::string other = std::to_string(1 - test.rank);
        EXPECT_EQ(test.error, "group ep: expected the exchange to return the "
                              "bytes of rank " +
                                  other + " at index " + other +
                                  ", found those of rank " +
                                  std::to_string(test.rank));
      },
      [](int, mxGroupConfig &config) {
        config.exchange = [](void *, const void *mine, size_t bytes,
                             void *all) {
          memcpy(all, mine, bytes);
          memcpy(static_cast<char *>(all) + bytes, mine, bytes);
          return 0;
        };
      });
  expectRefusal(2, MX_ERROR_INVALID_VALUE,
                "group ep: expected the exchange to return the bytes of rank 0 "
                "at index 0, found unknown bytes",
                [](int, mxGroupConfig &config) {
                  config.exchange = [](void *, const void *, size_t, void *) {
                    return 0;
                  };
                });
}

TEST_F(Groups, InvalidConfigurationsAreRefused) {
  mxSetThreadDevice("sim:0");
  auto refuse = [](auto change, const char *text) {
    mxGroup group = nullptr;
    mxGroupConfig config = mxSized<mxGroupConfig>();
    config.name = "ep";
    config.size = 2;
    change(config);
    EXPECT_ERROR(mxGroupCreate(&group, &config), MX_ERROR_INVALID_VALUE, text);
    EXPECT_EQ(group, nullptr);
  };
  refuse([](mxGroupConfig &) {},
         "group ep: expected an exchange, found a null pointer: mxGroupConnect "
         "needs none");
  refuse([](mxGroupConfig &config) { config.name = nullptr; },
         "expected a group name of 1 to 63 bytes, found a null pointer");
  refuse([](mxGroupConfig &config) { config.name = ""; },
         "expected a group name of 1 to 63 bytes, found 0");
  refuse([](mxGroupConfig &config) { config.size = 0; },
         "group ep: expected 1 to 1024 ranks, found 0");
  refuse([](mxGroupConfig &config) { config.rank = 2; },
         "group ep: expected a rank below 2, found 2");
  refuse([](mxGroupConfig &config) { config.transport = "pigeon"; },
         "group ep: expected transport auto, host, nccl or peer, found "
         "'pigeon'");
  refuse([](mxGroupConfig &config) { config.structSize = 8; },
         "expected structSize of mxGroupConfig to be at least 24, found 8: set "
         "it to sizeof(mxGroupConfig)");
  mxSetThreadDevice(nullptr);
}

} // namespace
