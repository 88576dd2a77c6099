//===- FlowTest.cpp - Plans with loops and branches on the simulator ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests plans with loops, branches and numbers read from the device. No damaged
// file may crash the process or run forever.
//===----------------------------------------------------------------------===//

#include "FlowFiles.h"
#include "Simulator.h"
#include "mx_program.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace {

constexpr size_t kSize = sizeof(mxArgument);

constexpr int kElements = 64;

class Flow : public Simulator {
protected:
  void SetUp() override {
    Simulator::SetUp();
    kernels = readKernels();
    for (int i = 0; i < kElements; ++i)
      x.push_back(float(i));
    for (void **memory : {&input, &output, &workspace})
      *memory = alloc(4096);
    ASSERT_SUCCESS(mxMemcpyToDevice(input, x.data(), kElements * 4, nullptr));
  }
  void TearDown() override {
    mxProgramUnload(program);
    Simulator::TearDown();
  }
  int load(const std::string &manifest) {
    mxProgramUnload(program);
    program = nullptr;
    int status =
        mxProgramLoadData(&program, manifest.data(), manifest.size(),
                          kernels.data(), kernels.size(), "kernels.ptx");
    if (status == MX_SUCCESS)
      status = mxProgramGetEntryAt(&entry, program, 0);
    return status;
  }
  int launch(int64_t rounds, int64_t at) {
    mxArgument arguments[] = {{kSize, input, nullptr},
                              {kSize, &rounds, nullptr},
                              {kSize, &at, nullptr}};
    int64_t shape[] = {kElements};
    arguments[0].shape = shape;
    void *results[] = {output, &bits, &sum};
    return mxEntryLaunch(entry, arguments, 3, results, 3, workspace, 512,
                         nullptr);
  }
  std::vector<float> read() {
    std::vector<float> y(kElements);
    EXPECT_SUCCESS(mxMemcpyToHost(y.data(), output, kElements * 4, nullptr));
    return y;
  }
  static int64_t countLaunches() {
    mxSimulatorCounters counters = mxSized<mxSimulatorCounters>();
    mxGetSimulatorCounters(&counters);
    return counters.launches;
  }

  std::string kernels;
  std::vector<float> x;
  void *input = nullptr, *output = nullptr, *workspace = nullptr;
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  int32_t bits = 0;
  int64_t sum = 0;
};

