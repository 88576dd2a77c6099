//===- SimDeviceTest.cpp - The C interface and mgpu on the simulator ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels from PTX text, and tests the errors of callers and kernels.
//===----------------------------------------------------------------------===//

#include "Mgpu.h"
#include "Simulator.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

class SimDevice : public Simulator {
protected:
  void SetUp() override {
    Simulator::SetUp();
    module = load(readKernels(), "kernels.ptx");
  }
  void TearDown() override {
    for (mxModule loaded : modules)
      EXPECT_SUCCESS(mxModuleUnload(loaded));
    Simulator::TearDown();
  }

  /// Loads a module until TearDown.
  mxModule load(const std::string &text, const char *file) {
    mxModule loaded = nullptr;
    EXPECT_SUCCESS(mxModuleLoad(&loaded, text.c_str(), 0, file));
    modules.push_back(loaded);
    return loaded;
  }
  mxFunction kernel(const char *name) { return kernel(name, module); }
  static mxFunction kernel(const char *name, mxModule module) {
    mxFunction function = nullptr;
    EXPECT_SUCCESS(mxModuleGetFunction(&function, module, name));
    return function;
  }
  /// Launches an endless kernel through mgpu.
  void waitForever() {
    mgpuLaunchKernel(kernel("wait_forever"), 1, 1, 1, 32, 1, 1, 0, nullptr,
                     nullptr, nullptr, 0);
  }

  template <typename T>
  std::vector<T> download(void *memory, size_t count) {
    std::vector<T> values(count);
    EXPECT_SUCCESS(
        mxMemcpyToHost(values.data(), memory, count * sizeof(T), nullptr));
    return values;
  }

  mxModule module = nullptr;
  std::vector<mxModule> modules;
  const mxLaunchConfig warp = launchOf(1, 32);
};

TEST_F(SimDevice, AddsVectors) {
  const uint32_t n = 1000;
  std::vector<float> a(n), b(n);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = 0.5f * i;
    b[i] = 1000.0f - i;
  }
  void *da = upload(a), *db = upload(b), *dc = alloc(n * 4);
  ASSERT_SUCCESS(launch(kernel("vector_add"), launchOf(8, 128), da, db, dc, n));
  ASSERT_SUCCESS(mxSynchronize());
  std::vector<float> c = download<float>(dc, n);
  for (uint32_t i = 0; i < n; ++i)
    ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

/// Returns PTX with two kernels. Each stores a register of tcgen05.ld before
/// tcgen05.wait::ld, which causes a warning.
std::string warnedKernels() {
  auto kernel = [](const std::string &name) {
    return ".visible .entry " + name + R"(() {
  .reg .b32 %r<4>;
  .shared .align 4 .b32 )" +
           name + R"(_columns;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [)" +
           name + R"(_columns], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  ld.shared.b32 %r0, [)" +
           name + R"(_columns];
  mov.b32 %r1, 7;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r0], {%r1};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r0];
  add.u32 %r3, %r2, 1;
  tcgen05.wait::ld.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
  ret;
}
)";
  };
  return ".version 8.7\n.target sm_100a\n.address_size 64\n" + kernel("first") +
         kernel("second");
}

TEST_F(SimDevice, ReportsWarningsOfSuccessfulLaunches) {
  mxModule warned = load(warnedKernels(), "warned.ptx");
  auto run = [&](const char *name) {
    return launch(kernel(name, warned), warp);
  };
  // The handler may call the interface, since no lock is held.
  std::vector<std::string> texts;
  mxSetWarningHandler(
      [](const char *text, void *data) {
        mxDeviceInfo info = mxSized<mxDeviceInfo>();
        EXPECT_SUCCESS(mxGetDeviceInfo(&info));
        static_cast<std::vector<std::string> *>(data)->push_back(text);
      },
      &texts);
  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "print"));
  for (int i = 0; i < 2; ++i)
    EXPECT_SUCCESS(run("first"));
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_TRUE(
      contains(texts[0], {"kernel 'first' on the simulator ran to its end",
                          "warned.ptx:14: ld-before-wait: warning: "}));
  EXPECT_EQ(texts[0].back(), '\n');
  EXPECT_SUCCESS(run("second"));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_TRUE(contains(texts[1], {"kernel 'second'", "ld-before-wait"}));

  // Without a handler, warnings are written to standard error.
  mxSetWarningHandler(nullptr, nullptr);
  warned = load(warnedKernels(), "again.ptx");
  testing::internal::CaptureStderr();
  EXPECT_SUCCESS(run("first"));
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(),
                       {"mx runtime: warning: kernel 'first'",
                        "again.ptx:14: ld-before-wait: warning: "}));

  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "error"));
  EXPECT_ERROR_WITH(run("first"), MX_ERROR_CHECK, "kernel 'first'",
                    "MX_SIM_WARNINGS", "ld-before-wait: warning: ");
  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "none"));
  testing::internal::CaptureStderr();
  EXPECT_SUCCESS(run("second"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_ERROR_WITH(mxSetSimulatorOption("warnings", "some"),
                    MX_ERROR_INVALID_VALUE,
                    "expected print, error or none, found 'some'");
  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "error"));
}

