//===- NcclTransportTest.cpp - Groups of GPUs over a fake NCCL ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeCuda supports a single caller at a time, so each rank is a process.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "GroupFiles.h"
#include "Ranks.h"
#include "mx_program.h"

#include "../../runtime/lib/group/Collectives.h"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mx::runtime;
using Log = std::vector<std::string>;

namespace {

constexpr size_t kWindows = 1 << 20;

std::string freeAddress() {
  int number = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  socklen_t length = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  EXPECT_EQ(bind(number, any, length), 0);
  EXPECT_EQ(getsockname(number, any, &length), 0);
  close(number);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

/// Runs `body` for each rank in a separate process with the library of the
/// rank. Reserves windows for transport "peer". Expects that SIGKILL ends rank
/// `killed`.
void runRanks(int size, double seconds,
              const std::function<const char *(int)> &library,
              const std::function<void(TestRank &)> &body, int killed = -1,
              const char *transport = nullptr) {
  std::string address = freeAddress();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < size; ++rank) {
    pid_t process = fork();
    processes.push_back(process);
    if (process)
      continue;
    setenv("MX_CUDA_DRIVER", MX_FAKE_CUDA, 1);
    setenv("MX_NCCL_LIBRARY", library(rank), 1);
    mxSetErrorPolicy(MX_ERRORS_RETURN);
    EXPECT_SUCCESS(mxSetDevice("cuda"));
    mxGroupConfig config =
        configOf(rank, size, std::chrono::nanoseconds(int64_t(seconds * 1e9)));
    config.transport = transport;
    TestRank test = connectTo(address, config);
    if (test.group && std::string(transport ? transport : "auto") == "peer") {
      EXPECT_SUCCESS(mxGroupReserveWindows(test.group, kWindows));
    }
    body(test);
    EXPECT_SUCCESS(mxGroupDestroy(test.group));
    _exit(testing::Test::HasFailure());
  }
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    ASSERT_EQ(waitpid(processes[size_t(rank)], &status, 0),
              processes[size_t(rank)]);
    if (rank == killed)
      EXPECT_TRUE(WIFSIGNALED(status)) << status;
    else
      EXPECT_EQ(status, 0) << "rank " << rank;
  }
}

const char *current(int) { return MX_FAKE_NCCL; }

mxGroupInfo infoOf(const TestRank &test) {
  mxGroupInfo info = mxSized<mxGroupInfo>();
  EXPECT_SUCCESS(mxGroupGetInfo(test.group, &info));
  return info;
}

/// Runs an all_gather and an all_to_all of `n` bytes and checks both results.
/// Receives in the windows of the group if there are any.
int work(const TestRank &test, size_t n, mxStream stream = nullptr) {
  size_t all = n * size_t(test.size);
  std::vector<void *> blocks;
  auto allocate = [&] {
    EXPECT_SUCCESS(mxMemAlloc(&blocks.emplace_back(), all));
    // The fake driver uses host memory.
    return static_cast<uint8_t *>(blocks.back());
  };
  auto *windows = static_cast<uint8_t *>(infoOf(test).windows);
  uint8_t *window = windows ? windows : allocate(), *from = allocate(),
          *to = windows ? windows + kWindows / 2 : allocate();
  for (size_t i = 0; i < all; ++i) {
    window[i] = i / n == size_t(test.rank) ? uint8_t(test.rank + 1) : 0xEE;
    from[i] = uint8_t(16 * test.rank + int(i / n));
  }
  int status = mxGroupAllGather(test.group, window, n, stream);
  if (!status)
    status = mxGroupAllToAll(test.group, from, to, n, stream);
  size_t wrong = 0;
  for (size_t i = 0; i < all && !status; ++i)
    wrong +=
        window[i] != i / n + 1 || to[i] != 16 * (i / n) + size_t(test.rank);
  // Kernels of a failing group end early, before the failure is reported.
  for (int i = 0; wrong && !status && i < 5000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    status = test.report().status;
  }
  EXPECT_TRUE(!wrong || status) << wrong << " of " << all << " bytes";
  for (void *block : blocks)
    EXPECT_SUCCESS(mxMemFree(block));
  return status;
}

