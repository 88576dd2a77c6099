// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory: bytes per cycle and SM, and the latency of a load.

#include "common.h"

static constexpr int kRounds = 512;

struct Load {
  static __device__ void run(uint32_t address, uint32_t &sum) {
    uint32_t a, b, c, d;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(address) : "memory");
    sum ^= a ^ b ^ c ^ d;
  }
};
struct LoadWord {
  static __device__ void run(uint32_t address, uint32_t &sum) {
    uint32_t a;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(a) : "r"(address) : "memory");
    sum ^= a;
  }
};
struct Store {
  static __device__ void run(uint32_t address, uint32_t &sum) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(sum) : "memory");
  }
};
struct LoadMatrix {
  static __device__ void run(uint32_t address, uint32_t &sum) {
    uint32_t a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address) : "memory");
    sum ^= a ^ b ^ c ^ d;
  }
};
struct StoreMatrix {
  static __device__ void run(uint32_t address, uint32_t &sum) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};"
                 ::"r"(address), "r"(sum) : "memory");
  }
};
/// A shuffle, followed by OP.
template <typename Op> struct ShuffleAnd {
  static __device__ void run(uint32_t address, uint32_t &sum) {
    asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(sum));
    Op::run(address, sum);
  }
};

template <typename Op, int BYTES>
__global__ void __launch_bounds__(512) repeat(long long *cycles, uint32_t *out, uint32_t step) {
  __shared__ __align__(1024) uint8_t memory[16384];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x)
    reinterpret_cast<uint32_t *>(memory)[i] = i;
  __syncthreads();
  uint32_t first = smemAddress(memory), place = threadIdx.x % 512 * BYTES, sum = threadIdx.x;
  long long begin = clock64();
  // The step is 0, hidden from ptxas, which would hoist the load.
  for (int i = 0; i < kRounds / 8; ++i, place += step)
#pragma unroll
    for (int j = 0; j < 8; ++j)
      Op::run(first + (place ^ j * 512), sum);
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  if (sum == 0x1234567)
    *out = sum;
}

__global__ void chase(long long *cycles, uint32_t *out) {
  __shared__ uint32_t next[32];
  next[threadIdx.x] = smemAddress(next);
  __syncwarp();
  uint32_t address = smemAddress(next);
  long long begin = clock64();
  for (int i = 0; i < kRounds; ++i)
    asm volatile("ld.shared.b32 %0, [%0];" : "+r"(address) :: "memory");
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  if (address == 1)
    *out = address;
}

template <typename Op, int BYTES> void measure(const char *name) {
  Cycles cycles(countSMs());
  for (int i = 0; i < 2; ++i)
    repeat<Op, BYTES><<<countSMs(), 512>>>(cycles.device, nullptr, 0);
  emit(name, 512.0 * BYTES * kRounds / cycles.median(), "bytes/cycle");
}

int main() {
  measure<Load, 16>("ld.shared.v4");
  measure<LoadWord, 4>("ld.shared");
  measure<Store, 16>("st.shared.v4");
  measure<LoadMatrix, 16>("ldmatrix.x4");
  measure<StoreMatrix, 16>("stmatrix.x4");
  measure<ShuffleAnd<LoadWord>, 4>("ld.shared, each after a shuffle");
  measure<ShuffleAnd<LoadMatrix>, 16>("ldmatrix.x4, each after a shuffle");
  Cycles cycles(countSMs());
  chase<<<countSMs(), 32>>>(cycles.device, nullptr);
  emit("latency of ld.shared", cycles.median() / kRounds, "cycles");
}
