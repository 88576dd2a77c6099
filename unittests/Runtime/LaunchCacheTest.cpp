//===- LaunchCacheTest.cpp - Repeated calls -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread caches the commands of its latest calls, and a new thread computes
// all commands. Whatever a thread called before, it must make the same driver
// calls and report the same errors as a new thread.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "LaunchCacheFiles.h"
#include "Status.h"
#include "mx_program.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace {

constexpr size_t kSize = sizeof(mxArgument);

constexpr size_t kPlaceBytes = 2048, kPlaces = 8;

/// Inputs of a call. The defaults form a valid call.
struct Words {
  int entry = 0, program = 0;
  int64_t rows = 8, n = 3;
  float s = 0.5f;
  /// Byte offsets in the memory of the test; -1 is an invalid address.
  int64_t x = 0, w = 2048, y = 4096, workspace = 6144;
  size_t workspaceBytes = 1024;
  bool hasTotal = true, hasShapes = true;
  int32_t argumentCount = 4, resultCount = 2;
  mxStream stream = nullptr;
};

/// Result of a call.
struct Outcome {
  int status;
  std::string error;
  int64_t total;
  /// Driver calls, without the encoding of tensor maps.
  std::vector<std::string> log;
  size_t encodedMaps;
  std::vector<uint8_t> memory;

  bool operator==(const Outcome &other) const {
    return status == other.status && error == other.error &&
           total == other.total && log == other.log && memory == other.memory;
  }
};

std::ostream &operator<<(std::ostream &out, const Outcome &outcome) {
  out << "status " << outcome.status << " '" << outcome.error << "' total "
      << outcome.total;
  for (const std::string &line : outcome.log)
    out << "\n  " << line;
  return out;
}

class LaunchCache : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("MX_CUDA_DRIVER", MX_FAKE_CUDA, 1); }
  void SetUp() override {
    mxSetErrorPolicy(MX_ERRORS_RETURN);
    mxClearError();
    *fakeCuda() = FakeCuda();
    fakeCuda()->parameters = 8;
    ASSERT_SUCCESS(mxSetDevice("cuda"));
    for (size_t i = 0; i < std::size(programs); ++i)
      load(i);
    memory.resize(kPlaces * kPlaceBytes + 256);
    base = reinterpret_cast<uint8_t *>(
        (reinterpret_cast<uintptr_t>(memory.data()) + 255) / 256 * 256);
  }
  void TearDown() override {
    for (mxProgram program : programs)
      EXPECT_SUCCESS(mxProgramUnload(program));
    EXPECT_EQ(fakeCuda()->liveAllocations, 0);
    EXPECT_EQ(int(fakeCuda()->contexts.size()), 0);
  }
  void load(size_t i) {
    static const std::string manifest = kept::makeManifest();
    const char kernels[] = ".version 8.0\n.target sm_90a\n.address_size 64\n";
    const std::vector<uint8_t> constants(256, 1);
    mxProgramParts parts = {sizeof(mxProgramParts), manifest.data(),
                            manifest.size(),        kernels,
                            sizeof kernels,         constants.data(),
                            constants.size(),       "kernels.ptx"};
    ASSERT_SUCCESS(mxProgramLoadParts(&programs[i], &parts));
  }
  void *at(int64_t place) { return place < 0 ? nullptr : base + place; }

  /// Calls the entry in this thread.
  Outcome call(const Words &words) {
    mxEntry entry = nullptr;
    EXPECT_SUCCESS(
        mxProgramGetEntryAt(&entry, programs[words.program], words.entry));
    const int64_t xShape[] = {words.rows, 64}, wShape[] = {64, 64};
    mxArgument arguments[] = {
        {kSize, at(words.x), words.hasShapes ? xShape : nullptr},
        {kSize, at(words.w), wShape},
        {kSize, const_cast<int64_t *>(&words.n), nullptr},
        {kSize, const_cast<float *>(&words.s), nullptr}};
    Outcome outcome = {};
    // The address of the number is an input of the call, so it must not change.
    total = 0;
    void *results[] = {at(words.y), words.hasTotal ? &total : nullptr};
    fakeCuda()->log.clear();
    outcome.status = mxEntryLaunch(
        entry, arguments, words.argumentCount, results, words.resultCount,
        at(words.workspace), words.workspaceBytes, words.stream);
    outcome.total = total;
    outcome.error = outcome.status ? mxGetThreadError() : "";
    for (std::string &line : fakeCuda()->log)
      if (line.find("cuTensorMapEncodeTiled") == 0)
        ++outcome.encodedMaps;
      else
        outcome.log.push_back(std::move(line));
    outcome.memory = memory;
    return outcome;
  }
  /// Calls the entry on the same memory in a new thread.
  Outcome callAnew(const Words &words) {
    Outcome outcome;
    anew([&] { outcome = call(words); });
    return outcome;
  }
  /// Runs `body` in a thread without cached calls or maps.
  template <class Body>
  static void anew(Body body) {
    std::thread(body).join();
  }
  /// Runs the call in this thread and in a new thread, and checks that the
  /// outcomes are equal.
  Outcome expectSame(const Words &words) {
    std::vector<uint8_t> before = memory;
    Outcome outcome = call(words);
    memory = before;
    Outcome expected = callAnew(words);
    EXPECT_TRUE(outcome == expected)
        << "expected " << expected << "\nfound " << outcome;
    return outcome;
  }

  mxProgram programs[2] = {};
  std::vector<uint8_t> memory;
  uint8_t *base = nullptr;
  int64_t total = 0;
};