/// Returns a u8 tensor of `rows` x 128 in which each byte encodes its position.
std::vector<uint8_t> numberedBytes(int rows) {
  std::vector<uint8_t> bytes(rows * 128);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 7 + i / 128);
  return bytes;
}

TEST_F(SimDevice, LoadsThroughATensorMapByValue) {
  const int rows = 20, boxRows = 16;
  std::vector<uint8_t> tensor = numberedBytes(rows);
  void *source = upload(tensor), *out = alloc(2 * boxRows * 128);
  alignas(64) uint8_t map[128];
  const int64_t dims[] = {128, rows}, strides[] = {128};
  const int32_t box[] = {128, boxRows};
  for (int swizzle : {0, 3}) {
    ASSERT_SUCCESS(mxTensorMapEncodeTiled(map, 0, 2, source, dims, strides, box,
                                          nullptr, 0, swizzle, 0, 0));
    int32_t x = 0, y = 8;
    uint32_t slotBytes = boxRows * 128, slots = 2;
    ASSERT_SUCCESS(launch(kernel("tma_load"), launchOf(1, 64, 0, 4096), map,
                          out, x, y, slotBytes, slotBytes, slots));
    std::vector<uint8_t> result = download<uint8_t>(out, 2 * boxRows * 128);
    for (int slot = 0; slot < 2; ++slot)
      for (int row = 0; row < boxRows; ++row)
        for (int column = 0; column < 128; ++column) {
          int at = slot * boxRows * 128 + row * 128 + column;
          // 128-byte swizzle: bits 4-6 of the address ^= bits 7-9.
          int place = swizzle ? at ^ ((at >> 7 & 7) << 4) : at;
          int from = y + slot + row;
          int expected = from < rows ? tensor[from * 128 + column] : 0;
          ASSERT_EQ(result[place], expected)
              << swizzle << " " << slot << " " << row << " " << column;
        }
  }
}

TEST_F(SimDevice, ExchangesDataInACluster) {
  void *out = alloc(8 * 32 * 4);
  ASSERT_SUCCESS(launch(kernel("cluster_exchange"), launchOf(8, 32, 2), out));
  std::vector<int32_t> result = download<int32_t>(out, 8 * 32);
  for (int i = 0; i < 8 * 32; ++i)
    ASSERT_EQ(result[i], (1 - i / 32 % 2) * 1000 + i % 32) << i;
}

TEST_F(SimDevice, DescribesTheDeviceAndAppliesOptions) {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  ASSERT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "sim");
  EXPECT_EQ(info.sharedMemoryPerBlock, 232448);
  ASSERT_SUCCESS(mxSetSimulatorOption("sm-count", "4"));
  EXPECT_EQ(mxMultiprocessorCount(), 4);
  ASSERT_SUCCESS(mxSetSimulatorOption("sm-count", "148"));
  EXPECT_EQ(mxMultiprocessorCount(), 148);
  EXPECT_EQ(mxCanRunTarget("sm_100a"), 1);
  EXPECT_EQ(mxCanRunTarget("sm_80"), 1);
  EXPECT_EQ(mxCanRunTarget("gfx90"), 0);
  EXPECT_EQ(mxCanRunTarget("sm_110a"), 0);
  for (const char *checks : {"none", "uninit-tmem,mbarrier", "all"})
    EXPECT_SUCCESS(mxSetSimulatorOption("checks", checks));
  const struct {
    const char *option, *value, *message;
  } cases[] = {
      {"seed", "-1",
       "simulator option seed: expected a number from 0 to 2^64-1, found '-1'"},
      {"sm-count", "0",
       "simulator option sm-count: expected a number from 1 to 1024, found "
       "'0'"},
      {"checks", "all,none",
       "simulator option checks: expected default, all, none or a list of "
       "uninit-tmem ld-before-wait uninit-smem tmem-leak mbarrier "
       "race proxy-fence tcgen05-fence cta-exit phase-overrun "
       "sparse-metadata read-fence uninit-global, found 'all,none'"},
      {"speed", "9",
       "expected one of the simulator options seed, checks, sm-count, "
       "instruction-limit, jobs, tensor-sums, warnings, report, record, "
       "time, machine-code, data, clock, time-figure, time-without or "
       "time-lines, found 'speed'"},
      {"time", "b100",
       "simulator option time: expected 'h200', 'b200', found 'b100'"},
      {"data", "all",
       "simulator option data: expected values or none, found "
       "'all'"},
      {"machine-code", "/no/listing", "/no/listing: No such file or directory"},
      {"clock", "fast",
       "simulator option clock: expected a number of MHz or sustained, found "
       "'fast'"},
      {"time-figure", "clock=1500,hbm-bytes=-1",
       "simulator option time-figure: hbm-bytes: expected a number from 0.001 "
       "to 50000 bytes/ns, found -1"},
      {"time-without", "gpu",
       "simulator option time-without: expected one of tensor, issue, "
       "results, shared, copy, l2, hbm, barriers, launch, found 'gpu'"},
      {"time-lines", "0",
       "simulator option time-lines: expected a number of lines, at least 1, "
       "found '0'"},
      {"tensor-sums", "fast",
       "simulator option tensor-sums: expected exact or truncated, found "
       "'fast'"},
  };
  for (const auto &entry : cases) {
    EXPECT_ERROR(mxSetSimulatorOption(entry.option, entry.value),
                 MX_ERROR_INVALID_VALUE, entry.message);
  }
}

