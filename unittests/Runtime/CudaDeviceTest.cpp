//===- CudaDeviceTest.cpp - Calls of the runtime to the CUDA driver -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs on the recording driver FakeCuda; scripts/check-cuda covers the same
// paths on a GPU.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "Mgpu.h"
#include "Status.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using Log = std::vector<std::string>;

namespace {

constexpr size_t kConfigSize = sizeof(mxLaunchConfig);

const char kPtx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n";

class CudaDevice : public testing::Test {
protected:
  static void SetUpTestSuite() {
    // The first use of the driver in this process selects the library.
    setenv("MX_CUDA_DRIVER", MX_FAKE_CUDA, 1);
    mxSetErrorPolicy(MX_ERRORS_RETURN);
  }
  void SetUp() override {
    mxClearError();
    *fakeCuda() = FakeCuda();
    ASSERT_SUCCESS(mxSetDevice("cuda"));
  }
  void TearDown() override {
    EXPECT_EQ(int(fakeCuda()->contexts.size()), 0);
    EXPECT_EQ(fakeCuda()->liveAllocations, 0);
  }

  mxFunction kernel() {
    if (!module) {
      EXPECT_SUCCESS(mxModuleLoad(&module, kPtx, 0, "test.ptx"));
    }
    mxFunction function = nullptr;
    EXPECT_SUCCESS(mxModuleGetFunction(&function, module, "kernel"));
    fakeCuda()->log.clear();
    return function;
  }
  ~CudaDevice() override { mxModuleUnload(module); }

  /// Launches with two parameters, 7 and 9.
  int launch(mxFunction function, mxLaunchConfig config, int64_t count = 2) {
    uint64_t a = 7, b = 9;
    void *parameters[] = {&a, &b};
    return mxLaunch(function, &config, parameters, count);
  }

  Log takeLog() { return std::exchange(fakeCuda()->log, {}); }

  mxModule module = nullptr;
};

TEST_F(CudaDevice, RecognizesHostMemory) {
  void *memory = nullptr;
  ASSERT_SUCCESS(mxMemAlloc(&memory, 64));
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  EXPECT_SUCCESS(mxGetMemoryDevice(memory, &info));
  EXPECT_STREQ(info.device, "cuda:0");
  // The driver is queried even though there is no other GPU. The address is
  // below all blocks of the fake driver.
  EXPECT_ERROR(mxGetMemoryDevice(reinterpret_cast<void *>(8), &info),
               MX_ERROR_NOT_FOUND,
               "expected memory of a device in use, found memory of the host "
               "or of a device that was not used yet (mxSetDevice)");
  EXPECT_SUCCESS(mxMemFree(memory));
}

TEST_F(CudaDevice, DescribesTheDevice) {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  ASSERT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "cuda");
  EXPECT_STREQ(info.name, "Fake GPU");
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.capabilityMajor, 9);
  EXPECT_EQ(info.capabilityMinor, 0);
  EXPECT_EQ(info.sharedMemoryPerBlock, 232448);
  EXPECT_EQ(mxMultiprocessorCount(), 132);
  EXPECT_EQ(mxCanRunTarget("sm_90a"), 1);
  EXPECT_EQ(mxCanRunTarget("sm_80"), 1);
  EXPECT_EQ(mxCanRunTarget("sm_100a"), 0);
  EXPECT_EQ(mxCanRunTarget("sm_100f"), 0);
}

TEST_F(CudaDevice, AutoSelectsASuitableGpu) {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  ASSERT_SUCCESS(mxSetDeviceForTarget("auto", "sm_90a"));
  ASSERT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "cuda");
  ASSERT_SUCCESS(mxSetDeviceForTarget("auto", "sm_100a"));
  ASSERT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "sim");
}

TEST_F(CudaDevice, FirstModuleResolvesAuto) {
  ASSERT_SUCCESS(mxSetDevice("auto"));
  std::string ptx = kPtx;
  ptx.replace(ptx.find("sm_90a"), 6, "sm_100a");
  mxModule blackwell;
  ASSERT_SUCCESS(mxModuleLoad(&blackwell, ptx.c_str(), 0, nullptr));
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  ASSERT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "sim");
  EXPECT_SUCCESS(mxModuleUnload(blackwell));
}