/// Validates the comparison with new threads: equal calls of new threads have
/// equal outcomes, and each input affects the outcome.
TEST_F(LaunchCache, NewThreadsHaveNoCachedCalls) {
  Words words;
  Outcome first = callAnew(words), second = callAnew(words);
  EXPECT_EQ(first.status, MX_SUCCESS) << first.error;
  EXPECT_TRUE(first == second);
  EXPECT_EQ(first.encodedMaps, 2u);
  EXPECT_EQ(second.encodedMaps, 2u);
  EXPECT_EQ(first.log.size(), 3u);
  EXPECT_EQ(first.total, 3 + 8 * 128);
  std::vector<Words> changed(7);
  changed[0].rows = 7;
  changed[1].n = 4;
  changed[2].s = 1;
  changed[3].x = 8192;
  changed[4].w = 8192;
  changed[5].y = 8192;
  changed[6].workspace = 8192;
  for (const Words &other : changed)
    EXPECT_NE(callAnew(other).log, first.log);
}

TEST_F(LaunchCache, EqualCallsMakeEqualDriverCalls) {
  for (int entry = 0; entry < 4; ++entry) {
    Words words;
    words.entry = entry;
    for (int round = 0; round < 3; ++round)
      EXPECT_EQ(expectSame(words).status, MX_SUCCESS) << mxGetThreadError();
  }
}

TEST_F(LaunchCache, EqualCallsEncodeNothing) {
  anew([&] {
    Words words;
    EXPECT_EQ(call(words).encodedMaps, 2u);
    EXPECT_EQ(call(words).encodedMaps, 0u);
    words.x = 8192; // the map of w does not change
    EXPECT_EQ(call(words).encodedMaps, 1u);
  });
}

TEST_F(LaunchCache, CachedCallsUseTheCallersStream) {
  Words words;
  for (uintptr_t stream : {0x10, 0x20, 0x10}) {
    words.stream = reinterpret_cast<mxStream>(stream);
    Outcome outcome = expectSame(words);
    ASSERT_EQ(outcome.log.size(), 3u);
    EXPECT_TRUE(
        contains(outcome.log[2], {"stream=" + std::to_string(stream) + " "}));
  }
}

/// A number read from the device may change between calls.
TEST_F(LaunchCache, NumbersOfTheDeviceAreReadAgain) {
  Words words;
  words.entry = 2;
  for (int32_t number : {5, 6, 5}) {
    memcpy(at(words.w), &number, sizeof number);
    EXPECT_EQ(expectSame(words).total, number);
  }
}