TEST_F(SimDevice, StopsAtTheInstructionLimit) {
  void *out = alloc(128);
  ASSERT_SUCCESS(mxSetSimulatorOption("instruction-limit", "3"));
  EXPECT_EQ(launch(kernel("store_ids"), warp, out, 32), MX_ERROR_CHECK);
  ASSERT_SUCCESS(mxSetSimulatorOption("instruction-limit", "1000000"));
  mxClearError();
  EXPECT_SUCCESS(launch(kernel("store_ids"), warp, out, 32));
}

TEST_F(SimDevice, CountsLaunchesAndInstructions) {
  mxSimulatorCounters before = mxSized<mxSimulatorCounters>(), after = before;
  mxGetSimulatorCounters(&before);
  void *out = alloc(128);
  ASSERT_SUCCESS(launch(kernel("store_ids"), warp, out, 32));
  mxGetSimulatorCounters(&after);
  EXPECT_EQ(after.launches, before.launches + 1);
  EXPECT_GT(after.warpInstructions, before.warpInstructions);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(SimDevice, WritesReports) {
  std::string path = testing::TempDir() + "mx-sim-report.json";
  void *a = upload(std::vector<float>(256, 1.0f)), *c = alloc(1024);
  auto add = [&] {
    return launch(kernel("vector_add"), launchOf(2, 128), a, a, c, 256);
  };
  auto count = [&](const std::string &part) {
    std::ifstream file(path);
    std::string text(std::istreambuf_iterator<char>(file), {});
    size_t found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  ASSERT_SUCCESS(mxSetSimulatorOption("report", path.c_str()));
  ASSERT_SUCCESS(add());
  EXPECT_EQ(count("\"kernel\": \"vector_add\""), 1u);
  ASSERT_SUCCESS(add());
  EXPECT_EQ(count("\"kernel\": \"vector_add\""), 2u);
  EXPECT_GT(count("\"instructions_by_line\""), 0u);
  ASSERT_SUCCESS(mxSetSimulatorOption("report", "/no/such/folder/r"));
  EXPECT_ERROR_WITH(add(), MX_ERROR_INVALID_VALUE, "/no/such/folder/r",
                    "No such file");
  ASSERT_SUCCESS(mxSetSimulatorOption("report", ""));
  EXPECT_SUCCESS(add());
  std::remove(path.c_str());
}

TEST_F(SimDevice, ReportsAMissingDriver) {
  EXPECT_ERROR_WITH(mxSetDevice("cuda"), MX_ERROR_NO_DEVICE,
                    "no CUDA driver: cannot load /no/such/libcuda.so");
  EXPECT_ERROR(mxSetDevice("tpu"), MX_ERROR_INVALID_VALUE,
               "expected device auto, sim, sim:N, cuda or cuda:N, found 'tpu': "
               "a GPU is cuda or cuda:N");
  // The device in use is unchanged.
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  EXPECT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "sim");
  // Without a GPU, auto selects the simulator.
  EXPECT_SUCCESS(mxSetDeviceForTarget("auto", "sm_90a"));
  EXPECT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "sim");
}

TEST_F(SimDevice, EnvironmentSelectsTheDefaultDevice) {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  setenv("MX_DEVICE", "sim", 1);
  EXPECT_SUCCESS(mxSetDeviceForTarget(nullptr, "sm_90a"));
  EXPECT_SUCCESS(mxGetDeviceInfo(&info));
  EXPECT_STREQ(info.kind, "sim");
  setenv("MX_DEVICE", "cuda", 1);
  EXPECT_ERROR_WITH(mxSetDeviceForTarget(nullptr, "sm_90a"), MX_ERROR_NO_DEVICE,
                    "MX_DEVICE: no CUDA driver");
  // An explicit name overrides the environment.
  EXPECT_SUCCESS(mxSetDevice("sim"));
  unsetenv("MX_DEVICE");
  mxClearError();
  EXPECT_SUCCESS(mxSetDeviceForTarget(nullptr, nullptr));
}

