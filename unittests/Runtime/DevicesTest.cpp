//===- DevicesTest.cpp - Several simulated devices, many threads ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every call uses the device of its handle, regardless of the current device.
// The random test is also run with the thread and address sanitizers.
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Mgpu.h"
#include "ProgramFiles.h"

#include "mx_program.h"

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr size_t kSize = sizeof(mxArgument);

TEST_F(Devices, MemoryBelongsToItsDevice) {
  std::array<void *, kDevices> memory = {};
  for (int i = 0; i < kDevices; ++i) {
    use(i);
    ASSERT_SUCCESS(mxMemAlloc(&memory[size_t(i)], 64));
  }
  use(2);
  for (int i = 0; i < kDevices; ++i)
    EXPECT_EQ(deviceOf(memory[size_t(i)]), deviceName(i));
  int local = 0;
  EXPECT_EQ(deviceOf(&local),
            "expected memory of a device in use, found memory of the host or "
            "of a device that was not used yet (mxSetDevice)");
  // Copy from each device to the next and back to the host while a different
  // device is current.
  int64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, found[8] = {};
  ASSERT_SUCCESS(mxMemcpyToDevice(memory[0], values, 64, nullptr));
  for (size_t i = 1; i < kDevices; ++i)
    ASSERT_SUCCESS(mxMemcpyOnDevice(memory[i], memory[i - 1], 64, nullptr));
  ASSERT_SUCCESS(mxMemcpyToHost(found, memory[kDevices - 1], 64, nullptr));
  EXPECT_EQ(memcmp(values, found, sizeof found), 0);
  for (void *address : memory)
    EXPECT_SUCCESS(mxMemFree(address));
  EXPECT_EQ(mxMemFree(memory[1]), MX_ERROR_INVALID_VALUE);
}

TEST_F(Devices, MessagesNameTheOtherDevice) {
  mxStream first = nullptr;
  ASSERT_SUCCESS(mxStreamCreate(&first));
  use(1);
  void *memory = nullptr;
  ASSERT_SUCCESS(mxMemAlloc(&memory, 64));
  EXPECT_EQ(mxMemset(memory, 1, 8, first), MX_ERROR_INVALID_VALUE);
  std::string text = mxGetThreadError();
  EXPECT_TRUE(
      contains(text, {"in the memory of simulated device 1 rather than 0"}));
  EXPECT_SUCCESS(mxMemFree(memory));
  EXPECT_SUCCESS(mxStreamDestroy(first));
}

TEST_F(Devices, EachThreadSelectsItsDevice) {
  use(1);
  std::thread([] {
    // The first selection, made in the main thread, is the default of others.
    EXPECT_EQ(current(), "sim:1");
    use(3);
    EXPECT_EQ(current(), "sim:3");
    EXPECT_SUCCESS(mxSetThreadDevice("sim:2"));
    EXPECT_EQ(current(), "sim:2");
    EXPECT_SUCCESS(mxSetThreadDevice(nullptr));
    EXPECT_EQ(current(), "sim:3");
    mgpuSetDefaultDevice(2);
    EXPECT_EQ(current(), "sim:2");
  }).join();
  EXPECT_EQ(current(), "sim:1");
  EXPECT_SUCCESS(mxSetThreadDevice("sim:3"));
  std::thread([] { EXPECT_EQ(current(), "sim:1"); }).join();
  use(0);
  EXPECT_EQ(current(), "sim:0");
  EXPECT_ERROR(mxSetDevice("sim:4"), MX_ERROR_NO_DEVICE,
               "expected a simulated device below 4, found 4: MX_SIM_DEVICES "
               "sets the number");
  EXPECT_EQ(current(), "sim:0");
}

