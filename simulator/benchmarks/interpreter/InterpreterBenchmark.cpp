//===- InterpreterBenchmark.cpp - Warp instructions per second ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs typical kernel loops on one host thread: without checks, with cheap
// checks (all checks except the order of accesses), and with all checks.
// items_per_second counts warp instructions.
//===----------------------------------------------------------------------===//

#include "mxsim/Simulator.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace mx::sim;

namespace {

constexpr unsigned kBlock = 256, kGrid = 16;
constexpr uint64_t kElements = 1u << 22;

// Loop body. %r0 contains the thread index, %r1 the counter, %rd1 and %rd2 the
// addresses of the thread's input and output, %r2 its shared memory address.
struct Loop {
  const char *name, *body;
  unsigned trips;
};
const Loop loops[] = {
    {"integer_and_float",
     "mad.lo.s32 %r10, %r10, %r11, %r12; xor.b32 %r11, %r11, %r10;"
     "fma.rn.f32 %f1, %f1, %f2, %f3; add.f32 %f2, %f2, %f1;"
     "shl.b32 %r13, %r10, 3; and.b32 %r14, %r13, 255; max.s32 %r12, %r12, %r14;"
     "mul.f32 %f3, %f1, 0f3F7FFFFF;",
     512},
    // Reduction through shared memory with a barrier for each step.
    {"shared_and_barriers",
     "st.shared.f32 [%r2], %f1; bar.sync 0; ld.shared.f32 %f2, [%r3];"
     "add.f32 %f1, %f1, %f2; ld.shared.f32 %f3, [%r4]; fma.rn.f32 %f1, %f2, "
     "%f3, %f1; bar.sync 0; mul.f32 %f1, %f1, 0f3F000000;",
     256},
    // Elementwise: load, a few operations, store.
    {"global_elementwise",
     "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"
     "fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f2, %f2, %f3, %f4;"
     "max.f32 %f3, %f3, %f4; abs.f32 %f4, %f1;"
     "st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};"
     "add.s64 %rd1, %rd1, 4096; add.s64 %rd2, %rd2, 4096;",
     256},
    // Amax of a block of 32 and conversion to E4M3.
    {"quantize",
     "ld.global.f32 %f1, [%rd1]; abs.f32 %f2, %f1;"
     "shfl.sync.bfly.b32 %f3, %f2, 16, 31, -1; max.f32 %f2, %f2, %f3;"
     "shfl.sync.bfly.b32 %f3, %f2, 8, 31, -1; max.f32 %f2, %f2, %f3;"
     "mul.f32 %f2, %f2, 0f3B124925; mul.f32 %f1, %f1, %f2;"
     "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r5, %h1;"
     "st.global.u8 [%rd2], %r5; add.s64 %rd1, %rd1, 1024;"
     "add.s64 %rd2, %rd2, 1024;",
     64},
};

std::string moduleOf(const Loop &loop) {
  return std::string(R"(
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
  .reg .b16 %h<4>;
  .shared .align 16 .b8 smem[2048];
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, )" + std::to_string(kElements / kGrid * 4 + 65536) +
                     R"(;
  mul.wide.u32 %rd3, %r5, %r6; mul.wide.u32 %rd4, %r0, 16;
  add.s64 %rd3, %rd3, %rd4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
  mov.u32 %r2, smem; shl.b32 %r7, %r0, 2; add.u32 %r2, %r2, %r7;
  xor.b32 %r3, %r2, 4; xor.b32 %r4, %r2, 512;
  mov.u32 %r10, %r0; mov.u32 %r11, 7; mov.u32 %r12, 9;
  mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f00000000;
  mov.u32 %r1, 0;
LOOP:
)") + loop.body +
         R"(
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p, %r1, )" +
         std::to_string(loop.trips) + R"(;
  @%p bra LOOP;
  st.global.f32 [%rd2], %f1;
  st.global.u32 [%rd2+4], %r10;
  ret;
})";
}

void run(benchmark::State &state, const Loop &loop, uint32_t checks) {
  std::vector<Diagnostic> errors;
  auto module = Module::parse(moduleOf(loop), loop.name, errors);
  if (!module) {
    state.SkipWithError(errors.front().message.c_str());
    return;
  }
  DeviceMemory memory;
  // Buffers exceed the memory that the loops access by 64 KiB per CTA.
  uint64_t bytes = kElements * 4 + (2u << 20);
  uint64_t buffers[2] = {memory.alloc(bytes), memory.alloc(bytes)};
  memory.fill(buffers[0], 0x3c, bytes);
  LaunchConfig config;
  config.kernel = "k";
  config.grid = {kGrid, 1, 1};
  config.block = {kBlock, 1, 1};
  config.checks = checks;
  config.threads = 1;
  config.parameters.resize(16);
  std::memcpy(config.parameters.data(), buffers, 16);
  uint64_t instructions = 0;
  for (auto _ : state) {
    LaunchReport report = launch(*module, memory, config);
    instructions += report.statistics.warpInstructions;
    if (!report.clean()) {
      state.SkipWithError(report.text().c_str());
      return;
    }
  }
  state.SetItemsProcessed(int64_t(instructions));
}

} // namespace

int main(int argc, char **argv) {
  struct {
    const char *name;
    uint32_t checks;
  } const levels[] = {{"none", kCheckNone},
                      {"cheap", kCheckAll & ~kCheckOrder},
                      {"all", kCheckAll}};
  for (const Loop &loop : loops)
    for (auto &level : levels)
      benchmark::RegisterBenchmark(
          (std::string(loop.name) + "/checks:" + level.name).c_str(),
          [&loop, checks = level.checks](benchmark::State &state) {
            run(state, loop, checks);
          })
          ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
