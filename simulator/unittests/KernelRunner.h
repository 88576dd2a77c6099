//===- KernelRunner.h - Kernels over two buffers ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs instructions that need more registers than PtxRunner.h provides: the
// kernel reads words from `in` and writes words to `out`.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_SIMULATOR_KERNELRUNNER_H
#define MX_UNITTESTS_SIMULATOR_KERNELRUNNER_H

#include "PtxRunner.h"

namespace mx::sim {

struct KernelResult {
  LaunchReport report;
  std::string error;
  std::vector<uint32_t> out;
};

/// Runs a CTA of `threads`. The body may use the addresses of `in` and `out` in
/// %in and %out, the thread number in %thread, and 16 KiB of shared memory in
/// `smem`.
inline KernelResult runKernel(const std::string &body,
                              const std::vector<uint32_t> &in, size_t outWords,
                              uint32_t threads, bool truncates = false,
                              const char *target = "sm_90a",
                              const char *version = "8.8") {
  KernelResult result;
  std::string text = std::string(".version ") + version + "\n.target " +
                     target + R"(
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<400>; .reg .b64 %rd<64>;
  .reg .f32 %f<300>;
  .reg .b64 %in; .reg .b64 %out; .reg .b32 %thread;
  .shared .align 1024 .b8 smem[16384];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %thread, %tid.x;
)" + body + R"(
  ret;
})";
  DeviceMemory memory;
  uint64_t from = memory.alloc(in.size() * 4 + 16, 256, "in");
  uint64_t to = memory.alloc(outWords * 4 + 16, 256, "out");
  memory.copyIn(from, in.data(), in.size() * 4);
  LaunchConfig config;
  config.block = {threads, 1, 1};
  config.truncatesTensorSums = truncates;
  addParameter(config, from);
  addParameter(config, to);
  result.report = launchText(text, memory, config, result.error);
  result.out.resize(outWords);
  memory.copyOut(result.out.data(), to, outWords * 4);
  return result;
}

/// Returns a register list, such as "{%r10,%r11}".
inline std::string registers(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ",%r" : "%r") + std::to_string(first + i);
  return text + "}";
}

/// Returns code that loads `count` words from `in`, starting at index
/// `word` + thread * `count`.
inline std::string loadWords(unsigned first, unsigned count, unsigned word) {
  std::string text = "mul.wide.u32 %rd60, %thread, " +
                     std::to_string(count * 4) +
                     "; add.u64 %rd60, %rd60, %in;\n";
  for (unsigned i = 0; i < count; ++i)
    text += "ld.global.b32 %r" + std::to_string(first + i) + ", [%rd60+" +
            std::to_string((word + i) * 4) + "];\n";
  return text;
}
inline std::string storeWords(unsigned first, unsigned count) {
  std::string text = "mul.wide.u32 %rd61, %thread, " +
                     std::to_string(count * 4) +
                     "; add.u64 %rd61, %rd61, %out;\n";
  for (unsigned i = 0; i < count; ++i)
    text += "st.global.b32 [%rd61+" + std::to_string(i * 4) + "], %r" +
            std::to_string(first + i) + ";\n";
  return text;
}

} // namespace mx::sim

#endif // MX_UNITTESTS_SIMULATOR_KERNELRUNNER_H
