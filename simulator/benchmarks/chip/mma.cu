// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the cycles of mma.sync per instruction and SM, with 1 to 16 warps
// and 1 or 4 accumulators. A single warp with a single accumulator shows
// the latency.

#include "common.h"

static constexpr int kRounds = 128, kUnroll = 4;

struct BF16 {
  static constexpr const char *kName = "m16n8k16 bf16";
  static __device__ void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct E4M3 {
  static constexpr const char *kName = "m16n8k32 e4m3";
  static __device__ void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

template <typename Op, int CHAINS> __global__ void multiply(long long *cycles, float *out) {
  float d[CHAINS][4] = {};
  uint32_t a[4] = {}, b[2] = {};
  __syncthreads();
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < kRounds; ++i)
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
#pragma unroll
      for (int c = 0; c < CHAINS; ++c)
        Op::run(d[c], a, b);
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  float sum = 0;
  for (auto &chain : d)
    for (float x : chain)
      sum += x;
  if (sum == 1)
    *out = sum;
}

template <typename Op, int CHAINS> void measure(int warps) {
  Cycles cycles(countSMs());
  for (int i = 0; i < 2; ++i)
    multiply<Op, CHAINS><<<countSMs(), 32 * warps>>>(cycles.device, nullptr);
  emit(std::string(Op::kName) + ", " + std::to_string(warps) + " warps of " +
           std::to_string(CHAINS) + " accumulators",
       cycles.median() / (kRounds * kUnroll * CHAINS * warps), "cycles");
}

template <typename Op> void measureAll() {
  measure<Op, 1>(1);
  measure<Op, 4>(1);
  measure<Op, 4>(4);
  measure<Op, 4>(8);
  measure<Op, 4>(16);
}

int main() {
  measureAll<BF16>();
  measureAll<E4M3>();
}