TEST_F(CudaDevice, RefusesAModuleForAnotherGpu) {
  std::string ptx = kPtx;
  ptx.replace(ptx.find("sm_90a"), 6, "sm_100a");
  mxModule blackwell;
  EXPECT_EQ(mxModuleLoad(&blackwell, ptx.c_str(), 0, "mx.ptx"),
            MX_ERROR_WRONG_TARGET);
  EXPECT_EQ(blackwell, nullptr);
  EXPECT_STREQ(mxGetLastError(), "mx.ptx: expected a module for Fake GPU "
                                 "(sm_90), found one for sm_100a");
}

TEST_F(CudaDevice, RefusesAMissingGpu) {
  EXPECT_ERROR(mxSetDevice("cuda:1"), MX_ERROR_NO_DEVICE,
               "expected a GPU number below 1, found 1");
}

TEST_F(CudaDevice, ReportsTheAssemblersLog) {
  fakeCuda()->failing = "cuModuleLoadDataEx";
  fakeCuda()->failure = 218; // CUDA_ERROR_INVALID_PTX
  fakeCuda()->jitLog = "ptxas application ptx input, line 9; fatal : bad\n";
  mxModule bad;
  EXPECT_ERROR(mxModuleLoad(&bad, kPtx, 0, "bad.ptx"), MX_ERROR_BAD_MODULE,
               "bad.ptx: loading it on Fake GPU (sm_90) failed: CUDA_ERROR_218 "
               "(as the test wished)\nptxas application ptx input, line 9; "
               "fatal : bad");
}

TEST_F(CudaDevice, NamesTheDriverForNewerPtx) {
  fakeCuda()->failing = "cuModuleLoadDataEx";
  fakeCuda()->failure = 222; // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  fakeCuda()->jitLog = "ptxas fatal : Unsupported .version 8.8\n";
  mxModule newer;
  EXPECT_ERROR(mxModuleLoad(&newer, kPtx, 0, "new.ptx"), MX_ERROR_BAD_MODULE,
               "new.ptx: loading it on Fake GPU (sm_90) failed: CUDA_ERROR_222 "
               "(as the test wished): expected a driver that reads this PTX "
               "(CUDA 12.9 or later for PTX from mx): update the driver, or "
               "assemble the kernels with ptxas first (docs/guide/Run.md)\n"
               "ptxas fatal : Unsupported .version 8.8");
}

TEST_F(CudaDevice, LaunchesWithoutAttributes) {
  mxFunction function = kernel();
  EXPECT_SUCCESS(
      launch(function,
             {kConfigSize, {3, 4, 5}, {32, 2, 1}, {}, 48 << 10, nullptr, 0}));
  EXPECT_EQ(takeLog(), Log{"cuLaunchKernelEx grid=3,4,5 block=32,2,1 "
                           "smem=49152 stream=0 p0=7 p1=9"});
}

TEST_F(CudaDevice, RaisesLimitsOnceAndPassesAttributes) {
  mxFunction function = kernel();
  mxLaunchConfig config =
      launchOf(32, 128, 16, 212992, (void *)0x50, MX_LAUNCH_PROGRAMMATIC);
  EXPECT_SUCCESS(launch(function, config));
  std::string call = "cuLaunchKernelEx grid=32,1,1 block=128,1,1 smem=212992 "
                     "stream=80 cluster=16,1,1 programmatic=1 p0=7 p1=9";
  EXPECT_EQ(takeLog(), (Log{"cuFuncSetAttribute 8=212992",
                            "cuFuncSetAttribute 14=1", call}));
  EXPECT_SUCCESS(launch(function, config));
  EXPECT_EQ(takeLog(), Log{call});
  // The handle is the same, so the kernel is cached.
  EXPECT_EQ(kernel(), function);
}

TEST_F(CudaDevice, AllowsTheCompiledClusterSize) {
  fakeCuda()->requiredCluster[0] = 4;
  fakeCuda()->requiredCluster[1] = 4;
  mxFunction function = kernel();
  EXPECT_SUCCESS(launch(
      function, {kConfigSize, {16, 4, 1}, {32, 1, 1}, {}, 0, nullptr, 0}));
  EXPECT_EQ(takeLog(), (Log{"cuFuncSetAttribute 14=1",
                            "cuLaunchKernelEx grid=16,4,1 block=32,1,1 smem=0 "
                            "stream=0 p0=7 p1=9"}));
}

