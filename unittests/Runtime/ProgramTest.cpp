//===- ProgramTest.cpp - Compiled directories on the simulator ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests a valid program, and all errors in its files and calls.
//===----------------------------------------------------------------------===//

#include "ProgramFiles.h"
#include "Simulator.h"
#include "mx_program.h"

#include <cinttypes>
#include <thread>
#include <vector>

namespace {

constexpr size_t kSize = sizeof(mxArgument);

constexpr int32_t kElements = 300;

class Program : public Simulator {
protected:
  void SetUp() override {
    Simulator::SetUp();
    files.write("kernels.ptx", readKernels());
  }
  void TearDown() override {
    mxProgramUnload(program);
    Simulator::TearDown();
  }

  void load() {
    ASSERT_SUCCESS(mxProgramLoad(&program, files.path.c_str()));
    ASSERT_SUCCESS(mxProgramGetEntry(&entry, program, "sum"));
  }
  /// Prepares arguments and results of a valid call.
  void prepare() {
    load();
    x.resize(kElements);
    y.resize(kElements);
    for (int i = 0; i < kElements; ++i) {
      x[size_t(i)] = float(i);
      y[size_t(i)] = 0.25f;
    }
    arguments = {{kSize, upload(x), &extent},
                 {kSize, upload(y), &extent},
                 {kSize, &count, nullptr}};
    result = alloc(kElements * 4);
    ASSERT_SUCCESS(
        mxEntryGetWorkspaceBytes(entry, arguments.data(), 3, &workspaceBytes));
    workspace = alloc(workspaceBytes);
  }
  int launch() {
    return mxEntryLaunch(entry, arguments.data(), int32_t(arguments.size()),
                         &result, 1, workspace, workspaceBytes, nullptr);
  }
  void expectSums() {
    std::vector<float> z(kElements);
    ASSERT_SUCCESS(mxMemcpyToHost(z.data(), result, z.size() * 4, nullptr));
    for (size_t i = 0; i < z.size(); ++i)
      ASSERT_EQ(z[i], x[i] + y[i]) << i;
  }
  void expectError(int expected, int found, const std::string &text) {
    EXPECT_EQ(found, expected);
    EXPECT_EQ(mxGetLastStatus(), expected);
    EXPECT_EQ(mxGetLastError(), text);
    mxClearError();
  }
  void expectLoadError(int status, const std::string &text) {
    mxProgram program;
    int found = mxProgramLoad(&program, files.path.c_str());
    EXPECT_EQ(program, nullptr);
    expectError(status, found, text);
  }

