//===- LaunchRunner.h - Launches of PTX fragments ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used by tests that check launch reports instead of computed results.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_SIMULATOR_LAUNCHRUNNER_H
#define MX_UNITTESTS_SIMULATOR_LAUNCHRUNNER_H

#include "PtxRunner.h"

#include <gtest/gtest.h>

namespace mx::sim {

/// Launches `body` with profiling, using the grid shape and seed of `config`.
/// The body may use 4 KiB of shared memory in `buf`, two mbarriers in `bar`,
/// and the addresses of 8 KiB of global memory in the parameters `in` and
/// `out`.
inline LaunchReport runLaunch(const std::string &body, LaunchConfig config) {
  std::string text = moduleOf(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b16 %h<2>;
  .shared .align 16 .b8 buf[4096];
  .shared .align 8 .b8 bar[16];
)" + body + "}\n");
  config.profile = true;
  DeviceMemory memory;
  for (const char *name : {"in", "out"}) {
    uint64_t address = memory.alloc(8192, 256, name);
    memory.fill(address, 1, 8192);
    addParameter(config, address);
  }
  std::string error;
  LaunchReport report = launchText(text, memory, config, error);
  EXPECT_EQ(error, "");
  return report;
}

} // namespace mx::sim

#endif // MX_UNITTESTS_SIMULATOR_LAUNCHRUNNER_H