TEST_F(Flow, Loops) {
  ASSERT_SUCCESS(load(kFlowManifest));
  for (int64_t rounds : {0, 1, 2, 5}) {
    ASSERT_SUCCESS(launch(rounds, 3));
    float expected = 3.0f * float(1 << rounds), found;
    memcpy(&found, &bits, sizeof found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(sum, rounds * (rounds - 1) / 2);
    std::vector<float> y = read();
    for (int i = 0; i < kElements; ++i)
      ASSERT_EQ(y[size_t(i)], x[size_t(i)] * float(1 << rounds)) << i;
  }
}

TEST_F(Flow, Branches) {
  ASSERT_SUCCESS(load(kFlowManifest));
  ASSERT_SUCCESS(launch(2, 0));
  EXPECT_EQ(bits, 0);
  std::vector<uint8_t> bytes(kElements * 4);
  ASSERT_SUCCESS(mxMemcpyToHost(bytes.data(), output, bytes.size(), nullptr));
  EXPECT_EQ(bytes, std::vector<uint8_t>(kElements * 4, 255));
}

// Errors in any iteration are reported before the first launch of the call.
TEST_F(Flow, RefusesBeforeLaunching) {
  ASSERT_SUCCESS(load(kFlowManifest));
  int64_t before = countLaunches();
  EXPECT_ERROR(launch(6, 3), MX_ERROR_INVALID_VALUE,
               "entry 'double': expected at most 5 rounds, found more than 5");
  EXPECT_EQ(countLaunches(), before);
}

TEST_F(Flow, RefusesNumbersOutsideOfBuffers) {
  ASSERT_SUCCESS(load(kFlowManifest));
  for (int64_t at : {-1, 64}) {
    mxClearError();
    EXPECT_EQ(launch(1, at), MX_ERROR_INVALID_VALUE);
    EXPECT_EQ(mxGetLastError(),
              "entry 'double': step 1 of the plan: expected a number within "
              "the 256 bytes of its buffer, found one at byte " +
                  std::to_string(at * 4));
  }
}

std::string change(std::string text, const std::string &from,
                   const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(Flow, RefusesLoopsThatDoNotEnd) {
  // The loop launches nothing, to keep the test short.
  std::string idle =
      change(kFlowManifest, "\"grid\": [1, 1, 1]", "\"grid\": [0, 1, 1]");
  ASSERT_SUCCESS(load(change(idle, "[\"le\", \"v2\", 4]", "[\"le\", 0, 4]")));
  EXPECT_ERROR_WITH(launch(INT64_MAX, 3), MX_ERROR_INVALID_VALUE,
                    "expected at most 33554432 steps in a call, found more");
  ASSERT_SUCCESS(load(change(kFlowManifest, "\"step\": 1", "\"step\": 0")));
  EXPECT_ERROR(launch(1, 3), MX_ERROR_INVALID_VALUE,
               "entry 'double': step 0 of the plan: expected a loop with a "
               "step of at least 1, found 0");
  // A loop also ends if its counter would overflow 64 bits.
  ASSERT_SUCCESS(load(
      change(kFlowManifest, "\"step\": 1", "\"step\": 9223372036854775807")));
  EXPECT_SUCCESS(launch(INT64_MAX, 3));
}

TEST_F(Flow, RefusesBadData) {
  EXPECT_EQ(mxProgramLoadData(nullptr, "", 0, nullptr, 0, nullptr),
            MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(mxProgramLoadData(&program, nullptr, 0, nullptr, 0, nullptr),
            MX_ERROR_INVALID_VALUE);
  mxClearError();
  EXPECT_ERROR(mxProgramLoadData(&program, "{}", 2, nullptr, 0, "it"),
               MX_ERROR_BAD_MODULE, "it:1:1: missing key 'format'");
  kernels.clear();
  EXPECT_ERROR(load(kFlowManifest), MX_ERROR_BAD_MODULE,
               "kernels.ptx: expected kernels, found no bytes");
}

/// Calls the first entry with suitable arguments. Accepts any status.
void callAnyhow(mxEntry entry, void *memory, int64_t number) {
  mxEntryInfo info = mxSized<mxEntryInfo>();
  if (mxEntryGetInfo(entry, &info) || info.argumentCount > 8 ||
      info.resultCount > 8)
    return;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<mxArgument> arguments;
  std::vector<void *> results;
  std::vector<int64_t> places(16, number);
  for (int32_t i = 0; i < info.argumentCount; ++i) {
    mxValueInfo value = mxSized<mxValueInfo>();
    ASSERT_SUCCESS(mxEntryGetArgument(entry, i, &value));
    std::vector<int64_t> &shape = shapes.emplace_back();
    for (int32_t dim = 0; dim < value.rank; ++dim)
      shape.push_back(value.shape[dim] < 0 ? 64 : value.shape[dim]);
    arguments.push_back(
        {kSize, value.isNumber ? &places[size_t(i)] : memory, nullptr});
  }
  for (size_t i = 0; i < shapes.size(); ++i)
    arguments[i].shape = shapes[i].data();
  for (int32_t i = 0; i < info.resultCount; ++i) {
    mxValueInfo value = mxSized<mxValueInfo>();
    ASSERT_SUCCESS(mxEntryGetResult(entry, i, &value));
    results.push_back(value.isNumber ? &places[size_t(8 + i)] : memory);
  }
  (void)mxEntryLaunch(entry, arguments.data(), info.argumentCount,
                      results.data(), info.resultCount, memory, 4096, nullptr);
}

TEST_F(Flow, RandomChanges) {
  const std::string original = kFlowManifest;
  const std::regex word(R"re("[^"]*"|-?[0-9]+|[\[\]{},:])re");
  std::vector<std::pair<size_t, size_t>> words;
  for (std::sregex_iterator i(original.begin(), original.end(), word), end;
       i != end; ++i)
    words.push_back({size_t(i->position()), size_t(i->length())});
  std::mt19937 random(11);
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = original;
    auto [at, length] = words[random() % words.size()];
    auto [from, count] = words[random() % words.size()];
    if (random() % 4 == 0) // a digit or letter
      text[random() % text.size()] = char('0' + random() % 75);
    else
      text.replace(at, length, original.substr(from, count));
    mxClearError();
    if (load(text) != MX_SUCCESS) {
      ++refused;
      continue;
    }
    ++accepted;
    callAnyhow(entry, input, 3);
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 100u);
}

} // namespace