TEST_F(Devices, StreamsBelongToTheirDevice) {
  mxStream first = nullptr, second = nullptr;
  ASSERT_SUCCESS(mxStreamCreate(&first));
  use(1);
  ASSERT_SUCCESS(mxStreamCreate(&second));
  EXPECT_SUCCESS(mxStreamSynchronize(first));
  EXPECT_SUCCESS(mxStreamWait(first, second));
  EXPECT_SUCCESS(mxStreamWait(second, first));
  mxModule module = nullptr;
  mxFunction function = nullptr;
  ASSERT_SUCCESS(
      mxModuleLoad(&module, readFile(MX_TEST_KERNELS).c_str(), 0, "k"));
  ASSERT_SUCCESS(mxModuleGetFunction(&function, module, "store_ids"));
  EXPECT_ERROR(launch(function, launchOf(1, 32, 0, 0, first), uint64_t(0), 0),
               MX_ERROR_INVALID_VALUE,
               "expected a stream of sim:1, found one of sim:0");
  EXPECT_SUCCESS(mxModuleUnload(module));
  EXPECT_SUCCESS(mxStreamDestroy(first));
  EXPECT_SUCCESS(mxStreamDestroy(second));
}

TEST_F(Devices, StaleHandlesAreRefused) {
  std::string text = readFile(MX_TEST_KERNELS);
  mxModule dead = nullptr;
  mxFunction function = nullptr;
  ASSERT_SUCCESS(mxModuleLoad(&dead, text.c_str(), 0, "k"));
  ASSERT_SUCCESS(mxModuleGetFunction(&function, dead, "store_ids"));
  ASSERT_SUCCESS(mxModuleUnload(dead));
  // The slot of the handle is reused, and possibly also the memory of the
  // module.
  for (int i = 0; i < 100; ++i) {
    mxModule module = nullptr;
    mxFunction other = nullptr;
    ASSERT_SUCCESS(mxModuleLoad(&module, text.c_str(), 0, "k"));
    ASSERT_SUCCESS(mxModuleGetFunction(&other, module, "store_ids"));
    EXPECT_ERROR(
        launch(function, mxSized<mxLaunchConfig>()), MX_ERROR_INVALID_VALUE,
        "expected a kernel of a loaded module, found an invalid handle");
    EXPECT_EQ(mxModuleUnload(dead), MX_ERROR_INVALID_VALUE);
    EXPECT_EQ(mxModuleGetFunction(&other, dead, "k"), MX_ERROR_INVALID_VALUE);
    ASSERT_SUCCESS(mxModuleUnload(module));
  }
}

