// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures cold misses of code, parameters and pages of memory. A kernel runs
// three times in a CUDA graph, and the third run is measured. Before the third
// run, long code may evict the caches of an SM, and large data may evict L2.

#include "common.h"

constexpr int kJumps = 16;

/// Jumps over FILLER instructions of 16 bytes, in two rounds. The code is cold
/// in the first round.
template <int FILLER>
__global__ void jumps(long long *cycles, uint32_t *out, uint32_t limit, uint32_t y) {
  uint32_t x = threadIdx.x;
  long long found[2];
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    long long begin = clock64();
#pragma unroll
    for (int jump = 0; jump < kJumps; ++jump) {
      if (x + jump < limit) {
#pragma unroll
        for (int k = 0; k < FILLER; ++k)
          asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(x) : "r"(y + k % 8));
      }
      asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(y));
    }
    found[round] = clock64() - begin;
  }
  if (threadIdx.x == 0) {
    cycles[blockIdx.x] = found[0];
    cycles[gridDim.x + blockIdx.x] = found[1];
  }
  if (x == 0x12345)
    *out = x;
}

/// Runs straight code once.
template <int COUNT> __global__ void straight(long long *cycles, uint32_t *out, uint32_t y) {
  uint32_t x[8];
  for (int c = 0; c < 8; ++c)
    x[c] = threadIdx.x + c;
  long long begin = clock64();
#pragma unroll
  for (int k = 0; k < COUNT; ++k)
    asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(x[k % 8]) : "r"(y));
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  uint32_t sum = 0;
  for (uint32_t value : x)
    sum ^= value;
  if (sum == 0x12345)
    *out = sum;
}

constexpr int kReads = 8;

/// Waits for a value by comparing it with 77, which never occurs.
__device__ void await(uint32_t value, uint32_t *out) {
  if (value == 77)
    asm volatile("st.global.u32 [%0], %1;" ::"l"(out), "r"(value) : "memory");
}

__device__ void keep(long long *cycles, const long long (&found)[kReads]) {
  if (threadIdx.x == 0)
    for (int i = 0; i < kReads; ++i)
      cycles[i * gridDim.x + blockIdx.x] = found[i];
}

struct Parameters {
  uint32_t words[1000];
};

/// Reads parameters `step` words apart; each read waits for the previous read.
/// The second read also misses on `step` itself.
__global__ void parameters(long long *cycles, Parameters p, int step, uint32_t *out) {
  long long found[kReads];
  uint32_t at = threadIdx.x / 1024;
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    long long begin = clock64();
    uint32_t value = p.words[at + i * step];
    await(value, out);
    found[i] = clock64() - begin;
    at += value;
  }
  keep(cycles, found);
}

/// Reads memory `step` bytes apart, bypassing L1, in the same way.
__global__ void pages(long long *cycles, const char *memory, size_t step, uint32_t *out) {
  long long found[kReads];
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    long long begin = clock64();
    uint32_t value;
    asm volatile("ld.global.cg.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(memory + sum + i * step + blockIdx.x * 4096)
                 : "memory");
    await(value, out);
    found[i] = clock64() - begin;
    sum += value;
  }
  keep(cycles, found);
}

__global__ void readAll(const uint4 *memory, size_t count, uint32_t *out) {
  uint32_t sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    sum += memory[i].x;
  if (sum == 0x12345)
    *out = sum;
}

enum Before { kSame = 0, kCode = 1, kMemory = 2 };
static const char *const kNames[] = {"the same kernel before", "other code before",
                                     "512 MiB read before", "512 MiB and other code before"};
constexpr size_t kBytes = size_t(512) << 20;

struct Cold {
  uint4 *memory; ///< twice kBytes; reads of the first half evict L2
  long long *scratch;

  /// Returns the medians over `ctas` CTAs of the `parts` numbers that
  /// `launch(stream, cycles)` writes for each CTA.
  template <typename F>
  std::vector<double> measure(int before, int parts, int ctas, F launch) const {
    Cycles cycles(parts * ctas);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch(stream, cycles.device);
    launch(stream, cycles.device);
    if (before & kMemory)
      readAll<<<countSMs() * 2, 1024, 0, stream>>>(memory, kBytes / 16, nullptr);
    if (before & kCode)
      straight<16384><<<countSMs(), 128, 0, stream>>>(scratch, nullptr, 77);
    launch(stream, cycles.device);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i)
      CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<long long> host(parts * ctas);
    CHECK(cudaMemcpy(host.data(), cycles.device, host.size() * 8, cudaMemcpyDeviceToHost));
    std::vector<double> medians;
    for (int i = 0; i < parts; ++i) {
      auto begin = host.begin() + i * ctas;
      std::sort(begin, begin + ctas);
      medians.push_back(double(begin[ctas / 2]));
    }
    return medians;
  }

  template <int FILLER> void measureJumps() const {
    for (int before : {0 + kSame, 0 + kCode, kMemory | kCode}) {
      int ctas = countSMs();
      auto found = measure(before, 2, ctas, [&](cudaStream_t s, long long *cycles) {
        jumps<FILLER><<<ctas, 32, 0, s>>>(cycles, nullptr, 0, 77);
      });
      std::string name =
          "a jump over " + std::to_string(FILLER * 16) + " bytes, 1 warp, " + kNames[before];
      emit(name + ", first", found[0] / kJumps, "cycles");
      emit(name + ", again", found[1] / kJumps, "cycles");
    }
  }

  template <int COUNT> void measureStraight(int warps) const {
    for (int before : {0 + kSame, 0 + kCode, kMemory | kCode}) {
      auto found = measure(before, 1, countSMs(), [&](cudaStream_t s, long long *cycles) {
        straight<COUNT><<<countSMs(), warps * 32, 0, s>>>(cycles, nullptr, 77);
      });
      emit(std::to_string(COUNT) + " instructions, " + std::to_string(warps) +
               (warps > 1 ? " warps, " : " warp, ") + kNames[before],
           found[0], "cycles");
    }
  }

  /// Emits the times of the first reads and of the last read.
  template <typename F> void measureReads(const std::string &name, int before, F launch) const {
    auto found = measure(before, kReads, countSMs(), launch);
    for (int i : {0, 1, 2, kReads - 1})
      emit(name + " bytes apart, " + kNames[before] + ", read " + std::to_string(i), found[i],
           "cycles");
  }
};

int main() {
  Cold cold;
  CHECK(cudaMalloc(&cold.memory, 2 * kBytes));
  CHECK(cudaMemset(cold.memory, 0, 2 * kBytes));
  CHECK(cudaMalloc(&cold.scratch, countSMs() * sizeof(long long)));
  cold.measureJumps<64>();
  cold.measureJumps<256>();
  for (int warps : {1, 4}) {
    cold.measureStraight<512>(warps);
    cold.measureStraight<2048>(warps);
  }
  Parameters p = {};
  for (int step : {4, 64})
    for (int before : {0 + kSame, kMemory | kCode})
      cold.measureReads("parameters " + std::to_string(step * 4), before,
                        [&](cudaStream_t s, long long *cycles) {
                          parameters<<<countSMs(), 32, 0, s>>>(cycles, p, step, nullptr);
                        });
  constexpr size_t kPage = size_t(2) << 20;
  for (int before : {0 + kSame, 0 + kMemory})
    cold.measureReads("memory " + std::to_string(kPage), before,
                      [&](cudaStream_t s, long long *cycles) {
                        pages<<<countSMs(), 32, 0, s>>>(
                            cycles, (const char *)cold.memory + kBytes, kPage, nullptr);
                      });
}