TEST_F(SimDevice, KeepsTheFirstError) {
  EXPECT_STREQ(mxGetLastError(), "");
  EXPECT_EQ(mxGetLastStatus(), MX_SUCCESS);
  EXPECT_EQ(mxSetDevice("first"), MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(mxMemAlloc(nullptr, 1), MX_ERROR_INVALID_VALUE);
  EXPECT_TRUE(contains(mxGetLastError(), {"'first'"}));
  EXPECT_TRUE(contains(mxGetThreadError(), {"null pointer"}));
  // Other threads are not affected by the error.
  std::thread([&] {
    EXPECT_STREQ(mxGetLastError(), "");
    EXPECT_EQ(mxGetLastStatus(), MX_SUCCESS);
    void *memory = mgpuMemAlloc(256, nullptr, false);
    EXPECT_NE(memory, nullptr);
    mgpuMemFree(memory, nullptr);
    EXPECT_EQ(mxSetDevice("second"), MX_ERROR_INVALID_VALUE);
    mxClearError();
  }).join();
  EXPECT_TRUE(contains(mxGetLastError(), {"'first'"}));
  EXPECT_EQ(takeStatus(), MX_ERROR_INVALID_VALUE);
  EXPECT_STREQ(mxGetLastError(), "");
  EXPECT_STREQ(mxStatusName(MX_ERROR_DEADLOCK), "deadlock");
  EXPECT_STREQ(mxStatusName(-1), "unknown status");
  EXPECT_STREQ(mxStatusName(99), "unknown status");
}

TEST_F(SimDevice, RefusesBadModules) {
  mxModule bad;
  EXPECT_ERROR_WITH(mxModuleLoad(&bad, "garbage", 0, "bad.ptx"),
                    MX_ERROR_BAD_MODULE, "bad.ptx", "expected PTX text");
  const char *broken = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                       ".visible .entry k() {\n  mov.u32 %r1, ;\n}\n";
  EXPECT_ERROR_WITH(mxModuleLoad(&bad, broken, 0, "bad.ptx"),
                    MX_ERROR_BAD_MODULE, "bad.ptx:5:");
  EXPECT_ERROR(mxModuleLoad(&bad,
                            "\x7f"
                            "ELF....",
                            8, "k.cubin"),
               MX_ERROR_BAD_MODULE,
               "k.cubin: expected a 64-bit little-endian ELF file");
  const char *other = ".version 8.7\n.target sm_110a\n.address_size 64\n"
                      ".visible .entry k() { ret; }\n";
  EXPECT_ERROR_WITH(mxModuleLoad(&bad, other, 0, "k.ptx"),
                    MX_ERROR_WRONG_TARGET, "k.ptx:2:", "'sm_110a'");
  EXPECT_EQ(mxModuleLoad(&bad, nullptr, 0, nullptr), MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(bad, nullptr);
}

TEST_F(SimDevice, MissingKernelErrorListsKernels) {
  mxFunction function;
  EXPECT_ERROR_WITH(mxModuleGetFunction(&function, module, "vector_sub"),
                    MX_ERROR_NOT_FOUND,
                    "kernels.ptx: there is no kernel 'vector_sub'",
                    "'vector_add'", "'tma_load'");
}

TEST_F(SimDevice, RefusesWrongParameters) {
  void *parameters[] = {nullptr, nullptr};
  EXPECT_ERROR(mxLaunch(kernel("store_ids"), &warp, parameters, 1),
               MX_ERROR_BAD_LAUNCH,
               "kernel 'store_ids': expected 2 parameters, found 1");
  EXPECT_ERROR(mxLaunch(kernel("store_ids"), &warp, parameters, 2),
               MX_ERROR_BAD_LAUNCH,
               "kernel 'store_ids': expected a value for parameter 0, found a "
               "null pointer");
  EXPECT_EQ(mxLaunch(nullptr, &warp, parameters, 2), MX_ERROR_INVALID_VALUE);
}

TEST_F(SimDevice, SkipsEmptyGrids) {
  EXPECT_SUCCESS(launch(kernel("wait_forever"), launchOf(0, 32)));
}

TEST_F(SimDevice, ReportsWildStores) {
  void *out = alloc(31 * 4);
  EXPECT_ERROR_WITH(launch(kernel("store_ids"), warp, out, 32), MX_ERROR_CHECK,
                    "kernel 'store_ids' on the simulator", "out-of-bounds",
                    "kernels.ptx");
}

TEST_F(SimDevice, ReportsDeadlocks) {
  EXPECT_ERROR_WITH(launch(kernel("wait_forever"), warp), MX_ERROR_DEADLOCK,
                    "'wait_forever'", "deadlock");
}

TEST_F(SimDevice, OrdersStreams) {
  int32_t number = 7;
  EXPECT_SUCCESS(mxGetDeviceNumber(&number));
  EXPECT_EQ(number, -1);
  EXPECT_EQ(mxGetDeviceNumber(nullptr), MX_ERROR_INVALID_VALUE);
  mxClearError();
  mxStream stream;
  ASSERT_SUCCESS(mxStreamCreate(&stream));
  EXPECT_SUCCESS(mxStreamWait(stream, nullptr));
  EXPECT_SUCCESS(mxStreamWait(nullptr, stream));
  EXPECT_SUCCESS(mxStreamDestroy(stream));
  EXPECT_ERROR_WITH(mxStreamWait(nullptr, stream), MX_ERROR_INVALID_VALUE,
                    "expected a stream");
}

TEST_F(SimDevice, ChecksCopies) {
  void *memory = alloc(64);
  char host[128] = {};
  const struct {
    int status;
    const char *message;
  } cases[] = {
      {mxMemcpyToDevice(memory, host, 65, nullptr), "copy: expected allocated"},
      {mxMemcpyToHost(host, host, 8, nullptr), "copy: expected allocated"},
      {mxMemcpyToHost(memory, memory, 8, nullptr), "copy: expected host"},
      {mxMemcpyToDevice(nullptr, host, 8, nullptr), "expected a destination"},
      {mxMemset(host, 0, 8, nullptr), "fill: expected allocated"},
      {mxMemFree(host), "expected the address of an allocation to free"},
      {mxStreamSynchronize(host), "expected a stream or event"},
  };
  for (const auto &entry : cases)
    EXPECT_EQ(entry.status, MX_ERROR_INVALID_VALUE) << entry.message;
  // The first error is kept.
  EXPECT_TRUE(contains(takeError(), {cases[0].message}));
  EXPECT_EQ(mxMemFree((char *)memory + 16), MX_ERROR_INVALID_VALUE);
}

TEST_F(SimDevice, ChecksTensorMaps) {
  void *memory = alloc(4096);
  uint8_t map[128];
  const int64_t dims[] = {64, 16}, good[] = {64}, bad[] = {72};
  const int32_t box[] = {64, 16}, large[] = {64, 257}, none[] = {64, 0};
  auto encode = [&](int type, int rank, const int64_t *strides,
                    const int32_t *boxes, int swizzle) {
    mxClearError();
    return mxTensorMapEncodeTiled(map, type, rank, memory, dims, strides, boxes,
                                  nullptr, 0, swizzle, 0, 0);
  };
  EXPECT_SUCCESS(encode(0, 2, good, box, 2));
  EXPECT_ERROR_WITH(encode(0, 2, bad, box, 2), MX_ERROR_INVALID_VALUE,
                    "tensor map", "16", "72");
  EXPECT_ERROR_WITH(encode(0, 2, good, large, 2), MX_ERROR_INVALID_VALUE, "256",
                    "257");
  EXPECT_ERROR(encode(0, 2, good, none, 2), MX_ERROR_INVALID_VALUE,
               "tensor map: expected box dimensions from 1 to 256, found 0");
  EXPECT_ERROR_WITH(encode(0, 2, good, box, 1), MX_ERROR_INVALID_VALUE, "64",
                    "32");
  EXPECT_ERROR(encode(16, 2, good, box, 0), MX_ERROR_INVALID_VALUE,
               "tensor map: expected a data type from 0 to 15, found 16");
  EXPECT_EQ(encode(0, 6, good, box, 0), MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(0, 2, nullptr, box, 0), MX_ERROR_INVALID_VALUE);
}

//===----------------------------------------------------------------------===//
// mgpu
//===----------------------------------------------------------------------===//

TEST_F(SimDevice, RunsThroughMgpu) {
  std::string ptx = readKernels();
  void *mgpuModule = mgpuModuleLoadJIT(ptx.data(), 2);
  ASSERT_NE(mgpuModule, nullptr) << mxGetLastError();
  void *function = mgpuModuleGetFunction(mgpuModule, "vector_add");
  void *stream = mgpuStreamCreate();
  std::vector<float> a(40, 1.5f), c(40);
  uint32_t n = 40;
  void *da = mgpuMemAlloc(160, stream, false),
       *db = mgpuMemAlloc(160, stream, false),
       *dc = mgpuMemAlloc(160, stream, false);
  mgpuMemcpy(da, a.data(), 160, stream);
  mgpuMemset32(db, 0x3f800000, 40, stream);
  mgpuMemset16(dc, 0, 80, stream);
  void *event = mgpuEventCreate();
  mgpuEventRecord(event, stream);
  mgpuStreamWaitEvent(stream, event);
  void *parameters[] = {&da, &db, &dc, &n};
  mgpuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr,
                   4);
  mgpuEventSynchronize(event);
  mgpuEventDestroy(event);
  mgpuStreamSynchronize(stream);
  mgpuMemcpy(db, dc, 160, stream); // on the device
  mgpuMemcpy(c.data(), db, 160, stream);
  mgpuStreamDestroy(stream);
  EXPECT_EQ(c, std::vector<float>(40, 2.5f));
  for (void *memory : {da, db, dc})
    mgpuMemFree(memory, nullptr);
  mgpuModuleUnload(mgpuModule);
  mgpuSetDefaultDevice(0);
  EXPECT_STREQ(mxGetLastError(), "");
}

TEST_F(SimDevice, SharesMemoryWithTheHost) {
  auto add = [&](void *x, void *y, void *sum, uint32_t n) {
    void *parameters[] = {&x, &y, &sum, &n};
    mgpuLaunchKernel(kernel("vector_add"), 1, 1, 1, 32, 1, 1, 0, nullptr,
                     parameters, nullptr, 4);
  };
  // Register the middle part of a host array.
  std::vector<float> x(12, 1), y(12, 2), sum(12, 0);
  struct {
    float *allocated, *aligned;
    int64_t offset, size, stride;
  } middle = {x.data(), x.data(), 2, 8, 1};
  mgpuMemHostRegisterMemRef(1, &middle, 4);
  mgpuMemHostRegister(y.data(), 48);
  mgpuMemHostRegister(sum.data(), 48);
  add(&x[2], &y[2], &sum[2], 8);
  EXPECT_STREQ(mxGetLastError(), "");
  EXPECT_EQ(sum, std::vector<float>({0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0}));
  add(&x[2], &y[2], &sum[2], 9);
  EXPECT_ERROR_WITH(mxGetLastStatus(), MX_ERROR_CHECK, "0 bytes past the end",
                    "of 32 ");
  mgpuMemHostRegister(&sum[11], 4);
  EXPECT_TRUE(
      contains(takeError(), {"host memory that is not registered, found",
                             "offset 44 of an unnamed buffer of 48 bytes"}));
  mgpuMemHostUnregister(&sum[1]);
  EXPECT_EQ(takeStatus(), MX_ERROR_INVALID_VALUE);
  mgpuMemHostUnregisterMemRef(1, &middle, 4);
  mgpuMemHostUnregister(y.data());
  mgpuMemHostUnregister(sum.data());
  EXPECT_STREQ(mxGetLastError(), "");
  add(&x[2], &y[2], &sum[2], 8);
  EXPECT_EQ(takeStatus(), MX_ERROR_CHECK) << "no longer registered";

  // The host may access managed memory, and copies accept its addresses.
  auto *shared = static_cast<float *>(mgpuMemAlloc(96, nullptr, true));
  void *none = mgpuMemAlloc(0, nullptr, true);
  ASSERT_NE(shared, nullptr);
  ASSERT_NE(none, nullptr);
  for (int i = 0; i < 16; ++i)
    shared[i] = float(i);
  add(shared, shared + 8, shared + 16, 8);
  EXPECT_EQ(shared[23], 7 + 15);
  mgpuMemset32(shared, 0x40000000, 1, nullptr);
  EXPECT_EQ(shared[0], 2);
  mgpuMemcpy(shared + 1, x.data(), 4, nullptr);
  EXPECT_EQ(shared[1], 1);
  EXPECT_SUCCESS(mxMemcpyOnDevice(shared + 2, shared, 4, nullptr));
  EXPECT_EQ(shared[2], 2);
  mgpuMemHostUnregister(shared);
  EXPECT_EQ(takeStatus(), MX_ERROR_INVALID_VALUE) << "not registered";
  mgpuMemFree(shared, nullptr);
  mgpuMemFree(none, nullptr);
  EXPECT_STREQ(mxGetLastError(), "");
  mgpuMemFree(shared, nullptr);
  EXPECT_EQ(mxGetLastStatus(), MX_ERROR_INVALID_VALUE);
}

TEST_F(SimDevice, RunsHostCodeKernelsAsAGpuDoes) {
  // The kernel reads uninitialized shared memory.
  const char *ptx = ".version 8.0\n.target sm_90\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p) {\n"
                    ".reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
                    ".shared .align 4 .b8 s[4];\n"
                    "ld.param.u64 %rd1, [p];\n"
                    "ld.shared.u32 %r1, [s];\n"
                    "st.global.u32 [%rd1], %r1;\nret;\n}\n";
  ASSERT_SUCCESS(mxSetSimulatorOption("checks", "default"));
  mxFunction k = kernel("k", load(ptx, "k.ptx"));
  void *out = alloc(4), *parameters[] = {&out};
  auto launchForeign = [&] {
    testing::internal::CaptureStderr();
    mgpuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr, 1);
    return testing::internal::GetCapturedStderr();
  };
  // Warnings are errors, as in the test suite.
  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "error"));
  EXPECT_EQ(launchForeign(), "");
  EXPECT_EQ(takeStatus(), MX_ERROR_CHECK);
  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "print"));
  std::string warning = launchForeign();
  EXPECT_STREQ(mxGetLastError(), "");
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 0u);
  EXPECT_TRUE(contains(
      warning, {"mx runtime: warning: kernel 'k'", "k.ptx:8: uninit-smem"}));
  EXPECT_EQ(launchForeign(), "") << "once is enough";
  ASSERT_SUCCESS(mxSetSimulatorOption("warnings", "error"));

  // A caller that can check errors receives an error for the uninitialized
  // read.
  EXPECT_EQ(launch(k, launchOf(1, 1), out), MX_ERROR_CHECK);
  EXPECT_NE(download<uint32_t>(out, 1)[0], 0u);
  mxClearError();
  // If checks are requested, host code also receives the error.
  for (const char *checks : {"all", "uninit-smem"}) {
    ASSERT_SUCCESS(mxSetSimulatorOption("checks", checks));
    EXPECT_EQ(launchForeign(), "");
    EXPECT_EQ(takeStatus(), MX_ERROR_CHECK) << checks;
  }
  ASSERT_SUCCESS(mxSetSimulatorOption("checks", "default"));
  // Deadlocks also hang a GPU, so they are always errors.
  waitForever();
  EXPECT_EQ(takeStatus(), MX_ERROR_DEADLOCK);
}