void expectText(const TestRank &test, const char *begin) {
  EXPECT_EQ(std::string(test.report().text).substr(0, strlen(begin)), begin);
}

/// Runs ranks with both transports that report failures in the same way.
void runBoth(int size, double seconds,
             const std::function<void(TestRank &)> &body, int killed = -1) {
  for (const char *transport : {"nccl", "peer"})
    runRanks(size, seconds, current, body, killed, transport);
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

TEST(NcclTransport, MovesSegments) {
  for (int size : {2, 4})
    for (const char *library : {MX_FAKE_NCCL, MX_FAKE_NCCL_27})
      runRanks(
          size, 20, [&](int) { return library; },
          [&](TestRank &test) {
            ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
            mxGroupInfo info = infoOf(test);
            EXPECT_STREQ(info.transport, "nccl");
            EXPECT_EQ(info.ncclVersion,
                      library == std::string(MX_FAKE_NCCL) ? 22809 : 22705);
            for (size_t n : {0, 1, 100, 65536})
              EXPECT_SUCCESS(work(test, n));
          });
}

/// A collective only adds two fills of status words and never blocks.
/// Returns the calls that order streams and events after the last launch on
/// stream 80.
Log orderOf(const Log &log) {
  Log order;
  for (const std::string &line : log)
    if (line.find("cuEventRecord") == 0 || line.find("cuStreamWaitEvent") == 0)
      order.push_back(line);
    else if (line.find("cuLaunchKernelEx") == 0 &&
             line.find("stream=80") != std::string::npos)
      order = {"launch"};
  return order;
}

TEST(NcclTransport, RunsBesideTheStream) {
  runRanks(2, 20, current, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    fakeCuda()->kernels = {"vector_add"};
    fakeCuda()->parameters = 4;
    mxProgram program = nullptr;
    const char ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n";
    ASSERT_SUCCESS(mxProgramLoadData(&program, kGroupManifest,
                                     strlen(kGroupManifest), ptx, strlen(ptx),
                                     "kernels.ptx"));
    ASSERT_SUCCESS(mxProgramBindGroup(program, "ep", test.group));
    mxEntry entry = nullptr;
    ASSERT_SUCCESS(mxProgramGetEntry(&entry, program, "exchange"));
    alignas(256) static uint8_t memory[4][512];
    const int64_t xShape[] = {64}, yShape[] = {2, 64};
    mxArgument arguments[] = {{sizeof(mxArgument), memory[0], xShape},
                              {sizeof(mxArgument), memory[1], yShape}};
    int64_t number = -1;
    void *results[] = {memory[2], &number};
    mxStream stream = nullptr;
    ASSERT_SUCCESS(mxStreamCreate(&stream));
    for (int round = 0; round < 2; ++round) {
      fakeCuda()->log.clear();
      EXPECT_SUCCESS(mxEntryLaunch(entry, arguments, 2, results, 2, memory[3],
                                   512, stream));
      // The lane is stream 88.
      EXPECT_EQ(orderOf(fakeCuda()->log),
                (Log{"launch", "cuEventRecord 96 80", "cuStreamWaitEvent 88 96",
                     "cuEventRecord 96 88", "cuStreamWaitEvent 80 96"}));
    }
    EXPECT_SUCCESS(mxStreamDestroy(stream));
    EXPECT_SUCCESS(mxProgramUnload(program));
  });
}

TEST(NcclTransport, CollectivesAddOnlyFillsToTheStream) {
  runRanks(2, 20, current, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    void *window = nullptr;
    ASSERT_SUCCESS(mxMemAlloc(&window, 64));
    fakeCuda()->log.clear();
    EXPECT_SUCCESS(mxGroupAllGather(test.group, window, 32, nullptr));
    EXPECT_EQ(fakeCuda()->log,
              (Log{"cuMemsetD32Async 1", "cuMemsetD32Async 2"}));
    EXPECT_SUCCESS(mxMemFree(window));
  });
}

