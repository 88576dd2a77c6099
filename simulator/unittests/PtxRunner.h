//===- PtxRunner.h - PTX fragments as functions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs PTX on arrays of inputs, one thread per element, so that tests can
// compare instructions with C++ on the host.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_SIMULATOR_PTXRUNNER_H
#define MX_UNITTESTS_SIMULATOR_PTXRUNNER_H

#include "mxsim/Simulator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mx::sim {

inline std::string moduleOf(const std::string &text,
                            const std::string &target = "sm_100a") {
  return ".version 8.8\n.target " + target + "\n.address_size 64\n" + text;
}

/// Launches kernel "k" of the module `text`, or returns the parser's error in
/// `error`.
inline LaunchReport launchText(const std::string &text, DeviceMemory &memory,
                               LaunchConfig config, std::string &error) {
  std::vector<Diagnostic> errors;
  auto module = Module::parse(text, "test", errors);
  if (!module) {
    error = "line " + std::to_string(errors[0].line) + ": " + errors[0].message;
    return {};
  }
  config.kernel = "k";
  return launch(*module, memory, config);
}

template <typename T>
void addParameter(LaunchConfig &config, T value) {
  const auto *p = reinterpret_cast<const uint8_t *>(&value);
  config.parameters.insert(config.parameters.end(), p, p + sizeof value);
}

struct PtxResult {
  LaunchReport report;
  std::string error;
  std::vector<uint64_t> out;
};

/// Runs `body` with inputs in %rd1 to %rd3, their low halves in %r1 to %r3 and
/// %f1 to %f3, and their low quarters in %rs1 to %rs3. Returns the values of
/// %rd0. `before` contains declarations at module scope.
inline PtxResult runPtx(const std::string &body,
                        const std::vector<std::vector<uint64_t>> &in,
                        uint32_t block = 64, const std::string &before = {},
                        const std::string &target = "sm_100a") {
  PtxResult result;
  std::string text = moduleOf(before + R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<64>; .reg .b64 %rd<64>;
  .reg .f32 %f<16>;
  .shared .align 16 .b8 smem[4096];
  ld.param.u64 %rd40, [in];
  ld.param.u64 %rd41, [out];
  ld.param.u32 %r40, [n];
  mov.u32 %r41, %ctaid.x;
  mov.u32 %r42, %ntid.x;
  mov.u32 %r43, %tid.x;
  mad.lo.u32 %r44, %r41, %r42, %r43;
  mul.wide.u32 %rd42, %r44, 8;
  mul.wide.u32 %rd43, %r40, 8;
  add.u64 %rd40, %rd40, %rd42;
  ld.global.u64 %rd1, [%rd40];
  add.u64 %rd40, %rd40, %rd43;
  ld.global.u64 %rd2, [%rd40];
  add.u64 %rd40, %rd40, %rd43;
  ld.global.u64 %rd3, [%rd40];
  cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
  mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
  cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2; cvt.u16.u64 %rs3, %rd3;
  mov.u64 %rd0, 0;
  {
)" + body + R"(
  }
  add.u64 %rd41, %rd41, %rd42;
  st.global.u64 [%rd41], %rd0;
  ret;
})",
                              target);
  uint32_t n = in[0].size(), grid = (n + block - 1) / block,
           total = grid * block;
  DeviceMemory memory;
  uint64_t inputs = memory.alloc(total * 24, 256, "in");
  uint64_t out = memory.alloc(total * 8, 256, "out");
  for (size_t k = 0; k < in.size(); ++k)
    memory.copyIn(inputs + k * total * 8, in[k].data(), n * 8);
  LaunchConfig config;
  config.grid = {grid, 1, 1};
  config.block = {block, 1, 1};
  addParameter(config, inputs);
  addParameter(config, out);
  addParameter(config, total);
  result.report = launchText(text, memory, config, result.error);
  result.out.resize(n);
  memory.copyOut(result.out.data(), out, n * 8);
  return result;
}

} // namespace mx::sim

#endif // MX_UNITTESTS_SIMULATOR_PTXRUNNER_H
