//===- GroupConnectTest.cpp - Ranks that meet at an address ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/group/Sockets.h"
#include "Ranks.h"

#include <atomic>

using namespace mx::runtime;
using Milliseconds = std::chrono::milliseconds;

namespace {

/// Returns an unused address of this machine.
std::string freeAddress() {
  Endpoint endpoint = {"127.0.0.1", 0};
  Socket socket;
  EXPECT_FALSE(listenAt(endpoint, 1, socket));
  return "127.0.0.1:" + std::to_string(endpoint.port);
}

class Connections : public Groups {
protected:
  /// Connects a single rank in the calling thread.
  TestRank connect(int rank, int size, Milliseconds timeout = kLong,
                   const char *name = "ep") {
    mxSetThreadDevice("sim:0");
    mxGroupConfig config = configOf(rank, size, timeout);
    config.name = name;
    return ::connectTo(address, config);
  }
  static void gather(TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    std::vector<char> window(static_cast<size_t>(test.size));
    window[size_t(test.rank)] = char(test.rank + 1);
    EXPECT_SUCCESS(mxGroupAllGather(test.group, window.data(), 1, nullptr));
    for (int i = 0; i < test.size; ++i)
      EXPECT_EQ(window[size_t(i)], i + 1);
    mxGroupDestroy(test.group);
  }
  template <typename Body>
  static void inThreads(int count, Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([=] { body(i); });
    for (std::thread &thread : threads)
      thread.join();
  }
  std::string address = freeAddress();
};

TEST_F(Connections, RanksConnectInAnyOrder) {
  inThreads(5, [&](int rank) {
    // The listening rank 0 starts last.
    std::this_thread::sleep_for(Milliseconds(10 * (4 - rank)));
    TestRank test = connect(rank, 5);
    gather(test);
  });
}

/// Other connections are ignored and do not delay the ranks.
TEST_F(Connections, StrangersAreIgnored) {
  std::atomic<bool> isOver = false;
  std::thread strangers([&] {
    Endpoint endpoint;
    ASSERT_FALSE(parseEndpoint(address, endpoint));
    std::vector<Socket> open;
    for (int i = 0; !isOver; ++i) {
      Socket socket;
      Deadline soon = Clock::now() + Milliseconds(10);
      if (connectTo(endpoint, soon, socket) && i % 2)
        sendAll(socket,
                "GET / HTTP/1.1\r\nHost: here\r\nAccept: */*\r\n\r\n"
                "and so on, to be longer than what a rank sends first, "
                "which has a name of a group that may be long",
                140, soon);
      open.push_back(std::move(socket));
      std::this_thread::sleep_for(Milliseconds(1));
    }
  });
  inThreads(3, [&](int rank) {
    std::this_thread::sleep_for(Milliseconds(30 * rank));
    TestRank test = connect(rank, 3);
    gather(test);
  });
  isOver = true;
  strangers.join();
}

/// Two groups connect to the same address in sequence.
TEST_F(Connections, GroupsWithOneAddressTakeTurns) {
  inThreads(4, [&](int i) {
    int rank = i % 2;
    if (rank == 0) {
      // This thread is rank 0 of both groups in sequence.
      if (i == 0)
        for (const char *name : {"first", "second"}) {
          TestRank test = connect(0, 2, kLong, name);
          gather(test);
        }
      return;
    }
    TestRank test = connect(1, 2, kLong, i == 1 ? "second" : "first");
    gather(test);
  });
}

TEST_F(Connections, MissingRanksAreNamed) {
  inThreads(2, [&](int rank) {
    auto begin = Clock::now();
    TestRank test = connect(rank ? 2 : 0, 4, Milliseconds(300));
    EXPECT_EQ(test.created, MX_ERROR_TIMEOUT);
    EXPECT_EQ(test.error, "group ep: ranks 1 and 3 did not connect to rank 0 "
                          "at " +
                              address + " (waited 0.3 s)");
    EXPECT_LT(Clock::now() - begin, Milliseconds(2300));
  });
}

TEST_F(Connections, RankZeroIsMissing) {
  TestRank test = connect(1, 2, Milliseconds(200));
  EXPECT_EQ(test.created, MX_ERROR_TIMEOUT);
  EXPECT_EQ(test.error, "group ep: rank 0 does not answer at " + address +
                            " (rank 1 waited 0.2 s)");
}

TEST_F(Connections, DifferentSizesAreNamed) {
  inThreads(2, [&](int rank) {
    TestRank test = connect(rank, rank ? 3 : 2);
    EXPECT_EQ(test.created, MX_ERROR_MISMATCH);
    std::string begin =
        "group ep: the ranks differ: rank 0 expects 2 ranks and sends ";
    EXPECT_EQ(test.error.substr(0, begin.size()), begin);
    EXPECT_TRUE(contains(test.error, {"rank 1 expects 3 ranks"}));
  });
}

TEST_F(Connections, DuplicateRanksAreNamed) {
  inThreads(3, [&](int i) {
    // Both processes with rank 1 report the error, and so does rank 0.
    TestRank test = connect(i ? 1 : 0, 3);
    EXPECT_EQ(test.created, MX_ERROR_INVALID_VALUE);
    EXPECT_EQ(test.error,
              "group ep: expected ranks 1 to 2 once each, found rank 1 twice");
  });
}

TEST_F(Connections, AddressesAreChecked) {
  for (const char *wrong : {"", "localhost", "localhost:", ":80", "here:0",
                            "here:65536", "here:80x", "here:-1"}) {
    address = wrong;
    TestRank test = connect(1, 2);
    EXPECT_EQ(test.created, MX_ERROR_INVALID_VALUE);
    EXPECT_EQ(test.error, "expected an address \"host:port\", found '" +
                              std::string(wrong) + "'");
  }
  // The address belongs to another machine, so rank 0 cannot listen there.
  address = "192.0.2.1:80";
  TestRank test = connect(0, 2);
  EXPECT_EQ(test.created, MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(test.error.substr(0, 36), "cannot listen at 192.0.2.1:80: Canno");
}

TEST_F(Connections, AnAddressInUseIsRefused) {
  Endpoint endpoint;
  ASSERT_FALSE(parseEndpoint(address, endpoint));
  Socket taken;
  ASSERT_FALSE(listenAt(endpoint, 1, taken));
  TestRank test = connect(0, 2);
  EXPECT_EQ(test.created, MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(test.error,
            "cannot listen at " + address + ": Address already in use");
}

TEST(Endpoints, AreParsed) {
  Endpoint endpoint;
  ASSERT_FALSE(parseEndpoint("node0:29500", endpoint));
  EXPECT_EQ(endpoint.host, "node0");
  EXPECT_EQ(endpoint.port, 29500);
  ASSERT_FALSE(parseEndpoint("[::1]:80", endpoint));
  EXPECT_EQ(endpoint.host, "::1");
  EXPECT_EQ(endpoint.port, 80);
}

} // namespace