TEST_F(SimDevice, RefusesCooperativeLaunchesThatDoNotFit) {
  void *a = upload(std::vector<float>(32, 1.0f)), *b = alloc(128);
  auto launchGrid = [&](int64_t grid) {
    return launch(kernel("vector_add"),
                  launchOf(grid, 1024, 0, 0, nullptr, MX_LAUNCH_COOPERATIVE), a,
                  a, b, 32);
  };
  // Each of the 148 SMs can run two blocks of 1024 threads.
  EXPECT_SUCCESS(launchGrid(296));
  EXPECT_NE(launchGrid(297), MX_SUCCESS);
  EXPECT_TRUE(
      contains(takeError(), {"expected at most 296 CTAs", "found 297"}));
}

TEST_F(SimDevice, FindsEarlyReadsOfProgrammaticLaunches) {
  void *a = upload(std::vector<float>(32, 1.0f)), *b = alloc(128),
       *c = alloc(128);
  uint32_t n = 32;
  mxFunction add = kernel("vector_add");
  // The kernel does not wait for the producer of its operand.
  auto addTo = [&](void *to, void *from, int32_t flags) {
    return launch(add, launchOf(1, 32, 0, 0, nullptr, flags), a, from, to, n);
  };
  EXPECT_SUCCESS(addTo(b, a, 0));
  EXPECT_SUCCESS(addTo(c, b, 0));
  EXPECT_ERROR_WITH(addTo(b, a, MX_LAUNCH_PROGRAMMATIC), MX_ERROR_CHECK,
                    "kernel 'vector_add'", "the write of",
                    "the launch is programmatic");
  // No wait is needed: the host synchronized, or the copy is in stream order.
  EXPECT_SUCCESS(addTo(b, a, 0));
  EXPECT_SUCCESS(mxStreamSynchronize(nullptr));
  EXPECT_SUCCESS(addTo(c, b, MX_LAUNCH_PROGRAMMATIC));
  EXPECT_SUCCESS(mxMemset(b, 0, 128, nullptr));
  EXPECT_SUCCESS(addTo(b, c, MX_LAUNCH_PROGRAMMATIC));
  EXPECT_EQ(download<float>(b, 32), std::vector<float>(32, 4.0f));

  // The flags set for mgpu apply to a single launch.
  void *parameters[] = {&a, &a, &b, &n};
  ASSERT_SUCCESS(mxSetSimulatorOption("checks", "all"));
  auto launchOne = [&] {
    mgpuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr,
                     4);
    return mxGetLastStatus();
  };
  EXPECT_SUCCESS(launchOne());
  mxNextLaunchFlags(MX_LAUNCH_PROGRAMMATIC);
  EXPECT_EQ(launchOne(), MX_ERROR_CHECK);
  mxClearError();
  EXPECT_SUCCESS(launchOne());
  ASSERT_SUCCESS(mxSetSimulatorOption("checks", "default"));
}