/// The first commands of a long plan are enqueued before the last commands are
/// computed.
TEST_F(LaunchCache, LongCallsAreNotCached) {
  Words words;
  words.entry = 4;
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(expectSame(words).log.size(), 16390u);
}

TEST_F(LaunchCache, InvalidCallsAreRefusedAfterValidCalls) {
  using Change = void (*)(Words &);
  const std::pair<Change, const char *> changes[] = {
      {[](Words &w) { w.workspaceBytes = 1023; },
       "expected a workspace of at least 1024 bytes, found 1023"},
      {[](Words &w) { w.workspace += 128; },
       "expected a workspace at a multiple of 256, found address "},
      {[](Words &w) { w.workspace = -1; },
       "expected a workspace at a multiple of 256, found a null pointer"},
      {[](Words &w) { w.x = -1; },
       "argument 0 'x': expected device memory, found a null pointer"},
      {[](Words &w) { w.x += 8; },
       "expected x at a multiple of 16, found 8 after one"},
      {[](Words &w) { w.y = -1; },
       "result 0 'y': expected device memory, found a null pointer"},
      {[](Words &w) { w.n = 7; }, "expected n of at most 6, found 7"},
      {[](Words &w) { w.rows = -1; },
       "argument 0 'x': expected dimension 0 to be at least 0, found -1"},
      {[](Words &w) { w.hasTotal = false; },
       "result 1 'total': expected an address for the number, found a null "
       "pointer"},
      {[](Words &w) { w.hasShapes = false; },
       "argument 0 'x': expected a shape, found a null pointer"},
      {[](Words &w) { w.argumentCount = 3; }, "expected 4 arguments, found 3"},
      {[](Words &w) { w.resultCount = -1; }, "expected 2 results, found -1"}};
  Words right;
  for (const auto &[change, text] : changes) {
    EXPECT_EQ(expectSame(right).status, MX_SUCCESS);
    Words wrong;
    change(wrong);
    for (int round = 0; round < 2; ++round) {
      Outcome outcome = expectSame(wrong);
      EXPECT_EQ(outcome.status, MX_ERROR_INVALID_VALUE) << text;
      EXPECT_EQ(outcome.error.find(std::string("entry 'tables': ") + text), 0u)
          << outcome.error;
      EXPECT_TRUE(outcome.log.empty()) << outcome;
    }
  }
  EXPECT_EQ(expectSame(right).status, MX_SUCCESS);
}

TEST_F(LaunchCache, DriverErrorsAreReportedAndNotCached) {
  Words words;
  for (int round = 0; round < 2; ++round) {
    fakeCuda()->failing = "cuLaunchKernelEx";
    fakeCuda()->failure = 719; // CUDA_ERROR_LAUNCH_FAILED
    Outcome failed = call(words);
    EXPECT_EQ(failed.status, MX_ERROR_KERNEL);
    EXPECT_EQ(failed.error.find("entry 'tables': launching kernel 'kernel'"),
              0u)
        << failed.error;
    EXPECT_EQ(expectSame(words).status, MX_SUCCESS);
  }
  anew([&] {
    fakeCuda()->failing = "cuTensorMapEncodeTiled";
    EXPECT_EQ(call(words).status, MX_ERROR_KERNEL);
    EXPECT_EQ(expectSame(words).status, MX_SUCCESS);
  });
}