TEST_F(Devices, AcceptStructsOfOlderCallers) {
  // The first fields of mxDeviceInfo, followed by memory of the caller.
  struct {
    size_t structSize = offsetof(mxDeviceInfo, name);
    char kind[16] = {};
    char after[16] = "untouched";
  } old;
  EXPECT_SUCCESS(mxGetDeviceInfo(reinterpret_cast<mxDeviceInfo *>(&old)));
  EXPECT_STREQ(old.kind, "sim");
  EXPECT_STREQ(old.after, "untouched");
  mxDeviceInfo unset = {};
  EXPECT_ERROR(mxGetDeviceInfo(&unset), MX_ERROR_INVALID_VALUE,
               "expected structSize of mxDeviceInfo to be at least 16, found "
               "0: set it to sizeof(mxDeviceInfo)");
  EXPECT_EQ(mxGetInterfaceVersion(), MX_INTERFACE_VERSION);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Program of ProgramFiles.h with arrays on any device.
struct Arrays {
  static constexpr int64_t n = 300;
  void *x = nullptr, *y = nullptr, *z = nullptr, *workspace = nullptr;

  explicit Arrays(float seed) {
    std::vector<float> values(n);
    for (int64_t i = 0; i < n; ++i)
      values[size_t(i)] = seed + float(i);
    for (void **memory : {&x, &y, &z, &workspace})
      EXPECT_SUCCESS(mxMemAlloc(memory, 4096));
    for (void *memory : {x, y})
      EXPECT_SUCCESS(mxMemcpyToDevice(memory, values.data(), n * 4, nullptr));
  }
  ~Arrays() {
    for (void *memory : {x, y, z, workspace})
      EXPECT_SUCCESS(mxMemFree(memory));
  }
  int launch(mxEntry entry) { return launch(entry, y); }
  int launch(mxEntry entry, void *second) {
    int64_t extent = n;
    int32_t count = n;
    mxArgument arguments[] = {{kSize, x, &extent},
                              {kSize, second, &extent},
                              {kSize, &count, nullptr}};
    return mxEntryLaunch(entry, arguments, 3, &z, 1, workspace, 4096, nullptr);
  }
  int countWrong(float seed) {
    std::vector<float> found(n);
    EXPECT_SUCCESS(mxMemcpyToHost(found.data(), z, n * 4, nullptr));
    int wrong = 0;
    for (int64_t i = 0; i < n; ++i)
      wrong += found[size_t(i)] != 2 * (seed + float(i));
    return wrong;
  }
};

TEST_F(Devices, ProgramsRunOnTheDeviceOfTheirArrays) {
  ProgramFiles files("vector_add", "false");
  files.write("kernels.ptx", readFile(MX_TEST_KERNELS));
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  ASSERT_SUCCESS(mxProgramLoad(&program, files.path.c_str()));
  ASSERT_SUCCESS(mxProgramGetEntry(&entry, program, "sum"));
  use(3);
  Arrays there(7.0f);
  for (int i = kDevices; i--;) {
    use(i);
    Arrays arrays{float(i)};
    use((i + 1) % kDevices);
    ASSERT_SUCCESS(arrays.launch(entry));
    EXPECT_EQ(arrays.countWrong(float(i)), 0);
    if (i == 3)
      continue;
    EXPECT_EQ(arrays.launch(entry, there.y), MX_ERROR_INVALID_VALUE);
    EXPECT_EQ(std::string(mxGetThreadError()),
              "entry 'sum': argument 1 'y': expected memory of " +
                  deviceName(i) +
                  ", the device of argument 0 'x', found memory of sim:3: copy "
                  "all arrays to one device");
  }
  EXPECT_SUCCESS(mxProgramUnload(program));
  EXPECT_ERROR(
      there.launch(entry), MX_ERROR_INVALID_VALUE,
      "expected an entry of a loaded program, found an invalid handle");
}

/// The files of a program are read again for each device and must not have
/// changed.
TEST_F(Devices, ChangedProgramFilesAreRefused) {
  ProgramFiles files("vector_add", "false");
  const std::string text = readFile(MX_TEST_KERNELS);
  files.write("kernels.ptx", text);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(
      std::filesystem::path(files.path).parent_path());
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  ASSERT_SUCCESS(mxProgramLoad(
      &program, std::filesystem::path(files.path).filename().c_str()));
  ASSERT_SUCCESS(mxProgramGetEntry(&entry, program, "sum"));
  // The path of the program is relative to the initial working directory.
  std::filesystem::current_path("/");
  auto launchOn = [&](int device) {
    use(device);
    Arrays arrays{1.0f};
    int status = arrays.launch(entry);
    EXPECT_EQ(status ? 0 : arrays.countWrong(1.0f), 0);
    return status;
  };
  EXPECT_SUCCESS(launchOn(1));
  const std::string ptx = files.path + "/kernels.ptx";
  auto expectRefused = [&](const char *found) {
    EXPECT_EQ(launchOn(2), MX_ERROR_BAD_MODULE);
    EXPECT_EQ(mxGetThreadError(),
              "entry 'sum': " + ptx +
                  ": expected the file that the program was loaded from, "
                  "found " +
                  found + ": load the program again");
  };
  files.write("kernels.ptx", text + "// of a later compilation\n");
  expectRefused("a file that was changed since");
  std::filesystem::remove(ptx);
  expectRefused("none");
  // A loaded program stays on its device.
  EXPECT_SUCCESS(launchOn(0));
  EXPECT_SUCCESS(mxProgramUnload(program));
  std::filesystem::current_path(before);
}

/// Eight threads run random operations on four devices, with modules and
/// programs loaded and unloaded by other threads.
TEST_F(Devices, RandomOperationsInThreads) {
  constexpr size_t kThreads = 8, kShared = 4;
  const char *asked = getenv("MX_TEST_ROUNDS");
  const int rounds = asked ? atoi(asked) : 60;
  ProgramFiles files("vector_add", "false");
  files.write("kernels.ptx", readFile(MX_TEST_KERNELS));
  const std::string text = readFile(MX_TEST_KERNELS);
  std::array<std::atomic<mxModule>, kShared> modules = {};
  std::array<std::atomic<mxProgram>, kShared> programs = {};
  std::atomic<int> wrong = 0, launches = 0, refused = 0;

  auto work = [&](unsigned thread) {
    std::mt19937 random(thread * 7919 + 1);
    auto pick = [&](size_t count) { return random() % count; };
    // Another thread may have destroyed the handle; no other error is allowed.
    auto expectLiving = [&](int status) {
      if (!status)
        return true;
      ++refused;
      if (status != MX_ERROR_INVALID_VALUE ||
          !strstr(mxGetThreadError(), "an invalid handle"))
        ADD_FAILURE() << mxStatusName(status) << ": " << mxGetThreadError();
      mxClearError();
      return false;
    };
    for (int round = 0; round < rounds; ++round) {
      int device = int(pick(kDevices));
      if (mxSetDevice(deviceName(device).c_str()))
        ADD_FAILURE() << mxGetThreadError();
      switch (pick(6)) {
      case 0: { // load and, later, unload
        mxModule module = nullptr;
        EXPECT_SUCCESS(mxModuleLoad(&module, text.c_str(), 0, "k"));
        // Unloading a null handle does nothing.
        EXPECT_SUCCESS(mxModuleUnload(modules[pick(kShared)].exchange(module)));
        break;
      }
      case 1: {
        mxProgram program = nullptr;
        EXPECT_SUCCESS(mxProgramLoad(&program, files.path.c_str()));
        EXPECT_SUCCESS(
            mxProgramUnload(programs[pick(kShared)].exchange(program)));
        break;
      }
      case 2: { // a kernel of a module that may be unloaded
        mxModule module = modules[pick(kShared)];
        mxFunction function = nullptr;
        if (!module || !expectLiving(mxModuleGetFunction(&function, module,
                                                         "wait_forever")))
          break;
        // An empty grid launches nothing, but the handle is still checked.
        if (expectLiving(launch(function, launchOf(0, 1))))
          ++launches;
        break;
      }
      case 3: { // a program on arrays of this or of another device
        mxProgram program = programs[pick(kShared)];
        mxEntry entry = nullptr;
        if (!program ||
            !expectLiving(mxProgramGetEntry(&entry, program, "sum")))
          break;
        float seed = float(pick(100));
        Arrays arrays(seed);
        EXPECT_SUCCESS(mxSetDevice(deviceName(int(pick(kDevices))).c_str()));
        if (!expectLiving(arrays.launch(entry)))
          break;
        ++launches;
        wrong += arrays.countWrong(seed);
        break;
      }
      case 4: { // copies from device to device
        void *from = nullptr, *to = nullptr;
        EXPECT_SUCCESS(mxMemAlloc(&from, 8));
        EXPECT_SUCCESS(
            mxSetThreadDevice(deviceName(int(pick(kDevices))).c_str()));
        EXPECT_SUCCESS(mxMemAlloc(&to, 8));
        EXPECT_SUCCESS(mxSetThreadDevice(nullptr));
        int64_t value = int64_t(random()), found = 0;
        EXPECT_SUCCESS(mxMemcpyToDevice(from, &value, 8, nullptr));
        EXPECT_SUCCESS(mxMemcpyOnDevice(to, from, 8, nullptr));
        EXPECT_SUCCESS(mxMemcpyToHost(&found, to, 8, nullptr));
        wrong += found != value;
        EXPECT_SUCCESS(mxMemFree(from));
        EXPECT_SUCCESS(mxMemFree(to));
        break;
      }
      default: { // errors that must not affect other threads
        EXPECT_EQ(mxSetDevice("sim:99"), MX_ERROR_NO_DEVICE);
        EXPECT_EQ(mgpuMemAlloc(8, nullptr, false), nullptr);
        EXPECT_EQ(takeStatus(), MX_ERROR_NO_DEVICE);
        mxStream stream = nullptr;
        EXPECT_SUCCESS(mxStreamCreate(&stream));
        EXPECT_SUCCESS(mxStreamSynchronize(stream));
        EXPECT_SUCCESS(mxStreamDestroy(stream));
      }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  for (std::atomic<mxModule> &module : modules)
    EXPECT_SUCCESS(mxModuleUnload(module));
  for (std::atomic<mxProgram> &program : programs)
    EXPECT_SUCCESS(mxProgramUnload(program));
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(launches, rounds);
  RecordProperty("launches", launches);
  RecordProperty("refused", refused);
}

} // namespace