TEST_F(CudaDevice, RefusesBadLaunchesBeforeTheDriver) {
  mxFunction function = kernel();
  const struct {
    mxLaunchConfig config;
    int64_t count;
    const char *message;
  } cases[] = {
      {launchOf(1, 32), 3, "kernel 'kernel': expected 2 parameters, found 3"},
      {launchOf(1, 32, 0, 232448), 2,
       "kernel 'kernel': expected at most 232448 bytes of shared memory, found "
       "233472 (1024 static)"},
      {launchOf(1, 32, 0, 232449), 2,
       "kernel 'kernel': expected 0 to 232448 bytes of dynamic shared memory, "
       "found 232449"},
      {{kConfigSize, {1, 65536, 1}, {32, 1, 1}, {}, 0, nullptr, 0},
       2,
       "kernel 'kernel': expected a grid of at most 2147483647x65535x65535, "
       "found 1x65536x1"},
      {{kConfigSize, {1, -1, 0}, {32, 1, 1}, {}, 0, nullptr, 0},
       2,
       "kernel 'kernel': expected a grid of at most 2147483647x65535x65535, "
       "found 1x-1x0"},
      {{kConfigSize, {1, 1, 1}, {1024, 2, 1}, {}, 0, nullptr, 0},
       2,
       "kernel 'kernel': expected a block of 1 to 1024 threads, at most "
       "1024x1024x64, found 1024x2x1"},
      {launchOf(1, 0), 2,
       "kernel 'kernel': expected a block of 1 to 1024 threads, at most "
       "1024x1024x64, found 0x1x1"},
      {launchOf(17, 32, 17), 2,
       "kernel 'kernel': expected a cluster of 1 to 16 blocks, found 17x1x1"},
      {{kConfigSize, {4, 1, 1}, {32, 1, 1}, {2, 0, 1}, 0, nullptr, 0},
       2,
       "kernel 'kernel': expected a cluster of 1 to 16 blocks, found 2x0x1"},
      {launchOf(3, 32, 2), 2,
       "kernel 'kernel': expected a grid that is a multiple of the cluster "
       "2x1x1, found 3x1x1"},
      {launchOf(3, 32, 0, 0, nullptr, 6), 2,
       "kernel 'kernel': expected known launch flags, found 6"},
  };
  for (const auto &entry : cases) {
    EXPECT_ERROR(launch(function, entry.config, entry.count),
                 MX_ERROR_BAD_LAUNCH, entry.message);
    EXPECT_EQ(takeLog(), Log{});
  }
}

TEST_F(CudaDevice, SkipsEmptyGrids) {
  mxFunction function = kernel();
  EXPECT_SUCCESS(launch(
      function, {kConfigSize, {1, 0, 1}, {32, 1, 1}, {}, 0, nullptr, 0}));
  EXPECT_EQ(takeLog(), Log{});
}

TEST_F(CudaDevice, DescribesLaunchesRefusedByTheDriver) {
  mxFunction function = kernel();
  fakeCuda()->failing = "cuLaunchKernelEx";
  fakeCuda()->failure = 701; // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
  EXPECT_ERROR(launch(function, launchOf(4, 64, 2, 16)), MX_ERROR_BAD_LAUNCH,
               "launching kernel 'kernel' failed: CUDA_ERROR_701 (as the test "
               "wished); grid 4x1x1, block 64x1x1, cluster 2x1x1, 16 bytes of "
               "dynamic shared memory");
}

TEST_F(CudaDevice, NamesTheFailedKernel) {
  for (bool isUnloaded : {false, true}) {
    ASSERT_SUCCESS(launch(kernel(), launchOf(1, 1)));
    if (isUnloaded) {
      ASSERT_SUCCESS(mxModuleUnload(std::exchange(module, nullptr)));
    }
    fakeCuda()->failing = "cuStreamSynchronize";
    fakeCuda()->failure = 700; // CUDA_ERROR_ILLEGAL_ADDRESS
    EXPECT_ERROR(mxStreamSynchronize(nullptr), MX_ERROR_KERNEL,
                 "waiting for a stream failed: CUDA_ERROR_700 (as the test "
                 "wished); the last kernel launched was 'kernel'");
  }
}

