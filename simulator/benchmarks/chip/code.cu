// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the cost of taken branches, of divergence, and of loops larger
// than the instruction caches.

#include "common.h"


/// Runs a loop of COUNT instructions. The first pass warms the caches, and the
/// second pass is measured.
template <int COUNT> __global__ void loop(long long *cycles, uint32_t *out, uint32_t y, int rounds) {
  uint32_t x[8];
  for (int c = 0; c < 8; ++c)
    x[c] = threadIdx.x + c;
  long long begin = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = clock64();
#pragma unroll 1
    for (int i = pass ? 0 : rounds - 2; i < rounds; ++i)
#pragma unroll
      for (int k = 0; k < COUNT; ++k)
        asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(x[k % 8]) : "r"(y));
  }
  if (threadIdx.x % 32 == 0)
    cycles[blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32] = clock64() - begin;
  uint32_t sum = 0;
  for (uint32_t value : x)
    sum ^= value;
  if (sum == 0x12345)
    *out = sum;
}

/// Runs code once, with cold instruction caches.
template <int COUNT, int TAG>
__global__ void once(long long *cycles, uint32_t *out, uint32_t y) {
  uint32_t x[8];
  for (int c = 0; c < 8; ++c)
    x[c] = threadIdx.x + c + TAG;
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

/// Branches on a uniform or divergent value. A store on each side prevents
/// predication.
template <bool PARTS>
__global__ void branches(long long *cycles, uint32_t *out, int rounds, uint32_t limit) {
  __shared__ uint32_t memory[64];
  uint32_t x = threadIdx.x, place = smemAddress(memory) + threadIdx.x * 4;
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < rounds; ++i)
    asm volatile("{\n.reg .pred p;\nsetp.lt.u32 p, %1, %3;\n@p bra other;\n"
                 "st.shared.u32 [%2], %0;\nadd.u32 %0, %0, 3;\nst.shared.u32 [%2+128], %0;\n"
                 "bra.uni done;\nother:\nst.shared.u32 [%2+128], %0;\nadd.u32 %0, %0, 5;\n"
                 "st.shared.u32 [%2], %0;\ndone:\n}"
                 : "+r"(x)
                 : "r"(PARTS ? threadIdx.x & 1 : threadIdx.x & 64), "r"(place), "r"(limit)
                 : "memory");
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  if (x == 0x12345)
    *out = x;
}

template <int COUNT> void measureLoop(int warps) {
  constexpr int kRounds = COUNT < 100 ? 512 : 32;
  int ctas = countSMs();
  Cycles cycles(ctas * warps);
  for (int i = 0; i < 2; ++i)
    loop<COUNT><<<ctas, 32 * warps>>>(cycles.device, nullptr, 77, kRounds);
  emit("a loop of " + std::to_string(COUNT) + " instructions, " + std::to_string(warps) +
           (warps > 1 ? " warps" : " warp"),
       cycles.median() / (double(kRounds) * COUNT), "cycles/instruction");
}

template <int COUNT> void measureLoops() {
  measureLoop<COUNT>(1);
  measureLoop<COUNT>(8);
}

template <int COUNT, int TAG> void measureOnce() {
  Cycles cycles(countSMs());
  once<COUNT, TAG><<<countSMs(), 128>>>(cycles.device, nullptr, 77);
  emit(std::to_string(COUNT) + " instructions that no cache has, 4 warps",
       cycles.median() / COUNT, "cycles/instruction");
  once<COUNT, TAG><<<countSMs(), 128>>>(cycles.device, nullptr, 77);
  emit(std::to_string(COUNT) + " instructions of the kernel before, 4 warps",
       cycles.median() / COUNT, "cycles/instruction");
}

int main() {
  measureLoop<1>(1);
  measureLoop<4>(1);
  measureLoop<8>(1);
  measureLoop<8>(8);
  measureLoop<16>(1);
  measureLoop<32>(1);
  measureLoops<256>();
  measureLoops<1024>();
  measureLoops<1536>();
  measureLoops<2048>();
  measureLoops<4096>();
  measureLoops<7168>();
  measureLoops<12288>();
  measureOnce<512, 1>();
  measureOnce<2048, 2>();
  measureOnce<8192, 3>();
  Cycles cycles(1);
  for (bool parts : {false, true}) {
    for (int i = 0; i < 2; ++i)
      if (parts)
        branches<true><<<1, 32>>>(cycles.device, nullptr, 1024, 1);
      else
        branches<false><<<1, 32>>>(cycles.device, nullptr, 1024, 1);
    emit(parts ? "a round in which lanes part" : "a round with a branch of all lanes",
         cycles.median() / 1024, "cycles");
  }
}
