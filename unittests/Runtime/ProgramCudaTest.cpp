//===- ProgramCudaTest.cpp - Compiled directories and the CUDA driver -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the driver calls of a launch, as recorded by FakeCuda.
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "FlowFiles.h"
#include "ProgramFiles.h"
#include "Status.h"
#include "mx_program.h"

#include <cstring>

namespace {

constexpr size_t kSize = sizeof(mxArgument);

class ProgramCuda : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("MX_CUDA_DRIVER", MX_FAKE_CUDA, 1); }
  void SetUp() override {
    mxSetErrorPolicy(MX_ERRORS_RETURN);
    mxClearError();
    *fakeCuda() = FakeCuda();
    fakeCuda()->parameters = 4;
    ASSERT_SUCCESS(mxSetDevice("cuda"));
    // The fake driver does not read the files it loads.
    for (const char *name : {"kernels.ptx", "kernels.cubin"})
      files.write(name, ".version 8.0\n.target sm_90a\n.address_size 64\n");
    for (void **place : {&x, &y, &z, &memory})
      ASSERT_SUCCESS(mxMemAlloc(place, 768));
    ASSERT_SUCCESS(mxStreamCreate(&stream));
    // malloc() does not align memory to 256 bytes.
    workspace = reinterpret_cast<void *>(
        (reinterpret_cast<uintptr_t>(memory) + 255) / 256 * 256);
  }
  void TearDown() override {
    EXPECT_SUCCESS(mxStreamDestroy(stream));
    for (void *place : {x, y, z, memory})
      EXPECT_SUCCESS(mxMemFree(place));
  }
  std::vector<std::string> load() {
    fakeCuda()->log.clear();
    EXPECT_SUCCESS(mxProgramLoad(&program, files.path.c_str()));
    EXPECT_SUCCESS(mxProgramGetEntry(&entry, program, "sum"));
    return std::exchange(fakeCuda()->log, {});
  }
  ~ProgramCuda() override { mxProgramUnload(program); }

  ProgramFiles files{"kernel", "true"};
  mxProgram program = nullptr;
  mxEntry entry = nullptr;
  void *x, *y, *z, *memory, *workspace;
  mxStream stream;
};

std::string decimal(const void *pointer) {
  return std::to_string(reinterpret_cast<uintptr_t>(pointer));
}

/// A call only adds work to the stream. It neither allocates memory nor waits.
TEST_F(ProgramCuda, LaunchesInTheStream) {
  load();
  int64_t extent = 129;
  int32_t count = 129;
  mxArgument arguments[] = {
      {kSize, x, &extent}, {kSize, y, &extent}, {kSize, &count, nullptr}};
  fakeCuda()->log.clear();
  extent = count = 100;
  EXPECT_SUCCESS(
      mxEntryLaunch(entry, arguments, 3, &z, 1, workspace, 512, stream));
  EXPECT_EQ(std::exchange(fakeCuda()->log, {}),
            (std::vector<std::string>{
                "cuMemsetD8Async 400", "cuMemcpyDtoDAsync 400 stream=80",
                "cuLaunchKernelEx grid=1,1,1 block=128,1,1 smem=0 stream=80 "
                "programmatic=1 p0=" +
                    decimal(workspace) + " p1=" + decimal(y) +
                    " p2=" + decimal(z) + " p3=100"}));
  // A returned argument is not copied to itself.
  void *same = x;
  files.change("\"copy\": \"arg0\", \"to\": \"work0\"",
               "\"copy\": \"arg0\", \"to\": \"result0\"");
  mxProgramUnload(program);
  load();
  EXPECT_SUCCESS(
      mxEntryLaunch(entry, arguments, 3, &same, 1, workspace, 512, stream));
  EXPECT_EQ(fakeCuda()->log.size(), 2u);
}

/// To read a number from the device, a call enqueues all earlier launches and
/// then waits once.
TEST_F(ProgramCuda, ReadsANumber) {
  std::string manifest = kFlowManifest;
  for (size_t at; (at = manifest.find("vector_add")) != std::string::npos;)
    manifest.replace(at, strlen("vector_add"), "kernel");
  const char kernels[] = ".version 8.0\n.target sm_90a\n.address_size 64\n";
  ASSERT_SUCCESS(mxProgramLoadData(&program, manifest.data(), manifest.size(),
                                   kernels, sizeof kernels, "kernels.ptx"));
  ASSERT_SUCCESS(mxProgramGetEntry(&entry, program, "double"));
  void *second = static_cast<char *>(workspace) + 256;
  const float two = 2;
  memset(x, 0, 256);
  memset(workspace, 0, 512);
  // The fake driver runs no kernel, so write the result of the second round.
  memcpy(second, &two, sizeof two);
  int64_t extent = 64, rounds = 2, at = 0, sum = 0;
  int32_t bits = 0;
  mxArgument arguments[] = {
      {kSize, x, &extent}, {kSize, &rounds, nullptr}, {kSize, &at, nullptr}};
  void *results[] = {y, &bits, &sum};
  fakeCuda()->log.clear();
  EXPECT_SUCCESS(
      mxEntryLaunch(entry, arguments, 3, results, 3, workspace, 512, stream));
  EXPECT_EQ(bits, 0x40000000);
  EXPECT_EQ(sum, 1);
  auto launch = [&](void *from, void *to) {
    return "cuLaunchKernelEx grid=1,1,1 block=128,1,1 smem=0 stream=80 p0=" +
           decimal(from) + " p1=" + decimal(from) + " p2=" + decimal(to) +
           " p3=64";
  };
  EXPECT_EQ(std::exchange(fakeCuda()->log, {}),
            (std::vector<std::string>{
                launch(x, workspace), launch(workspace, second),
                "cuMemcpyDtoHAsync 4 stream=80", "cuStreamSynchronize 80",
                "cuMemcpyDtoDAsync 256 stream=80"}));
}

/// A program uses the cubin if the manifest names a cubin, and the PTX
/// otherwise.
TEST_F(ProgramCuda, PrefersTheCubin) {
  std::filesystem::remove(files.path + "/kernels.cubin");
  EXPECT_EQ(mxProgramLoad(&program, files.path.c_str()), MX_ERROR_BAD_MODULE);
  EXPECT_EQ(std::string(mxGetLastError()),
            files.path +
                "/kernels.cubin: cannot open: No such file or directory");
  mxClearError();
  files.change("  \"cubin\": \"kernels.cubin\",\n", "");
  EXPECT_EQ(load(), (std::vector<std::string>{"cuModuleLoadDataEx",
                                              "cuModuleGetFunction kernel"}));
}

TEST_F(ProgramCuda, RefusesAProgramForAnotherGpu) {
  files.change("  \"cubin\": \"kernels.cubin\",\n", "");
  files.write("kernels.ptx",
              ".version 8.6\n.target sm_100a\n.address_size 64\n");
  EXPECT_EQ(mxProgramLoad(&program, files.path.c_str()), MX_ERROR_WRONG_TARGET);
}

} // namespace
