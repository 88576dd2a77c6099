//===- GpusTest.cpp - Two GPUs in one process -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs on the recording driver FakeCuda, which refuses objects outside their
// context.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "Mgpu.h"
#include "ProgramFiles.h"
#include "Status.h"

#include "mx_program.h"

#include <cstdlib>
#include <gtest/gtest.h>

using Log = std::vector<std::string>;

namespace {

constexpr size_t kSize = sizeof(mxArgument);
const char kPtx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n";

class Gpus : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("MX_CUDA_DRIVER", MX_FAKE_CUDA, 1);
    fakeCuda()->devices = 2;
    mxSetErrorPolicy(MX_ERRORS_RETURN);
  }
  void SetUp() override {
    mxClearError();
    use(0);
    takeLog();
  }
  void TearDown() override {
    EXPECT_EQ(int(fakeCuda()->contexts.size()), 0);
    EXPECT_EQ(fakeCuda()->liveAllocations, 0);
  }
  static void use(int number) {
    ASSERT_SUCCESS(mxSetDevice(("cuda:" + std::to_string(number)).c_str()));
  }
  /// Loads the program of the files on the device in use; the fake driver
  /// provides its kernel.
  static void loadSum(ProgramFiles &files, mxProgram &program, mxEntry &entry) {
    fakeCuda()->parameters = 4;
    files.write("kernels.cubin", kPtx);
    ASSERT_SUCCESS(mxProgramLoad(&program, files.path.c_str()));
    ASSERT_SUCCESS(mxProgramGetEntry(&entry, program, "sum"));
  }
  static Log takeLog() { return std::exchange(fakeCuda()->log, {}); }
  static void *allocOn(int number, size_t bytes) {
    void *memory = nullptr;
    use(number);
    EXPECT_SUCCESS(mxMemAlloc(&memory, bytes));
    return memory;
  }
};

TEST_F(Gpus, MemoryIsUsedOnItsOwnGpu) {
  void *first = allocOn(0, 64), *second = allocOn(1, 64);
  for (void *memory : {first, second}) {
    mxDeviceInfo info = mxSized<mxDeviceInfo>();
    ASSERT_SUCCESS(mxGetMemoryDevice(memory, &info));
    EXPECT_STREQ(info.device, memory == first ? "cuda:0" : "cuda:1");
  }
  use(0);
  takeLog();
  EXPECT_SUCCESS(mxMemset(second, 1, 64, nullptr));
  EXPECT_SUCCESS(mxMemcpyOnDevice(first, second, 64, nullptr));
  EXPECT_SUCCESS(mxMemFree(second));
  EXPECT_SUCCESS(mxMemFree(first));
  EXPECT_EQ(takeLog(),
            (Log{"cuMemsetD8Async 64 on 1", "cuMemcpyDtoDAsync 64 stream=0",
                 "cuMemFree on 1", "cuMemFree"}));
}

TEST_F(Gpus, StreamsAndEventsAreUsedOnTheirOwnGpu) {
  mxStream first = nullptr, second = nullptr;
  ASSERT_SUCCESS(mxStreamCreate(&first));
  use(1);
  ASSERT_SUCCESS(mxStreamCreate(&second));
  use(0);
  takeLog();
  EXPECT_SUCCESS(mxStreamSynchronize(second));
  EXPECT_SUCCESS(mxStreamWait(first, second));
  use(1);
  void *event = mgpuEventCreate();
  use(0);
  mgpuEventRecord(event, second);
  mgpuStreamWaitEvent(first, event);
  mgpuEventDestroy(event);
  EXPECT_EQ(mxGetLastStatus(), MX_SUCCESS);
  Log log = takeLog();
  ASSERT_EQ(log.size(), 9u);
  EXPECT_EQ(log[0].substr(log[0].size() - 5), " on 1");
  EXPECT_EQ(log[1], "cuEventCreate flags=2 on 1");
  EXPECT_EQ(log[3].substr(0, 17), "cuStreamWaitEvent");
  EXPECT_EQ(log[3].find(" on 1"), std::string::npos);
  EXPECT_EQ(log[7].find(" on 1"), std::string::npos);
  EXPECT_TRUE(contains(log[8], {" on 1"}));
  EXPECT_SUCCESS(mxStreamDestroy(first));
  EXPECT_SUCCESS(mxStreamDestroy(second));
}