TEST_F(SimDevice, DistinguishesStreamsFromEvents) {
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  mgpuStreamWaitEvent(stream, stream);
  EXPECT_EQ(takeError(), "expected an event of the simulator, found a stream");
  mgpuStreamSynchronize(event);
  EXPECT_EQ(takeError(), "expected a stream of the simulator, found an event");
  mgpuEventDestroy(event);
  mgpuEventDestroy(event);
  EXPECT_EQ(takeError(),
            "expected an event of the simulator, found an invalid handle");
  mgpuEventSynchronize(nullptr);
  EXPECT_EQ(takeStatus(), MX_ERROR_INVALID_VALUE);
  mgpuStreamDestroy(stream);
  EXPECT_STREQ(mxGetLastError(), "");
}

TEST_F(SimDevice, EncodesTensorMapsOfMemrefs) {
  // A memref<18x128xi8> that starts two rows into its buffer.
  const int rows = 18;
  std::vector<uint8_t> tensor = numberedBytes(rows + 2);
  struct {
    void *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  } memref = {upload(tensor), nullptr, 256, {rows, 128}, {128, 1}};
  memref.aligned = memref.allocated;
  int64_t box[] = {8, 128};
  void *map = mgpuTensorMapEncodeTiledMemref(2, &memref, 0, 0, 0, 0, 0, box);
  ASSERT_NE(map, nullptr) << mxGetLastError();
  // Maps are cached by content, since callers never free them.
  EXPECT_EQ(mgpuTensorMapEncodeTiledMemref(2, &memref, 0, 0, 0, 0, 0, box),
            map);

  alignas(64) uint8_t image[128];
  mgpuMemcpy(image, map, 128, nullptr);
  void *out = alloc(1024);
  int32_t x = 0, y = 1;
  uint32_t bytes = 1024, slots = 1;
  void *parameters[] = {image, &out, &x, &y, &bytes, &bytes, &slots};
  mgpuLaunchClusterKernel(kernel("tma_load"), 1, 1, 1, 1, 1, 1, 32, 1, 1, 1024,
                          nullptr, parameters, nullptr);
  ASSERT_STREQ(mxGetLastError(), "");
  std::vector<uint8_t> result = download<uint8_t>(out, 1024);
  EXPECT_EQ(memcmp(result.data(), tensor.data() + 3 * 128, 1024), 0);

  EXPECT_EQ(mgpuTensorMapEncodeTiledMemref(6, &memref, 0, 0, 0, 0, 0, box),
            nullptr);
  EXPECT_STREQ(mxGetLastError(),
               "tensor map: expected a rank from 1 to 5, found 6");
}

