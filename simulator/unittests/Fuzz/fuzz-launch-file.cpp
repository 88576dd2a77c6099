//===- fuzz-launch-file.cpp - Arbitrary bytes as a launch file ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes the input as a launch file for a module with parameters of many kinds.
// The launch is isolated, so the simulator neither reads nor writes files.
//===----------------------------------------------------------------------===//

#include "mxsim/Report.h"

#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace mx::sim;

static const char kModule[] = R"(.version 8.8
.target sm_100a
.address_size 64
.global .align 4 .b8 g[16];
.visible .entry k(.param .u64 p, .param .u32 n)
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %q;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %q, %r2, %r1;
  @%q st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry m(.param .align 64 .b8 map[128], .param .f32 f,
                  .param .align 8 .b8 s[24])
{
  ret;
}
)";

static std::string modulePath;

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  const char *directory = std::getenv("TMPDIR");
  modulePath =
      std::string(directory ? directory : P_tmpdir) + "/mx-fuzz-XXXXXX";
  int fd = mkstemp(modulePath.data());
  if (fd < 0 || write(fd, kModule, sizeof kModule - 1) < 0)
    std::abort();
  close(fd);
  std::atexit([] { unlink(modulePath.c_str()); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  LaunchFileOptions options;
  options.modules = {modulePath};
  options.launchFile = "fuzz.json";
  options.text = std::string(reinterpret_cast<const char *>(data), size);
  options.isolated = true;
  options.memoryBytes = 16u << 20;
  options.mostInstructions = 20000;
  LaunchFileResult result = runLaunchFile(options);
  int status = result.exitStatus();
  if (status < 0 || status > 3)
    std::abort();
  (void)reportAsJson(result);
  return 0;
}