TEST_F(CudaDevice, ReportsMissingKernels) {
  (void)kernel();
  mxFunction function;
  EXPECT_ERROR(mxModuleGetFunction(&function, module, "other"),
               MX_ERROR_NOT_FOUND, "test.ptx: there is no kernel 'other'");
  EXPECT_EQ(function, nullptr);
}

TEST_F(CudaDevice, RefusesStaleHandles) {
  mxFunction function = kernel();
  mxModule dead = module;
  ASSERT_SUCCESS(mxModuleUnload(module));
  module = nullptr;
  EXPECT_ERROR(launch(function, launchOf(1, 1)), MX_ERROR_INVALID_VALUE,
               "expected a kernel of a loaded module, found an invalid handle");
  EXPECT_EQ(mxModuleUnload(dead), MX_ERROR_INVALID_VALUE);
}

TEST_F(CudaDevice, OrdersStreams) {
  int32_t number = -1;
  EXPECT_SUCCESS(mxGetDeviceNumber(&number));
  EXPECT_EQ(number, 0);
  mxStream stream;
  ASSERT_SUCCESS(mxStreamCreate(&stream));
  takeLog();
  EXPECT_SUCCESS(mxStreamWait(stream, nullptr));
  EXPECT_SUCCESS(mxStreamWait(stream, stream));
  EXPECT_EQ(takeLog(), (Log{"cuEventCreate flags=2", "cuEventRecord 96 0",
                            "cuStreamWaitEvent 80 96", "cuEventDestroy 96"}));
  EXPECT_SUCCESS(mxStreamDestroy(stream));
}

TEST_F(CudaDevice, MeasuresTime) {
  mxEvent event = nullptr;
  double microseconds = 0;
  ASSERT_SUCCESS(mxEventCreate(&event));
  EXPECT_SUCCESS(mxEventRecord(event, nullptr));
  fakeCuda()->milliseconds = 0.25f;
  EXPECT_SUCCESS(mxEventElapsed(event, event, &microseconds));
  EXPECT_EQ(microseconds, 250);
  EXPECT_SUCCESS(mxEventDestroy(event));
  EXPECT_EQ(takeLog(), (Log{"cuEventCreate flags=0", "cuEventRecord 96 0",
                            "cuEventSynchronize 96", "cuEventElapsedTime",
                            "cuEventDestroy 96"}));
  EXPECT_EQ(mxEventRecord(nullptr, nullptr), MX_ERROR_INVALID_VALUE);
  mxClearError();
  EXPECT_EQ(mxEventElapsed(event, nullptr, &microseconds),
            MX_ERROR_INVALID_VALUE);
  mxClearError();
}

TEST_F(CudaDevice, CopiesInTheGivenStream) {
  char host[16] = "sixteen letters", back[16] = {};
  void *a = nullptr, *b = nullptr;
  mxStream stream;
  ASSERT_SUCCESS(mxMemAlloc(&a, 16));
  ASSERT_SUCCESS(mxMemAlloc(&b, 16));
  ASSERT_SUCCESS(mxStreamCreate(&stream));
  takeLog();
  EXPECT_SUCCESS(mxMemcpyToDevice(a, host, 16, nullptr));
  EXPECT_SUCCESS(mxMemcpyOnDevice(b, a, 16, stream));
  EXPECT_SUCCESS(mxMemset(b, 'x', 3, stream));
  EXPECT_SUCCESS(mxMemcpyToHost(back, b, 16, stream));
  EXPECT_SUCCESS(mxStreamSynchronize(stream));
  EXPECT_SUCCESS(mxStreamDestroy(stream));
  EXPECT_EQ(takeLog(),
            (Log{"cuMemcpyHtoD 16 stream=0", "cuStreamSynchronize 0",
                 "cuMemcpyDtoDAsync 16 stream=80", "cuMemsetD8Async 3",
                 "cuMemcpyDtoHAsync 16 stream=80", "cuStreamSynchronize 80",
                 "cuStreamDestroy 80"}));
  EXPECT_STREQ(back, "xxxteen letters");
  // Empty copies make no driver call.
  EXPECT_SUCCESS(mxMemcpyToDevice(nullptr, nullptr, 0, nullptr));
  EXPECT_SUCCESS(mxMemFree(nullptr));
  EXPECT_SUCCESS(mxMemFree(a));
  EXPECT_SUCCESS(mxMemFree(b));
  void *empty = nullptr;
  EXPECT_SUCCESS(mxMemAlloc(&empty, 0));
  EXPECT_NE(empty, nullptr);
  EXPECT_SUCCESS(mxMemFree(empty));
}

