//===- Ranks.h - Threads as ranks of a group --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_RANKS_H
#define MX_UNITTESTS_RUNTIME_RANKS_H

#include "Status.h"
#include "mx_group.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

inline constexpr int kSimDevices = 3;

/// Exchange function between threads of the test, each of them a rank.
class ThreadExchange {
public:
  explicit ThreadExchange(int size) : size(size) {}
  struct Rank {
    ThreadExchange *exchange;
    int rank;
  };
  static int call(void *user, const void *mine, size_t bytes, void *all) {
    auto *rank = static_cast<Rank *>(user);
    return rank->exchange->gather(rank->rank, mine, bytes, all);
  }
  /// Waits until all ranks arrive.
  void meet(int rank) {
    std::vector<char> all(static_cast<size_t>(size));
    EXPECT_EQ(gather(rank, "", 1, all.data()), 0);
  }

private:
  int gather(int rank, const void *mine, size_t bytes, void *all) {
    std::unique_lock<std::mutex> lock(mutex);
    bytesOfAll.resize(size_t(size) * bytes);
    memcpy(&bytesOfAll[size_t(rank) * bytes], mine, bytes);
    ++count;
    changed.notify_all();
    if (!changed.wait_for(lock, std::chrono::seconds(20),
                          [&] { return count >= size; }))
      return 1;
    memcpy(all, bytesOfAll.data(), bytesOfAll.size());
    return 0;
  }

  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<char> bytesOfAll;
  int count = 0;
};

/// State of a rank in a test.
struct TestRank {
  int rank = 0, size = 1;
  mxGroup group = nullptr;
  int created = MX_SUCCESS;
  /// Error message of the creation.
  std::string error;

  mxGroupReport report() const {
    mxGroupReport report = mxSized<mxGroupReport>();
    report.text = report.entry = "no report";
    EXPECT_SUCCESS(mxGroupGetStatus(group, &report));
    return report;
  }
};

/// Returns the configuration for a rank of group "ep".
inline mxGroupConfig configOf(int rank, int size,
                              std::chrono::nanoseconds timeout) {
  mxGroupConfig config = mxSized<mxGroupConfig>();
  config.name = "ep";
  config.rank = rank;
  config.size = size;
  config.timeoutNs = uint64_t(timeout.count());
  return config;
}

/// Connects a rank in the calling thread.
inline TestRank connectTo(const std::string &address,
                          const mxGroupConfig &config) {
  TestRank test;
  test.rank = config.rank;
  test.size = config.size;
  test.created = mxGroupConnect(&test.group, &config, address.c_str());
  test.error = test.created ? mxGetThreadError() : "";
  return test;
}

/// Creates a group, then runs `body` for each rank in its own thread. `change`
/// may modify the configuration of a rank.
inline void
runRanks(int size, std::chrono::milliseconds timeout,
         const std::function<void(TestRank &)> &body,
         const std::function<void(int, mxGroupConfig &)> &change = nullptr,
         int devices = kSimDevices) {
  ThreadExchange exchange(size), made(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadExchange::Rank user = {&exchange, rank};
      mxSetThreadDevice(("sim:" + std::to_string(rank % devices)).c_str());
      mxGroupConfig config = configOf(rank, size, timeout);
      config.exchange = ThreadExchange::call;
      config.user = &user;
      if (change)
        change(rank, config);
      TestRank test;
      test.rank = rank;
      test.size = size;
      test.created = mxGroupCreate(&test.group, &config);
      if (test.created)
        test.error = mxGetThreadError();
      made.meet(rank);
      body(test);
      EXPECT_SUCCESS(mxGroupDestroy(test.group));
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Fixture with simulated devices and no GPU.
class Groups : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("MX_SIM_DEVICES", std::to_string(kSimDevices).c_str(), 1);
    setenv("MX_CUDA_DRIVER", "/no/such/libcuda.so", 1);
    mxSetErrorPolicy(MX_ERRORS_RETURN);
  }
};

/// Sufficient time-out on a slow machine.
inline constexpr std::chrono::milliseconds kLong = std::chrono::seconds(20);

#endif // MX_UNITTESTS_RUNTIME_RANKS_H