  ProgramFiles files{"vector_add", "false"};
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  std::vector<float> x, y;
  int64_t extent = kElements;
  int32_t count = kElements;
  std::vector<mxArgument> arguments;
  void *result = nullptr, *workspace = nullptr;
  size_t workspaceBytes = 0;
};

TEST_F(Program, Runs) {
  prepare();
  EXPECT_EQ(workspaceBytes, 1280u);
  ASSERT_SUCCESS(launch());
  expectSums();
}

/// The grid depends on the size of the device, even in a repeated call. A
/// single block adds only its own elements, and the plan fills the remaining
/// elements.
TEST_F(Program, FollowsTheDevice) {
  prepare();
  const struct {
    const char *count;
    int summed;
  } devices[] = {{"132", kElements}, {"1", 128}, {"132", kElements}};
  for (const auto &device : devices) {
    ASSERT_SUCCESS(mxSetSimulatorOption("sm-count", device.count));
    ASSERT_SUCCESS(launch());
    std::vector<float> z(kElements);
    ASSERT_SUCCESS(mxMemcpyToHost(z.data(), result, z.size() * 4, nullptr));
    for (size_t i = 0; i < z.size(); ++i)
      ASSERT_EQ(z[i] == x[i] + y[i], int(i) < device.summed) << i;
  }
}

/// Threads launch the same program concurrently. Each thread launches it
/// repeatedly and alternates between several results and workspaces of its own.
TEST_F(Program, RunsOnManyThreads) {
  prepare();
  struct Place {
    void *result, *workspace;
  };
  std::vector<std::vector<Place>> places(4);
  for (std::vector<Place> &own : places)
    for (int i = 0; i < 3; ++i)
      own.push_back({alloc(kElements * 4), alloc(workspaceBytes)});
  std::vector<std::thread> threads;
  for (const std::vector<Place> &own : places)
    threads.emplace_back([&] {
      for (size_t round = 0; round < 12; ++round) {
        const Place &place = own[round % own.size()];
        EXPECT_SUCCESS(mxEntryLaunch(entry, arguments.data(), 3, &place.result,
                                     1, place.workspace, workspaceBytes,
                                     nullptr));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<Place> &own : places)
    for (const Place &place : own) {
      result = place.result;
      expectSums();
    }
}

TEST_F(Program, DescribesItsContents) {
  load();
  EXPECT_EQ(mxProgramEntryCount(program), 1);
  mxEntry same;
  ASSERT_SUCCESS(mxProgramGetEntryAt(&same, program, 0));
  EXPECT_EQ(same, entry);
  mxEntryInfo info = mxSized<mxEntryInfo>();
  ASSERT_SUCCESS(mxEntryGetInfo(entry, &info));
  EXPECT_STREQ(info.name, "sum");
  EXPECT_EQ(info.argumentCount, 3);
  EXPECT_EQ(info.resultCount, 1);
  mxValueInfo value = mxSized<mxValueInfo>();
  ASSERT_SUCCESS(mxEntryGetArgument(entry, 1, &value));
  EXPECT_STREQ(value.name, "y");
  EXPECT_STREQ(value.type, "tensor<?xf32>");
  EXPECT_STREQ(value.dtype, "f4");
  EXPECT_EQ(value.itemBytes, 4);
  EXPECT_FALSE(value.isNumber);
  ASSERT_EQ(value.rank, 1);
  EXPECT_EQ(value.shape[0], -1);
  ASSERT_SUCCESS(mxEntryGetArgument(entry, 2, &value));
  EXPECT_TRUE(value.isNumber);
  ASSERT_SUCCESS(mxEntryGetResult(entry, 0, &value));
  EXPECT_STREQ(value.name, "z");
  EXPECT_EQ(value.shape[0], -1);
  // Shapes need no memory.
  arguments = {{kSize, nullptr, &extent},
               {kSize, nullptr, &extent},
               {kSize, &count, nullptr}};
  int64_t shape;
  ASSERT_SUCCESS(mxEntryGetResultShape(entry, arguments.data(), 3, 0, &shape));
  EXPECT_EQ(shape, kElements);
}

TEST_F(Program, SkipsEmptyArrays) {
  load();
  extent = count = 0;
  arguments = {{kSize, nullptr, &extent},
               {kSize, nullptr, &extent},
               {kSize, &count, nullptr}};
  EXPECT_SUCCESS(mxEntryLaunch(entry, arguments.data(), 3, &result, 1, nullptr,
                               0, nullptr));
}

TEST_F(Program, RefusesBadFiles) {
  std::string manifest = files.path + "/manifest.json";
  files.change("\"format\": 5", "\"format\": 7");
  expectLoadError(MX_ERROR_BAD_MODULE,
                  manifest + ":2:13: format: expected format 5, found 7: "
                             "compile the program again");
  files.change("\"target\": \"sm_90a\",", "\"target\": \"sm_90a\"");
  expectLoadError(MX_ERROR_BAD_MODULE, manifest + ":4:3: expected ',' or '}'");
  files.change("{\"name\": \"vector_add\"", "{\"name\": \"vector_sub\"");
  expectLoadError(MX_ERROR_BAD_MODULE,
                  manifest + ":42:20: entries[0].steps[2].launch: expected a "
                             "kernel of this manifest, found 'vector_add'");
  files.write("manifest.json", "");
  expectLoadError(MX_ERROR_BAD_MODULE,
                  manifest +
                      ":1:1: expected a value, found the end of the text");
  files.write("manifest.json", files.manifest);
  files.write("kernels.ptx", "");
  expectLoadError(MX_ERROR_BAD_MODULE, files.path + "/kernels.ptx: expected "
                                                    "kernels, found no bytes");
  std::filesystem::remove(files.path + "/kernels.ptx");
  expectLoadError(MX_ERROR_BAD_MODULE,
                  files.path +
                      "/kernels.ptx: cannot open: No such file or directory");
  std::filesystem::remove(manifest);
  expectLoadError(MX_ERROR_BAD_MODULE,
                  manifest + ": cannot open: No such file or directory");
}

/// Returns the manifest with a constant of `bytes` bytes instead of y.
std::string withConstant(std::string manifest, const std::string &bytes) {
  auto change = [&](const std::string &from, const std::string &to) {
    size_t at = manifest.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    manifest.replace(at, from.size(), to);
  };
  change("\"kernels\": [",
         "\"data\": \"constants.bin\", \"constants\": [{\"name\": \"none\", "
         "\"offset\": 0, \"bytes\": 0}, {\"name\": \"ys\", \"offset\": 256, "
         "\"bytes\": " +
             bytes + "}], \"kernels\": [");
  change("{\"buffer\": \"arg1\"}", "{\"buffer\": \"const1\"}");
  return manifest;
}

TEST_F(Program, CopiesConstantsToTheDevice) {
  std::string data(256, '\0');
  for (int32_t i = 0; i < kElements; ++i) {
    float value = 0.5f * float(i);
    data.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  files.write("constants.bin", data);
  files.write("manifest.json",
              withConstant(files.manifest, std::to_string(kElements * 4)));
  // Each program owns a copy, released on unload.
  for (int round = 0; round < 2; ++round) {
    prepare();
    ASSERT_SUCCESS(launch());
    std::vector<float> z(kElements);
    ASSERT_SUCCESS(mxMemcpyToHost(z.data(), result, z.size() * 4, nullptr));
    for (size_t i = 0; i < z.size(); ++i)
      ASSERT_EQ(z[i], x[i] + 0.5f * float(i));
    ASSERT_SUCCESS(mxProgramUnload(program));
    program = nullptr;
  }
}

TEST_F(Program, RefusesBadConstants) {
  files.write("manifest.json", withConstant(files.manifest, "1200"));
  expectLoadError(MX_ERROR_BAD_MODULE,
                  files.path +
                      "/constants.bin: cannot open: No such file or directory");
  files.write("constants.bin", std::string(1455, '\0'));
  expectLoadError(MX_ERROR_BAD_MODULE,
                  files.path + "/constants.bin: expected the 1456 bytes that "
                               "the manifest declares, found 1455");
  files.write("constants.bin", std::string(1456, '\0'));
  ASSERT_SUCCESS(mxProgramLoad(&program, files.path.c_str()));
  // The constants exceed the memory of any device.
  files.write("manifest.json",
              withConstant(files.manifest, "4611686018427387903"));
  mxProgramUnload(program);
  expectLoadError(MX_ERROR_BAD_MODULE,
                  files.path +
                      "/constants.bin: expected the 4611686018427388159 bytes "
                      "that the manifest declares, found 1456");
}

TEST_F(Program, RefusesMissingKernels) {
  std::string text = files.manifest;
  for (size_t at; (at = text.find("vector_add")) != std::string::npos;)
    text.replace(at, 10, "no_kernel");
  files.write("manifest.json", text);
  EXPECT_ERROR_WITH(mxProgramLoad(&program, files.path.c_str()),
                    MX_ERROR_NOT_FOUND, "no_kernel");
}

TEST_F(Program, RefusesWrongArguments) {
  prepare();
  const std::string in = "entry 'sum': ";
  auto expectRefused = [&](const std::string &text) {
    expectError(MX_ERROR_INVALID_VALUE, launch(), in + text);
  };
  int64_t other = kElements - 1;
  arguments[1].shape = &other;
  expectRefused("expected 300 elements of y, found 299");
  arguments[1].shape = nullptr;
  expectRefused("argument 1 'y': expected a shape, found a null pointer");
  arguments[1] = {kSize, nullptr, &extent};
  expectRefused("argument 1 'y': expected device memory, found a null pointer");
  arguments[1] = arguments[0];
  arguments[2].data = nullptr;
  expectRefused("argument 2 'n': expected a number, found a null pointer");
  arguments[2].data = &count;
  extent = -1;
  expectRefused(
      "argument 0 'x': expected dimension 0 to be at least 0, found -1");
  extent = INT64_MAX;
  expectRefused("argument 0 'x': its size does not fit into 64 bits");
  extent = kElements;
  arguments.pop_back();
  expectRefused("expected 3 arguments, found 2");
  arguments.push_back({kSize, &count, nullptr});
  // The plan does not check the address of y, so the runtime must.
  void *y = arguments[1].data;
  arguments[1].data = static_cast<char *>(y) + 4;
  char address[24];
  snprintf(address, sizeof address, "%#" PRIx64,
           uint64_t(reinterpret_cast<uintptr_t>(arguments[1].data)));
  expectRefused("argument 1 'y': expected memory aligned to 16 bytes, "
                "found address " +
                std::string(address) + ": copy it");
  arguments[1].data = y;
  result = static_cast<char *>(result) + 4;
  expectRefused("expected z at a multiple of 16, found 4 after one");
  result = nullptr;
  expectRefused("result 0 'z': expected device memory, found a null pointer");
  expectError(MX_ERROR_INVALID_VALUE,
              mxEntryLaunch(entry, arguments.data(), 3, nullptr, 0, workspace,
                            workspaceBytes, nullptr),
              in + "expected 1 results, found 0");
}

TEST_F(Program, RefusesWrongWorkspaces) {
  prepare();
  const std::string in = "entry 'sum': ";
  workspaceBytes -= 1;
  expectError(MX_ERROR_INVALID_VALUE, launch(),
              in + "expected a workspace of at least 1280 bytes, found 1279");
  workspaceBytes += 1;
  void *right = std::exchange(workspace, nullptr);
  expectError(
      MX_ERROR_INVALID_VALUE, launch(),
      in + "expected a workspace at a multiple of 256, found a null pointer");
  workspace = static_cast<char *>(right) + 16;
  int status = launch();
  EXPECT_EQ(status, MX_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      std::string(mxGetLastError())
          .find(in +
                "expected a workspace at a multiple of 256, found address"),
      0u);
}

TEST_F(Program, RefusesStaleHandles) {
  load();
  mxEntryInfo info = mxSized<mxEntryInfo>();
  mxEntry none = nullptr;
  expectError(MX_ERROR_NOT_FOUND, mxProgramGetEntry(&none, program, "main"),
              "expected the entry to be one of [sum], found 'main'");
  expectError(MX_ERROR_INVALID_VALUE, mxProgramGetEntryAt(&none, program, 1),
              "expected an entry below 1, found 1");
  ASSERT_SUCCESS(mxProgramUnload(program));
  const char *dead =
      "expected an entry of a loaded program, found an invalid handle";
  expectError(MX_ERROR_INVALID_VALUE, mxEntryGetInfo(entry, &info), dead);
  expectError(MX_ERROR_INVALID_VALUE,
              mxEntryLaunch(entry, nullptr, 0, nullptr, 0, nullptr, 0, nullptr),
              dead);
  const char *unloaded = "expected a loaded program, found an invalid handle";
  expectError(MX_ERROR_INVALID_VALUE, mxProgramUnload(program), unloaded);
  expectError(MX_ERROR_INVALID_VALUE, mxProgramGetEntry(&none, program, "sum"),
              unloaded);
  program = nullptr;
  EXPECT_SUCCESS(mxProgramUnload(nullptr));
}

TEST_F(Program, NamesTheKernelThatFails) {
  prepare();
  // The simulator detects accesses past the end of the arrays.
  count = kElements + 1;
  EXPECT_EQ(launch(), MX_ERROR_CHECK);
  EXPECT_EQ(std::string(mxGetLastError())
                .find("entry 'sum': kernel 'vector_add' on the simulator"),
            0u)
      << mxGetLastError();
}

} // namespace