TEST(NcclTransport, LateRanksAreNamed) {
  runBoth(3, 0.5, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    if (test.rank == 1) {
      while (!test.report().status)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(work(test, 100), MX_ERROR_TIMEOUT);
    EXPECT_EQ(test.report().rank, 1);
    expectText(test, "group ep: rank 1 did not arrive at all_gather "
                     "(collective ");
  });
}

TEST(NcclTransport, ADifferentOrderIsAMismatch) {
  runRanks(2, 0.5, current, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    void *blocks[2];
    for (void *&block : blocks)
      ASSERT_SUCCESS(mxMemAlloc(&block, 256));
    // The fake NCCL does not enforce NCCL's rules: rank 1 stays in a second
    // collective.
    int status = mxGroupAllGather(test.group, blocks[0], 64, nullptr);
    if (!status && test.rank)
      status = mxGroupAllToAll(test.group, blocks[0], blocks[1], 64, nullptr);
    while (!test.rank && !test.report().status)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(test.report().status, MX_ERROR_TIMEOUT);
    EXPECT_EQ(test.report().rank, 0);
    expectText(test, "group ep: rank 0 did not arrive at all_to_all");
  });
}

TEST(NcclTransport, AnAbortEndsTheOthers) {
  runBoth(3, 20, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    // All ranks created the group; it may fail before this call ends.
    (void)work(test, 8);
    if (test.rank == 2) {
      EXPECT_SUCCESS(mxGroupAbort(test.group, "no more tokens"));
    }
    EXPECT_EQ(work(test, 100), MX_ERROR_PEER);
    EXPECT_TRUE(contains(test.report().text, {"no more tokens"}));
  });
}

TEST(NcclTransport, KilledProcessesAreNamed) {
  runBoth(
      3, 20,
      [](TestRank &test) {
        ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
        for (int i = 0; test.rank != 2 || i < 20; ++i)
          if (work(test, 1000))
            break;
        if (test.rank == 2)
          raise(SIGKILL);
        EXPECT_EQ(test.report().status, MX_ERROR_PEER);
        EXPECT_EQ(test.report().rank, 2);
        expectText(test, "group ep: rank 2 left ");
      },
      /*killed=*/2);
}