TEST_F(CudaDevice, ReportsExhaustedMemory) {
  fakeCuda()->failing = "cuMemAlloc";
  fakeCuda()->failure = 2; // CUDA_ERROR_OUT_OF_MEMORY
  void *memory;
  EXPECT_EQ(mxMemAlloc(&memory, 123), MX_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(memory, nullptr);
  EXPECT_STREQ(mxGetLastError(),
               "allocating 123 bytes failed: CUDA_ERROR_2 (as "
               "the test wished)");
}

TEST_F(CudaDevice, EncodesTensorMaps) {
  alignas(8) uint8_t map[136] = {};
  const int64_t dims[] = {128, 300}, strides[] = {128};
  const int32_t box[] = {128, 64};
  // The map is not 64-byte aligned, because the caller's stack need not be.
  uint8_t *place = map + ((reinterpret_cast<uintptr_t>(map) % 64) ? 0 : 8);
  EXPECT_SUCCESS(mxTensorMapEncodeTiled(place, 0, 2, (void *)0x1000, dims,
                                        strides, box, nullptr, 0, 3, 2, 0));
  EXPECT_EQ(place[8], 0x5A);
  EXPECT_EQ(place[127], 0x5A);
  EXPECT_EQ(takeLog(),
            Log{"cuTensorMapEncodeTiled type=0 dim=128 box=128 step=1 dim=300 "
                "stride=128 box=64 step=1 0 3 2 0"});
  // Repeated arguments make no driver call; changed arguments do.
  uint8_t again[128] = {};
  EXPECT_SUCCESS(mxTensorMapEncodeTiled(again, 0, 2, (void *)0x1000, dims,
                                        strides, box, nullptr, 0, 3, 2, 0));
  EXPECT_EQ(memcmp(again, place, sizeof(again)), 0);
  EXPECT_EQ(takeLog(), Log{});
  EXPECT_SUCCESS(mxTensorMapEncodeTiled(again, 0, 2, (void *)0x1000, dims,
                                        strides, box, nullptr, 0, 2, 2, 0));
  EXPECT_EQ(takeLog().size(), 1u);
}

TEST_F(CudaDevice, NamesTheBrokenTensorMapRule) {
  uint8_t map[128] = {};
  const int64_t dims[] = {128, 300}, strides[] = {130};
  const int32_t box[] = {128, 64};
  fakeCuda()->failing = "cuTensorMapEncodeTiled";
  fakeCuda()->failure = 1; // CUDA_ERROR_INVALID_VALUE
  EXPECT_ERROR_WITH(mxTensorMapEncodeTiled(map, 0, 2, (void *)0x1000, dims,
                                           strides, box, nullptr, 0, 3, 2, 0),
                    MX_ERROR_INVALID_VALUE, "130");
  EXPECT_EQ(map[0], 0);
  // If the driver refuses a legal map, its own message is kept.
  mxClearError();
  fakeCuda()->failing = "cuTensorMapEncodeTiled";
  const int64_t good[] = {128};
  EXPECT_ERROR(
      mxTensorMapEncodeTiled(map, 0, 2, (void *)0x2000, dims, good, box,
                             nullptr, 0, 3, 2, 0),
      MX_ERROR_INVALID_VALUE,
      "encoding a tensor map failed: CUDA_ERROR_1 (as the test wished)");
}

TEST_F(CudaDevice, SkipsEmptyTensorMaps) {
  uint8_t map[128], zeros[128] = {};
  memset(map, 0xFF, sizeof(map));
  const int64_t dims[] = {128, 0}, strides[] = {128};
  const int32_t box[] = {128, 64};
  EXPECT_SUCCESS(mxTensorMapEncodeTiled(map, 0, 2, nullptr, dims, strides, box,
                                        nullptr, 0, 3, 2, 0));
  EXPECT_EQ(memcmp(map, zeros, sizeof(map)), 0);
  EXPECT_EQ(takeLog(), Log{});
}

TEST_F(CudaDevice, MgpuFunctionsReachTheDriver) {
  void *mgpuModule = mgpuModuleLoadJIT((void *)kPtx, 3);
  ASSERT_NE(mgpuModule, nullptr) << mxGetLastError();
  void *function = mgpuModuleGetFunction(mgpuModule, "kernel");
  uint64_t a = 1, b = 2;
  void *parameters[] = {&a, &b};
  void *stream = mgpuStreamCreate();
  takeLog();
  mgpuLaunchClusterKernel(function, 2, 1, 1, 4, 1, 1, 64, 1, 1, 100, stream,
                          parameters, nullptr);
  mgpuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr,
                   2);
  void *event = mgpuEventCreate();
  mgpuEventRecord(event, stream);
  mgpuStreamWaitEvent(stream, event);
  mgpuEventSynchronize(event);
  mgpuEventDestroy(event);
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
  void *shared = mgpuMemAlloc(8, nullptr, true);
  mgpuMemset32(shared, 0x01020304, 2, nullptr);
  mgpuMemset16(shared, 0x0506, 1, nullptr);
  EXPECT_EQ(memcmp(shared, "\x06\5\2\1\4\3\2\1", 8), 0);
  uint64_t copy = 0;
  mgpuMemcpy(&copy, shared, 8, nullptr);
  EXPECT_EQ(copy, 0x0102030401020506u);
  mgpuMemFree(shared, nullptr);
  mgpuMemHostRegister(&copy, 8);
  mgpuMemHostUnregister(&copy);
  mgpuModuleUnload(mgpuModule);
  EXPECT_STREQ(mxGetLastError(), "");
  EXPECT_EQ(
      takeLog(),
      (Log{"cuLaunchKernelEx grid=4,1,1 block=64,1,1 smem=100 stream=80 "
           "cluster=2,1,1 p0=1 p1=2",
           "cuLaunchKernelEx grid=4,1,1 block=64,1,1 smem=0 stream=80 p0=1 "
           "p1=2",
           "cuEventCreate flags=2", "cuEventRecord 96 80",
           "cuStreamWaitEvent 80 96", "cuEventSynchronize 96",
           "cuEventDestroy 96", "cuStreamSynchronize 80", "cuStreamDestroy 80",
           "cuMemAllocManaged flags=1", "cuMemAlloc 8", "cuMemsetD32Async 2",
           "cuMemsetD16Async 1", "cuMemcpyAsync 8 stream=0", "cuMemFree",
           "cuMemHostRegister 8", "cuMemHostUnregister", "cuModuleUnload"}));
}