/// If the default stream waits for another stream, or the reverse, the default
/// stream of the other stream's device is used, regardless of the current
/// device.
TEST_F(Gpus, DefaultStreamUsesTheOtherStreamsGpu) {
  mxStream second = nullptr;
  use(1);
  ASSERT_SUCCESS(mxStreamCreate(&second));
  use(0);
  takeLog();
  EXPECT_SUCCESS(mxStreamWait(second, nullptr));
  EXPECT_SUCCESS(mxStreamWait(nullptr, second));
  Log log = takeLog();
  ASSERT_EQ(log.size(), 8u);
  for (const std::string &line : log)
    EXPECT_EQ(line.substr(line.size() - 5), " on 1") << line;
  EXPECT_SUCCESS(mxStreamDestroy(second));
}

/// The driver would dereference a simulator handle.
TEST_F(Gpus, RefusesStreamsOfOtherDevices) {
  mxStream simulated = nullptr, second = nullptr;
  ASSERT_SUCCESS(mxSetDevice("sim"));
  ASSERT_SUCCESS(mxStreamCreate(&simulated));
  void *simulatedEvent = mgpuEventCreate();
  use(1);
  ASSERT_SUCCESS(mxStreamCreate(&second));
  use(0);
  mxModule module = nullptr;
  mxFunction function = nullptr;
  ASSERT_SUCCESS(mxModuleLoad(&module, kPtx, 0, "test.ptx"));
  ASSERT_SUCCESS(mxModuleGetFunction(&function, module, "kernel"));
  void *event = mgpuEventCreate();
  takeLog();
  const uint64_t value = 1;
  EXPECT_ERROR(
      launch(function, launchOf(1, 32, 0, 0, simulated), value, value),
      MX_ERROR_INVALID_VALUE,
      "kernel 'kernel': expected a stream of cuda:0, found one of sim:0");
  EXPECT_ERROR(
      launch(function, launchOf(1, 32, 0, 0, second), value, value),
      MX_ERROR_INVALID_VALUE,
      "kernel 'kernel': expected a stream of cuda:0, found one of cuda:1");
  mgpuEventRecord(event, simulated);
  EXPECT_STREQ(mxGetThreadError(),
               "expected a stream of cuda:0, found one of sim:0");
  mxClearError();
  mgpuStreamWaitEvent(second, simulatedEvent);
  EXPECT_STREQ(mxGetThreadError(),
               "expected an event of a GPU, found one of sim:0");
  mxClearError();
  EXPECT_EQ(takeLog(), Log());
  mgpuEventDestroy(event);
  mgpuEventDestroy(simulatedEvent);
  EXPECT_SUCCESS(mxModuleUnload(module));
  EXPECT_SUCCESS(mxStreamDestroy(second));
  EXPECT_SUCCESS(mxStreamDestroy(simulated));
}

/// Each GPU needs its own maps, because two GPUs in a machine may differ.
TEST_F(Gpus, TensorMapsAreEncodedForTheirDevice) {
  void *memory = allocOn(0, 4096);
  int64_t dims[] = {64}, strides[] = {0};
  int32_t box[] = {64};
  alignas(64) char map[128];
  auto countCalls = [&] {
    takeLog();
    EXPECT_SUCCESS(mxTensorMapEncodeTiled(map, 0, 1, memory, dims, strides, box,
                                          nullptr, 0, 0, 0, 0));
    return takeLog().size();
  };
  EXPECT_EQ(countCalls(), 1u);
  EXPECT_EQ(countCalls(), 0u);
  // The address now belongs to the other GPU, as after a new allocation there.
  fakeCudaMove(memory, 1);
  EXPECT_EQ(countCalls(), 1u);
  fakeCudaMove(memory, 0);
  EXPECT_SUCCESS(mxMemFree(memory));
}

TEST_F(Gpus, ModulesAreUsedOnTheirOwnGpu) {
  mxModule module = nullptr;
  mxFunction function = nullptr;
  use(1);
  ASSERT_SUCCESS(mxModuleLoad(&module, kPtx, 0, "test.ptx"));
  use(0);
  ASSERT_SUCCESS(mxModuleGetFunction(&function, module, "kernel"));
  takeLog();
  const uint64_t value = 1;
  EXPECT_SUCCESS(launch(function, launchOf(1, 32), value, value));
  EXPECT_EQ(takeLog(), (Log{"cuLaunchKernelEx grid=1,1,1 block=32,1,1 smem=0 "
                            "stream=0 p0=1 p1=1 on 1"}));
  EXPECT_SUCCESS(mxModuleUnload(module));
  EXPECT_EQ(takeLog(), (Log{"cuModuleUnload on 1"}));
}

