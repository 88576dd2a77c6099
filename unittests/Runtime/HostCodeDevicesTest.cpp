//===- HostCodeDevicesTest.cpp - Host code on several devices -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests host code that cannot check errors, and host code that runs when the
// process exits.
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Mgpu.h"

#include <cstring>
#include <thread>

namespace {

TEST_F(Devices, NullMemoryIsRefused) {
  char host[8] = {};
  mgpuMemcpy(nullptr, host, sizeof host, nullptr);
  EXPECT_STREQ(mxGetThreadError(),
               "mgpuMemcpy: expected a destination, found a null pointer");
  mxClearError();
  mgpuMemcpy(host, nullptr, sizeof host, nullptr);
  EXPECT_STREQ(mxGetThreadError(),
               "mgpuMemcpy: expected a source, found a null pointer");
}

/// Uses the runtime after the thread-local objects of the main thread are
/// destroyed, as global destructors do.
struct AtExit {
  ~AtExit() {
    bool isNew = !*mxGetThreadError() && !*mxGetLastError();
    bool isTold = mxMemFree(this) == MX_ERROR_INVALID_VALUE &&
                  strstr(mxGetThreadError(), "expected the address") &&
                  mxGetLastStatus() == MX_ERROR_INVALID_VALUE;
    mxClearError();
    void *memory = nullptr;
    bool isUsed =
        !mxSetDevice("sim:2") && !mxMemAlloc(&memory, 64) && !mxMemFree(memory);
    if (!isNew || !isTold || !isUsed)
      _Exit(3);
  }
};

TEST_F(Devices, GlobalDestructorsMayUseTheRuntime) {
  auto end = [] {
    static AtExit atExit;
    // Too long for the small-string buffer.
    EXPECT_EQ(mxSetDevice("a device that is none of those that are known"),
              MX_ERROR_INVALID_VALUE);
    exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

/// Host code loads its modules in global constructors, before it selects a
/// device.
TEST_F(Devices, HostCodeKernelsRunOnTheStreamsDevice) {
  std::string text = readFile(MX_TEST_KERNELS);
  void *module = mgpuModuleLoad(text.data(), text.size());
  void *function = mgpuModuleGetFunction(module, "store_ids");
  ASSERT_SUCCESS(mxGetLastStatus());
  auto run = [&](int device, bool withStream) {
    mgpuSetDefaultDevice(device);
    void *stream = withStream ? mgpuStreamCreate() : nullptr;
    void *out = mgpuMemAlloc(128, stream, false);
    EXPECT_EQ(deviceOf(out), deviceName(device));
    uint32_t n = 32, found[32] = {};
    void *parameters[] = {&out, &n};
    mgpuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters,
                     nullptr, 2);
    mgpuMemcpy(found, out, sizeof found, stream);
    EXPECT_EQ(found[31], 31u) << mxGetLastError();
    mgpuMemFree(out, stream);
    mgpuStreamDestroy(stream);
  };
  for (int device : {1, 0, 3, 1})
    for (bool withStream : {false, true})
      run(device, withStream);
  std::thread([&] { run(2, false); }).join();
  EXPECT_EQ(mxGetLastStatus(), MX_SUCCESS);
  mgpuModuleUnload(module);
  mgpuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr,
                   2);
  EXPECT_STREQ(mxGetLastError(), "expected a kernel of a loaded module, found "
                                 "an invalid handle");
}

} // namespace
