//===- MemoryTest.cpp - Failure of every allocation -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library uses this program's operator new, which refuses the first request
// of a call, then the second request when the call is repeated, and so on until
// the call succeeds. Each failed call must return an error and leave the
// library usable.
//===----------------------------------------------------------------------===//

#include "Mgpu.h"
#include "ProgramFiles.h"
#include "Ranks.h"
#include "Simulator.h"

#include "mx_program.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace {

constexpr size_t kSize = sizeof(mxArgument);
/// Number of requests granted before the first refusal.
std::atomic<int64_t> granted{INT64_MAX};
/// Number of requests refused afterwards.
std::atomic<int64_t> refused{0};

/// The same counts for the current thread alone.
thread_local int64_t grantedHere = INT64_MAX, refusedHere = 0;

bool isRefused() {
  if (grantedHere != INT64_MAX && grantedHere-- <= 0 && refusedHere-- > 0)
    return true;
  return granted.load(std::memory_order_relaxed) != INT64_MAX &&
         granted.fetch_sub(1) <= 0 && refused.fetch_sub(1) > 0;
}
} // namespace

[[gnu::noinline]] void *operator new(size_t bytes) {
  void *memory = isRefused() ? nullptr : std::malloc(bytes ? bytes : 1);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void *operator new(size_t bytes, std::align_val_t align) {
  size_t unit = size_t(align), size = (bytes + unit) / unit * unit;
  void *memory = isRefused() ? nullptr : std::aligned_alloc(unit, size);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory,
                                       std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, size_t,
                                       std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

class Memory : public Simulator {
protected:
  static void SetUpTestSuite() {
    Simulator::SetUpTestSuite();
    kernels = readKernels();
  }

  /// Repeats `call` until it succeeds. In repetition n, grants n requests and
  /// then refuses `count` requests. `call` returns a status and must clean up
  /// after an error. Returns the number of repetitions that failed, so that
  /// tests can check that the call allocates.
  template <class Call>
  int64_t refuseInTurn(int64_t count, Call call) {
    for (int64_t n = 0;; ++n) {
      refused = count;
      granted = n;
      int status = call();
      int64_t left = granted.exchange(INT64_MAX);
      if (left >= 0) { // the call needed fewer requests
        EXPECT_EQ(status, MX_SUCCESS) << mxGetLastError();
        return n;
      }
      EXPECT_EQ(status, MX_ERROR_OUT_OF_MEMORY) << "request " << n;
      EXPECT_EQ(mxGetLastStatus(), MX_ERROR_OUT_OF_MEMORY) << "request " << n;
      EXPECT_NE(strstr(mxGetLastError(), "out of memory"), nullptr)
          << mxGetLastError();
      mxClearError();
      if (status != MX_ERROR_OUT_OF_MEMORY)
        return -1;
    }
  }
  /// Tests `call` with a single refused request, then with all requests refused
  /// from some point on.
  template <class Call>
  void refuseAll(Call call) {
    for (int64_t count : {int64_t(1), INT64_MAX})
      EXPECT_GT(refuseInTurn(count, call), 0);
  }

  static std::string kernels;
};
std::string Memory::kernels;

TEST_F(Memory, Modules) {
  refuseAll([&] {
    mxModule module = nullptr;
    mxFunction function = nullptr;
    int status =
        mxModuleLoad(&module, kernels.c_str(), 0, "a/long/kernels.ptx");
    if (!status)
      status = mxModuleGetFunction(&function, module, "vector_add");
    EXPECT_EQ(status == MX_SUCCESS, function != nullptr);
    mxModuleUnload(module);
    return status;
  });
}

TEST_F(Memory, StreamsAndAllocations) {
  refuseAll([] {
    mxStream stream = nullptr;
    void *memory = nullptr;
    int status = mxStreamCreate(&stream);
    if (!status)
      status = mxMemAlloc(&memory, 1 << 20);
    EXPECT_EQ(status == MX_SUCCESS, memory != nullptr);
    mxMemFree(memory);
    if (stream)
      mxStreamDestroy(stream);
    return status;
  });
}

TEST_F(Memory, SharedMemory) {
  refuseAll([] {
    void *shared = mgpuMemAlloc(1000, nullptr, true);
    int status = mxGetLastStatus();
    EXPECT_EQ(status == MX_SUCCESS, shared != nullptr);
    mgpuMemFree(shared, nullptr);
    return status;
  });
}

TEST_F(Memory, Programs) {
  ProgramFiles files("vector_add", "false");
  files.write("kernels.ptx", kernels);
  constexpr int64_t n = 1024;
  void *buffers[3], *workspace;
  std::vector<float> x(n, 1.5f), z(n);
  for (void *&buffer : buffers) {
    ASSERT_SUCCESS(mxMemAlloc(&buffer, n * 4));
    ASSERT_SUCCESS(mxMemcpyToDevice(buffer, x.data(), n * 4, nullptr));
  }
  ASSERT_SUCCESS(mxMemAlloc(&workspace, n * 8));
  // With eight blocks, threads of the simulator also allocate.
  refuseAll([&] {
    mxProgram program = nullptr;
    mxEntry entry = nullptr;
    int32_t count = n;
    mxArgument arguments[] = {{kSize, buffers[0], &n},
                              {kSize, buffers[1], &n},
                              {kSize, &count, nullptr}};
    int status = mxProgramLoad(&program, files.path.c_str());
    if (!status)
      status = mxProgramGetEntry(&entry, program, "sum");
    if (!status)
      status = mxEntryLaunch(entry, arguments, 3, &buffers[2], 1, workspace,
                             n * 8, nullptr);
    mxProgramUnload(program);
    return status;
  });
  ASSERT_SUCCESS(mxMemcpyToHost(z.data(), buffers[2], n * 4, nullptr));
  EXPECT_EQ(z, std::vector<float>(n, 3.0f));
  for (void *buffer : buffers)
    EXPECT_SUCCESS(mxMemFree(buffer));
  EXPECT_SUCCESS(mxMemFree(workspace));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

using Call = std::function<int(mxGroup)>;

/// Runs `call` on two ranks. Rank 0 is granted `grants` requests, then `count`
/// requests are refused. Returns false once the call succeeds without a
/// refusal.
bool refuseOneRank(int64_t count, int64_t grants, const Call &call) {
  ThreadExchange over(2);
  bool isRefused = false;
  int first[2] = {}, again[2] = {}, culprit = -1;
  runRanks(
      2, std::chrono::seconds(10),
      [&](TestRank &test) {
        ASSERT_EQ(test.created, MX_SUCCESS) << test.error;
        auto begin = std::chrono::steady_clock::now();
        if (test.rank == 0) {
          grantedHere = grants;
          refusedHere = count;
          first[0] = call(test.group);
          isRefused = std::exchange(grantedHere, INT64_MAX) < 0;
        } else {
          first[1] = call(test.group);
          culprit = test.report().rank;
          EXPECT_LT(std::chrono::steady_clock::now() - begin,
                    std::chrono::seconds(4));
        }
        // Both ranks then make the same call.
        again[test.rank] = call(test.group);
        over.meet(test.rank);
      },
      nullptr, 1);
  if (!isRefused) {
    EXPECT_EQ(first[0], MX_SUCCESS);
    EXPECT_EQ(first[1], MX_SUCCESS);
    return false;
  }
  EXPECT_EQ(first[0], MX_ERROR_OUT_OF_MEMORY) << "request " << grants;
  if (again[0] != MX_SUCCESS) {
    // Without memory for a message, rank 0 only closes its connections.
    EXPECT_TRUE(again[0] == MX_ERROR_PEER ||
                (count > 1 && again[0] == MX_ERROR_OUT_OF_MEMORY));
    // Only rank 0 allocates after the data is exchanged.
    EXPECT_TRUE(first[1] == MX_ERROR_PEER ? culprit == 0
                                          : first[1] == MX_SUCCESS);
    EXPECT_EQ(again[1], MX_ERROR_PEER);
  } else { // Both ranks fail, the group survives.
    EXPECT_EQ(first[1], MX_ERROR_OUT_OF_MEMORY) << "request " << grants;
    EXPECT_EQ(again[1], MX_SUCCESS);
  }
  return true;
}

void refuseOneRank(const Call &call) {
  for (int64_t count : {int64_t(1), INT64_MAX}) {
    int64_t grants = 0;
    while (refuseOneRank(count, grants, call) && !testing::Test::HasFailure())
      ++grants;
    EXPECT_GT(grants, 2);
  }
}

TEST_F(Memory, AllGather) {
  refuseOneRank([](mxGroup group) {
    char window[64] = {};
    return mxGroupAllGather(group, window, 32, nullptr);
  });
}

TEST_F(Memory, AllToAll) {
  refuseOneRank([](mxGroup group) {
    char from[64] = {}, to[64] = {};
    return mxGroupAllToAll(group, from, to, 32, nullptr);
  });
}

TEST_F(Memory, Windows) {
  refuseOneRank(
      [](mxGroup group) { return mxGroupReserveWindows(group, 4096); });
  refuseOneRank([](mxGroup group) {
    static char memory[64];
    return mxGroupAdoptWindows(group, memory, sizeof(memory));
  });
}

/// Returns the error of an oversized allocation, which states the bytes in use.
std::string bytesInUse() {
  void *memory = nullptr;
  EXPECT_EQ(mxMemAlloc(&memory, SIZE_MAX), MX_ERROR_OUT_OF_MEMORY);
  std::string text = mxGetLastError();
  mxClearError();
  return text;
}

TEST_F(Memory, ModuleVariablesAreFreed) {
  std::string before = bytesInUse();
  for (const char *image :
       {".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".global .b8 large[1048576];\n.visible .entry k() { ret; }\n",
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".global .b8 first[1048576];\n"
        ".global .b8 second[1152921504606846976];\n"
        ".visible .entry k() { ret; }\n"}) {
    mxModule module = nullptr;
    mxModuleLoad(&module, image, 0, "variables.ptx");
    mxModuleUnload(module);
    mxClearError();
    EXPECT_EQ(bytesInUse(), before);
  }
}

TEST_F(Memory, OverflowingSizes) {
  void *memory = nullptr;
  ASSERT_SUCCESS(mxMemAlloc(&memory, 64));
  for (size_t count : {size_t(1) << 62, size_t(1) << 63, ~size_t(0)}) {
    mgpuMemset32(memory, 1, count, nullptr);
    EXPECT_EQ(takeStatus(), MX_ERROR_INVALID_VALUE) << count;
    mgpuMemset16(memory, 1, count, nullptr);
    EXPECT_EQ(takeStatus(), MX_ERROR_INVALID_VALUE) << count;
    EXPECT_NE(mxMemset(memory, 1, count, nullptr), MX_SUCCESS);
    mxClearError();
    void *other = nullptr;
    EXPECT_EQ(mxMemAlloc(&other, count), MX_ERROR_OUT_OF_MEMORY);
    mxClearError();
    EXPECT_EQ(mgpuMemAlloc(count, nullptr, true), nullptr);
    EXPECT_EQ(takeStatus(), MX_ERROR_OUT_OF_MEMORY) << count;
    mxModule module = nullptr;
    EXPECT_EQ(mxModuleLoad(&module,
                           "\x7f"
                           "ELF...",
                           count, "huge.cubin"),
              MX_ERROR_INVALID_VALUE);
    EXPECT_NE(strstr(mxGetLastError(), "expected sizes that fit in memory"),
              nullptr)
        << mxGetLastError();
    mxClearError();
  }
  EXPECT_SUCCESS(mxMemFree(memory));
}

} // namespace