TEST_F(SimDevice, HasNoTimedEventsByDefault) {
  mxEvent event = nullptr;
  EXPECT_ERROR(mxEventCreate(&event), MX_ERROR_UNSUPPORTED,
               "expected a GPU to measure time, found sim:0");
  EXPECT_EQ(event, nullptr);
  mxClearError();
}

TEST_F(SimDevice, MgpuDoesNothingAfterAnError) {
  waitForever();
  EXPECT_EQ(mxGetLastStatus(), MX_ERROR_DEADLOCK);
  EXPECT_EQ(mgpuMemAlloc(16, nullptr, false), nullptr);
  EXPECT_EQ(mgpuStreamCreate(), nullptr);
  EXPECT_EQ(takeStatus(), MX_ERROR_DEADLOCK);
  mgpuSetDefaultDevice(1);
  EXPECT_STREQ(
      mxGetLastError(),
      "expected a simulated device below 1, found 1: MX_SIM_DEVICES sets "
      "the number");
}

using SimDeviceDeathTest = SimDevice;

TEST_F(SimDeviceDeathTest, ExitPolicyEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        mxSetErrorPolicy(MX_ERRORS_EXIT);
        waitForever();
      },
      testing::ExitedWithCode(1),
      "mx runtime: deadlock: kernel 'wait_forever' on the simulator");
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST_F(SimDevice, ServesManyThreads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, -1);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::string ptx = readKernels();
      int bad = 0;
      for (int round = 0; round < 5; ++round) {
        mxModule own = nullptr;
        mxFunction function = nullptr;
        void *out = nullptr;
        mxStream stream = nullptr;
        bad += mxModuleLoad(&own, ptx.c_str(), 0, nullptr) != MX_SUCCESS;
        bad += mxModuleGetFunction(&function, own, "store_ids") != MX_SUCCESS;
        bad += mxStreamCreate(&stream) != MX_SUCCESS;
        bad += mxMemAlloc(&out, 128) != MX_SUCCESS;
        bad += launch(function, launchOf(1, 32, 0, 0, stream), out, 32) !=
               MX_SUCCESS;
        uint32_t result[32] = {};
        bad += mxMemcpyToHost(result, out, 128, stream) != MX_SUCCESS;
        for (uint32_t i = 0; i < 32; ++i)
          bad += result[i] != i;
        bad += mxMemFree(out) != MX_SUCCESS;
        bad += mxStreamDestroy(stream) != MX_SUCCESS;
        bad += mxModuleUnload(own) != MX_SUCCESS;
      }
      wrong[t] = bad;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0)) << mxGetLastError();
}

TEST_F(SimDevice, InterruptsWaitingLaunches) {
  const char *text = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry spin() {
  .reg .b32 %r<2>; .reg .pred %p;
  mov.u32 %r1, 0;
L:
  add.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra L;
  ret;
})";
  mxFunction spin = kernel("spin", load(text, "spin.ptx"));
  int32_t flags[2] = {0, 1};
  std::atomic<bool> hasEnded{false};
  int statuses[2] = {MX_SUCCESS, MX_SUCCESS};
  std::thread first([&] {
    mxSetThreadInterrupt(&flags[0]);
    statuses[0] = launch(spin, warp);
    hasEnded = true;
  });
  std::thread second([&] {
    mxSetThreadInterrupt(&flags[1]);
    statuses[1] = launch(spin, warp);
  });
  second.join();
  EXPECT_EQ(statuses[1], MX_ERROR_INTERRUPTED);
  EXPECT_FALSE(hasEnded);
  __atomic_store_n(&flags[0], 1, __ATOMIC_RELAXED);
  first.join();
  EXPECT_EQ(statuses[0], MX_ERROR_INTERRUPTED);
  mxClearError();
}

} // namespace