TEST_F(CudaDevice, FlagsApplyToTheNextMgpuLaunchOnly) {
  mxFunction function = kernel();
  uint64_t a = 1, b = 2;
  void *parameters[] = {&a, &b};
  auto launchOne = [&](intptr_t grid) {
    mgpuLaunchKernel(function, grid, 1, 1, 64, 1, 1, 0, nullptr, parameters,
                     nullptr, 2);
  };
  std::string plain = "cuLaunchKernelEx grid=4,1,1 block=64,1,1 smem=0 "
                      "stream=0 p0=1 p1=2";
  std::string early = "cuLaunchKernelEx grid=4,1,1 block=64,1,1 smem=0 "
                      "stream=0 programmatic=1 p0=1 p1=2";
  launchOne(4);
  mxNextLaunchFlags(MX_LAUNCH_PROGRAMMATIC);
  launchOne(4);
  launchOne(4);
  EXPECT_EQ(takeLog(), (Log{plain, early, plain}));
  // Launches with clusters use another function.
  mxNextLaunchFlags(MX_LAUNCH_PROGRAMMATIC);
  mgpuLaunchClusterKernel(function, 2, 1, 1, 4, 1, 1, 64, 1, 1, 0, nullptr,
                          parameters, nullptr);
  EXPECT_EQ(takeLog(),
            Log{"cuLaunchKernelEx grid=4,1,1 block=64,1,1 smem=0 stream=0 "
                "cluster=2,1,1 programmatic=1 p0=1 p1=2"});
  // An empty grid and a launch after an error also consume the flags.
  mxNextLaunchFlags(MX_LAUNCH_PROGRAMMATIC);
  launchOne(0);
  launchOne(4);
  EXPECT_EQ(takeLog(), Log{plain});
  mxReportError("%s", "test");
  mxNextLaunchFlags(MX_LAUNCH_PROGRAMMATIC);
  launchOne(4);
  mxClearError();
  launchOne(4);
  EXPECT_EQ(takeLog(), Log{plain});
  // The flags belong to this thread and do not affect mxLaunch, which takes its
  // own.
  mxNextLaunchFlags(MX_LAUNCH_PROGRAMMATIC);
  std::thread([&] { launchOne(4); }).join();
  EXPECT_SUCCESS(launch(function, launchOf(4, 64)));
  EXPECT_EQ(takeLog().front(), plain);
  launchOne(4);
  EXPECT_EQ(takeLog(), Log{early});
  mxNextLaunchFlags(MX_LAUNCH_COOPERATIVE);
  launchOne(4);
  EXPECT_EQ(takeLog(),
            Log{"cuLaunchKernelEx grid=4,1,1 block=64,1,1 smem=0 stream=0 "
                "cooperative=1 p0=1 p1=2"});
  mxNextLaunchFlags(4);
  launchOne(4);
  EXPECT_EQ(takeLog(), Log{});
  EXPECT_STREQ(mxGetLastError(), "kernel 'kernel': expected known launch "
                                 "flags, found 4");
}