TEST(NcclTransport, NcclErrorsEndTheGroup) {
  runRanks(2, 20, current, [](TestRank &test) {
    ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
    // All ranks created the group; it may fail before this call ends.
    (void)work(test, 8);
    void *window = nullptr;
    ASSERT_SUCCESS(mxMemAlloc(&window, 2 * 666));
    // The kernel fails after its launching call returns; the watchdog detects
    // the failure.
    (void)mxGroupAllGather(test.group, window, 666, nullptr);
    for (int i = 0; i < 1000 && !test.report().status; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_NE(work(test, 8), MX_SUCCESS);
    EXPECT_SUCCESS(mxMemFree(window));
    EXPECT_TRUE(contains(test.report().text,
                         {"failed: NCCL 2.28.9 says as the test wished"}));
  });
}

/// Exchanges through the host if NCCL is missing and the test requests it.
TEST(NcclTransport, HostTransportMovesSegments) {
  runRanks(
      3, 20, [](int) { return "/no/such/nccl.so"; },
      [](TestRank &test) {
        ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
        for (size_t n : {0, 1, 100000})
          EXPECT_SUCCESS(work(test, n));
        // All ranks completed the loop; the first refusal may end this call
        // early.
        (void)work(test, 8);
        mxStream stream = nullptr;
        void *window = nullptr;
        ASSERT_SUCCESS(mxStreamCreate(&stream));
        ASSERT_SUCCESS(mxMemAlloc(&window, 96));
        fakeCuda()->capturing = stream;
        int status = mxGroupAllGather(test.group, window, 32, stream);
        fakeCuda()->capturing = nullptr;
        // Whichever rank refuses first ends the group for the other ranks.
        EXPECT_TRUE(status == MX_ERROR_UNSUPPORTED || status == MX_ERROR_PEER);
        EXPECT_TRUE(
            contains(test.report().text,
                     {"expected a stream that no CUDA graph captures"}));
        EXPECT_SUCCESS(mxMemFree(window));
        EXPECT_SUCCESS(mxStreamDestroy(stream));
      },
      /*killed=*/-1, "host");
}

TEST(NcclTransport, VersionsAreChecked) {
  auto expect = [](auto library, int status, const std::string &text) {
    runRanks(2, 20, library, [&](TestRank &test) {
      EXPECT_EQ(test.created, status);
      EXPECT_TRUE(contains(test.error, {text}));
    });
  };
  expect([](int) { return MX_FAKE_NCCL_26; }, MX_ERROR_UNSUPPORTED,
         "group ep: rank 0 cannot take part: expected NCCL 2.27.0 or later, "
         "found 2.26.2 in " MX_FAKE_NCCL_26);
  expect([](int rank) { return rank ? MX_FAKE_NCCL_27 : MX_FAKE_NCCL; },
         MX_ERROR_MISMATCH,
         "group ep: the ranks differ in the version of NCCL: rank 0 has "
         "2.28.9, rank 1 has 2.27.5");
  expect([](int rank) { return rank ? "/no/such/nccl.so" : MX_FAKE_NCCL; },
         MX_ERROR_UNSUPPORTED,
         "group ep: rank 1 cannot take part: cannot load /no/such/nccl.so: ");
}

//===----------------------------------------------------------------------===//
// Windows of peers
//===----------------------------------------------------------------------===//

/// Larger than the segments of the fake NCCL.
constexpr size_t kLarge = 100000;

void runPeers(int size, const std::function<void(TestRank &)> &body) {
  runRanks(
      size, 20, current,
      [&](TestRank &test) {
        ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
        EXPECT_STREQ(infoOf(test).transport, "peer");
        body(test);
      },
      /*killed=*/-1, "peer");
}

/// A stream under capture receives kernels, copies and fills; nothing waits.
TEST(PeerWindows, MoveSegments) {
  for (int size : {2, 4})
    runPeers(size, [](TestRank &test) {
      mxStream stream = nullptr;
      ASSERT_SUCCESS(mxStreamCreate(&stream));
      // Replaced windows are mapped as well.
      for (size_t bytes : {kWindows, 2 * kWindows}) {
        EXPECT_SUCCESS(mxGroupReserveWindows(test.group, bytes));
        fakeCuda()->capturing = stream;
        fakeCuda()->log.clear();
        for (size_t n : {size_t(0), size_t(1), size_t(4096), kLarge})
          EXPECT_SUCCESS(work(test, n, stream));
        for (const std::string &call : fakeCuda()->log)
          EXPECT_EQ(call.find("Synchronize"), std::string::npos) << call;
      }
      EXPECT_STREQ(infoOf(test).transport, "peer");
    });
}

TEST(PeerWindows, AdoptedMemoryIsMapped) {
  for (const char *transport : {"auto", "peer"})
    runRanks(
        2, 20, current,
        [&](TestRank &test) {
          void *memory = nullptr;
          ASSERT_SUCCESS(mxMemAlloc(&memory, 2 * kWindows));
          // Offsets in the allocation differ.
          auto *windows = static_cast<char *>(memory) + 512 * (test.rank + 1);
          EXPECT_SUCCESS(mxGroupAdoptWindows(test.group, windows, kWindows));
          EXPECT_STREQ(infoOf(test).transport, "peer");
          EXPECT_SUCCESS(work(test, kLarge));
          // Host memory of one rank has no handle.
          std::vector<char> host(kWindows);
          int status = mxGroupAdoptWindows(
              test.group, test.rank ? host.data() : windows, kWindows);
          bool isRequired = transport == std::string("peer");
          EXPECT_EQ(status, isRequired ? MX_ERROR_NOT_FOUND : MX_SUCCESS);
          EXPECT_STREQ(infoOf(test).transport, isRequired ? "peer" : "nccl");
          EXPECT_SUCCESS(work(test, isRequired ? kLarge : 4096));
        },
        /*killed=*/-1, transport);
}

TEST(PeerWindows, BarriersOrderAccessesOfPeers) {
  runPeers(4, [](TestRank &test) {
    std::shared_ptr<Collectives> ranks;
    Device *device = nullptr;
    ASSERT_FALSE(findCollectives(test.group, ranks));
    ASSERT_FALSE(getCudaDevice(0, device));
    auto *mine = static_cast<char *>(ranks->windows());
    auto *distances = static_cast<const int64_t *>(ranks->peers());
    for (int round = 1; round < 20; ++round) {
      *mine = char(4 * round + test.rank);
      EXPECT_FALSE(ranks->barrier(*device, nullptr, "f", 1));
      for (int r = 0; r < test.size; ++r)
        EXPECT_EQ(mine[distances[r]], 4 * round + r);
      EXPECT_FALSE(ranks->barrier(*device, nullptr, "f", 2));
    }
  });
}

/// Lets the driver of rank 1 refuse a call before the group is created.
std::function<const char *(int)> without(const char *call) {
  return [call](int rank) {
    fakeCuda()->failing = rank == 1 ? call : "";
    fakeCuda()->failure = 801; // CUDA_ERROR_NOT_SUPPORTED
    return MX_FAKE_NCCL;
  };
}

TEST(PeerWindows, ARefusalOfOneRankIsAgreed) {
  auto expectNccl = [](TestRank &test) {
    EXPECT_SUCCESS(mxGroupReserveWindows(test.group, kWindows));
    EXPECT_STREQ(infoOf(test).transport, "nccl");
    EXPECT_SUCCESS(work(test, 4096));
  };
  runRanks(2, 20, current, expectNccl, /*killed=*/-1, "nccl");
  for (const char *call : {"cuIpcGetMemHandle", "cuIpcOpenMemHandle"}) {
    runRanks(3, 20, without(call), expectNccl);
    runRanks(3, 20, current, [&](TestRank &test) {
      without(call)(test.rank);
      expectNccl(test);
      // Larger windows are mapped.
      EXPECT_SUCCESS(mxGroupReserveWindows(test.group, 2 * kWindows));
      EXPECT_STREQ(infoOf(test).transport, "peer");
    });
    runRanks(
        3, 20, without(call),
        [](TestRank &test) {
          // Whichever rank refuses first ends the group for the other ranks.
          EXPECT_TRUE(test.created == MX_ERROR_DRIVER ||
                      test.created == MX_ERROR_PEER);
          EXPECT_TRUE(contains(
              test.error,
              {"group ep: rank 1: ", "failed: CUDA_ERROR_801 ",
               ": transport peer needs GPUs of one machine that access each "
               "other, a process for each rank, and windows from cuMemAlloc"}));
        },
        /*killed=*/-1, "peer");
  }
}

TEST(PeerWindows, DifferentOffsetsAreAMismatch) {
  runPeers(2, [](TestRank &test) {
    auto *windows = static_cast<char *>(infoOf(test).windows);
    (void)mxGroupAllGather(test.group, windows + 256 * test.rank, 64, nullptr);
    for (int i = 0; i < 5000 && !test.report().status; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(test.report().status, MX_ERROR_MISMATCH);
    expectText(test, "group ep: the ranks differ: rank ");
    EXPECT_TRUE(
        contains(test.report().text,
                 {" is at all_gather (collective ",
                  " has another collective, size or offset in windows"}));
  });
}

} // namespace