TEST_F(Gpus, ProgramsAreLoadedOncePerGpu) {
  ProgramFiles files("kernel", "false");
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  ASSERT_NO_FATAL_FAILURE(loadSum(files, program, entry));
  auto countLoads = [] {
    int count = 0;
    for (const std::string &line : takeLog())
      count += line.substr(0, 18) == "cuModuleLoadDataEx";
    return count;
  };
  EXPECT_EQ(countLoads(), 1);
  void *memory[2][4];
  for (int device = 0; device < 2; ++device)
    for (void *&place : memory[device])
      place = allocOn(device, 4096);
  int64_t extent = 300;
  int32_t count = 300;
  auto launch = [&](void **m, void *second) {
    mxArgument arguments[] = {{kSize, m[0], &extent},
                              {kSize, second, &extent},
                              {kSize, &count, nullptr}};
    return mxEntryLaunch(entry, arguments, 3, &m[2], 1, m[3], 4096, nullptr);
  };
  use(0);
  for (int round = 0; round < 3; ++round)
    for (void **m : {memory[1], memory[0]}) {
      takeLog();
      EXPECT_SUCCESS(launch(m, m[1]));
      Log log = fakeCuda()->log;
      bool isSecond = log.back().find(" on 1") != std::string::npos;
      EXPECT_EQ(isSecond, m == memory[1]) << log.back();
      EXPECT_EQ(countLoads(), round == 0 && m == memory[1]);
    }
  EXPECT_ERROR(
      launch(memory[0], memory[1][1]), MX_ERROR_INVALID_VALUE,
      "entry 'sum': argument 1 'y': expected memory of cuda:0, the device of "
      "argument 0 'x', found memory of cuda:1: copy all arrays to one device");
  EXPECT_SUCCESS(mxProgramUnload(program));
  for (auto &places : memory)
    for (void *place : places)
      EXPECT_SUCCESS(mxMemFree(place));
  fakeCuda()->parameters = 2;
}

/// Loading synchronizes and would end the capture.
TEST_F(Gpus, CaptureRequiresALoadedProgram) {
  ProgramFiles files("kernel", "false");
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  ASSERT_NO_FATAL_FAILURE(loadSum(files, program, entry));
  void *memory[4];
  for (void *&place : memory)
    place = allocOn(1, 4096);
  mxStream stream = nullptr;
  ASSERT_SUCCESS(mxStreamCreate(&stream));
  auto launch = [&] {
    int64_t extent = 300;
    int32_t count = 300;
    mxArgument arguments[] = {{kSize, memory[0], &extent},
                              {kSize, memory[1], &extent},
                              {kSize, &count, nullptr}};
    return mxEntryLaunch(entry, arguments, 3, &memory[2], 1, memory[3], 4096,
                         stream);
  };
  fakeCuda()->capturing = stream;
  takeLog();
  EXPECT_ERROR(launch(), MX_ERROR_BAD_LAUNCH,
               "entry 'sum': expected a program that is already loaded on "
               "cuda:1, found a stream that a CUDA graph captures: launch the "
               "program once before the capture, because loading waits");
  EXPECT_EQ(takeLog(), Log());
  fakeCuda()->capturing = nullptr;
  EXPECT_SUCCESS(launch());
  fakeCuda()->capturing = stream;
  EXPECT_SUCCESS(launch());
  fakeCuda()->capturing = nullptr;
  EXPECT_SUCCESS(mxProgramUnload(program));
  EXPECT_SUCCESS(mxStreamDestroy(stream));
  for (void *place : memory)
    EXPECT_SUCCESS(mxMemFree(place));
  fakeCuda()->parameters = 2;
}

TEST_F(Gpus, ConstantsAreCopiedToEachGpu) {
  void *keep = nullptr;
  const char data[] = "constant";
  void *first = mxLoadConstant(&keep, data, sizeof data);
  use(1);
  void *second = mxLoadConstant(&keep, data, sizeof data);
  EXPECT_NE(first, second);
  EXPECT_EQ(mxLoadConstant(&keep, data, sizeof data), second);
  use(0);
  EXPECT_EQ(mxLoadConstant(&keep, data, sizeof data), first);
  EXPECT_SUCCESS(mxMemFree(first));
  EXPECT_SUCCESS(mxMemFree(second));
}

} // namespace