/// Kernels launched before an error may use memory that is freed after the
/// error.
TEST_F(CudaDevice, MgpuSynchronizesEvenAfterAnError) {
  void *memory = mgpuMemAlloc(16, nullptr, false);
  mxReportError("%s", "test");
  takeLog();
  mgpuStreamSynchronize(nullptr);
  mgpuMemFree(memory, nullptr);
  EXPECT_EQ(takeLog(),
            (Log{"cuStreamSynchronize 0", "cuMemFreeAsync stream=0"}));
  EXPECT_STREQ(mxGetLastError(), "test");
}

/// Calls without a stream are ordered in the default stream. The host frees
/// memory only after its last use.
TEST_F(CudaDevice, MgpuMemoryFollowsTheDefaultStream) {
  void *stream = mgpuStreamCreate();
  takeLog();
  void *a = mgpuMemAlloc(0, nullptr, false);
  void *b = mgpuMemAlloc(16, nullptr, false);
  void *c = mgpuMemAlloc(16, stream, false);
  void *d = nullptr;
  EXPECT_SUCCESS(mxMemAlloc(&d, 16));
  EXPECT_EQ(takeLog(),
            (Log{"cuMemAllocAsync 1 stream=0", "cuMemAllocAsync 16 stream=0",
                 "cuMemAlloc 16", "cuMemAlloc 16"}));
  mgpuMemFree(a, nullptr);
  EXPECT_SUCCESS(mxMemFree(b));
  mgpuMemFree(c, stream);
  mgpuMemFree(d, nullptr);
  EXPECT_EQ(takeLog(), (Log{"cuMemFreeAsync stream=0", "cuCtxSynchronize",
                            "cuMemFree", "cuMemFree", "cuMemFree"}));
  // Another allocation may reuse the address.
  EXPECT_SUCCESS(mxMemAlloc(&d, 16));
  EXPECT_SUCCESS(mxMemFree(d));
  EXPECT_EQ(takeLog(), (Log{"cuMemAlloc 16", "cuMemFree"}));
  mgpuStreamDestroy(stream);
}

TEST_F(CudaDevice, MgpuFunctionsStopAfterAnError) {
  fakeCuda()->failing = "cuMemAllocAsync";
  fakeCuda()->failure = 2;
  void *memory = mgpuMemAlloc(16, nullptr, false);
  EXPECT_EQ(memory, nullptr);
  takeLog();
  mgpuMemset32(memory, 1, 4, nullptr);
  mgpuMemcpy(memory, memory, 16, nullptr);
  mgpuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr, 0);
  EXPECT_EQ(mgpuStreamCreate(), nullptr);
  EXPECT_EQ(takeLog(), Log{});
  EXPECT_EQ(mxGetLastStatus(), MX_ERROR_OUT_OF_MEMORY);
}

} // namespace
