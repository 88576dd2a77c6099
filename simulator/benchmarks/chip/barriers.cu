// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the latency of bar.sync, and the latency from the arrival of a warp
// at an mbarrier to the wake-up of another warp, within a CTA and between two
// CTAs of a cluster.

#include "common.h"

static constexpr int kRounds = 1024;

/// Two warps alternate: warp 0 arrives at one barrier, warp 1 waits for it and
/// arrives at the other.
__global__ void pingPong(long long *cycles) {
  __shared__ __align__(8) uint64_t bars[2];
  uint32_t warp = threadIdx.x / 32, bar = smemAddress(bars);
  if (threadIdx.x == 0) {
    initBarrier(bar, 1);
    initBarrier(bar + 8, 1);
  }
  __syncthreads();
  bool first = threadIdx.x % 32 == 0;
  long long begin = clock64();
  for (int i = 0; i < kRounds; ++i) {
    if (warp == 0) {
      if (first)
        arrive(bar);
      waitBarrier(bar + 8, i & 1);
    } else {
      waitBarrier(bar, i & 1);
      if (first)
        arrive(bar + 8);
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
}

__device__ void arriveRemote(uint32_t bar, uint32_t cta) {
  asm volatile("{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [r];\n}" ::"r"(bar), "r"(cta)
               : "memory");
}

/// The CTAs alternate: each arrives at the barrier of the other.
__global__ void __cluster_dims__(2) betweenCtas(long long *cycles) {
  __shared__ __align__(8) uint64_t bars[1];
  uint32_t bar = smemAddress(bars), cta = blockIdx.x & 1;
  if (threadIdx.x == 0) {
    initBarrier(bar, 1);
    fenceInit();
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  bool first = threadIdx.x == 0;
  long long begin = clock64();
  for (int i = 0; i < kRounds; ++i) {
    if (cta == 0 && first)
      arriveRemote(bar, 1);
    waitBarrier(bar, i & 1);
    if (cta == 1 && first)
      arriveRemote(bar, 0);
    __syncwarp();
  }
  if (first)
    cycles[blockIdx.x] = clock64() - begin;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__global__ void clusterBarrier(long long *cycles) {
  long long begin = clock64();
  for (int i = 0; i < kRounds; ++i)
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
}

__global__ void sync(long long *cycles) {
  __syncthreads();
  long long begin = clock64();
  for (int i = 0; i < kRounds; ++i)
    asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x) : "memory");
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
}

/// Repeats a wait for a completed phase, or an arrival without a waiter.
__global__ void alone(long long *cycles, bool waits) {
  __shared__ __align__(8) uint64_t bars[1];
  uint32_t bar = smemAddress(bars);
  if (threadIdx.x == 0)
    initBarrier(bar, waits ? 1 : kRounds + 1);
  __syncwarp();
  long long begin = clock64();
  for (int i = 0; i < kRounds; ++i) {
    if (waits)
      waitBarrier(bar, 1);
    else if (threadIdx.x == 0)
      arrive(bar);
  }
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
}

int main() {
  int count = countSMs() / 2 * 2;
  Cycles cycles(count);
  pingPong<<<count, 64>>>(cycles.device);
  emit("mbarrier, from arrival to the waiting warp", cycles.median() / kRounds / 2, "cycles");
  betweenCtas<<<count, 32>>>(cycles.device);
  emit("mbarrier of the other CTA of a cluster", cycles.median() / kRounds / 2, "cycles");
  alone<<<count, 32>>>(cycles.device, true);
  emit("wait for a phase that is over", cycles.median() / kRounds, "cycles");
  alone<<<count, 32>>>(cycles.device, false);
  emit("arrival, back to back", cycles.median() / kRounds, "cycles");
  for (int threads : {128, 256, 512, 1024}) {
    sync<<<count, threads>>>(cycles.device);
    emit("bar.sync of " + std::to_string(threads) + " threads", cycles.median() / kRounds,
         "cycles");
  }
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  for (int size : {2, 4}) {
    attribute.val.clusterDim = {unsigned(size), 1, 1};
    config.gridDim = dim3(size * 8);
    config.blockDim = dim3(128);
    config.attrs = &attribute;
    config.numAttrs = 1;
    Cycles some(size * 8);
    CHECK(cudaLaunchKernelEx(&config, clusterBarrier, some.device));
    emit("barrier.cluster of " + std::to_string(size) + " CTAs", some.median() / kRounds, "cycles");
  }
}