/// A thread caches 256 calls. A cycle of 257 calls evicts each call before its
/// next use, so its maps are encoded again except for the 64 maps in the map
/// cache.
TEST_F(LaunchCache, LimitsTheCacheOfAThread) {
  auto countMaps = [&](int calls) {
    size_t maps = 0;
    Words words;
    words.rows = 1;
    for (int i = 0; i < calls; ++i) {
      words.x = i * 16;
      Outcome outcome = call(words);
      EXPECT_EQ(outcome.status, MX_SUCCESS) << outcome.error;
      maps += outcome.encodedMaps;
    }
    return maps;
  };
  anew([&] {
    EXPECT_GE(countMaps(256), 256u);
    EXPECT_EQ(countMaps(256), 0u);
    // Each call evicts the oldest call, which is the next call to be made.
    (void)countMaps(257);
    EXPECT_GE(countMaps(257), 257u - 64u);
    for (int i : {0, 100, 256}) {
      Words words;
      words.rows = 1;
      words.x = i * 16;
      expectSame(words);
    }
  });
}

/// A reloaded program may reuse the addresses of old entries and constants.
TEST_F(LaunchCache, ReloadedProgramsAreDistinguished) {
  Words words;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(expectSame(words).status, MX_SUCCESS);
    // Allocate memory, so that the constant of the reloaded program moves.
    void *between = nullptr;
    ASSERT_SUCCESS(mxProgramUnload(programs[0]));
    ASSERT_SUCCESS(mxMemAlloc(&between, 256));
    load(0);
    EXPECT_EQ(expectSame(words).status, MX_SUCCESS);
    ASSERT_SUCCESS(mxMemFree(between));
  }
}

/// Maps are encoded for the device of the program, regardless of the device in
/// use.
TEST_F(LaunchCache, MapsUseTheProgramsDevice) {
  Words words;
  ASSERT_SUCCESS(mxSetDevice("sim"));
  Outcome other = callAnew(words);
  EXPECT_EQ(other.status, MX_SUCCESS) << other.error;
  EXPECT_EQ(other.encodedMaps, 2u);
  ASSERT_SUCCESS(mxSetDevice("cuda"));
  EXPECT_TRUE(other == callAnew(words));
}

/// Makes calls with random inputs, most of them valid, so that every input
/// changes between equal calls.
TEST_F(LaunchCache, AnyOrderOfCalls) {
  std::mt19937 random(7);
  Words words;
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    auto pick = [&](auto &word, auto first, auto... others) {
      const decltype(first) choices[] = {first, decltype(first)(others)...};
      word = choices[random() % std::size(choices)];
    };
    switch (random() % 24) {
    case 0:
      pick(words.x, 0, 8192, 10240, 0, 8192, 8, -1);
      break;
    case 1:
      pick(words.w, 2048, 12288, 2048, -1);
      break;
    case 2:
      pick(words.y, 4096, 10240, 0, 4096, -1);
      break;
    case 3:
      pick(words.workspace, 6144, 6400, 14336, 6144, 6145, -1);
      break;
    case 4:
      pick(words.workspaceBytes, 1024, 1025, 1024, 256, 0);
      break;
    case 5:
      pick(words.rows, 8, 2, 0, 3, 9, -1);
      break;
    case 6:
      pick(words.n, 3, 0, 1, 5, 6, 7, -1);
      break;
    case 7:
      pick(words.s, 0.5f, -0.0f, 0.0f, NAN);
      break;
    case 8:
      pick(words.hasTotal, true, true, false);
      break;
    case 9:
      pick(words.argumentCount, 4, 4, 3);
      break;
    case 10:
      words.stream = reinterpret_cast<mxStream>(uintptr_t(random() % 2));
      break;
    case 11:
      words = Words();
      break;
    case 12:
    case 13:
    case 14:
      words.entry = int(random() % 4);
      break;
    case 15:
      words.program = int(random() % 2);
      break;
    case 16:
      if (random() % 8 == 0) {
        ASSERT_SUCCESS(mxProgramUnload(programs[words.program]));
        load(size_t(words.program));
      }
      break;
    default: // the same again
      break;
    }
    for (size_t i = 0; i < 64; ++i)
      base[random() % (kPlaces * kPlaceBytes)] = uint8_t(random());
    Outcome outcome = expectSame(words);
    ++(outcome.status ? refused : accepted);
    if (HasFailure())
      return;
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_GT(refused, 500u);
}

} // namespace
