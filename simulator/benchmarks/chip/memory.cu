// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures L2 and HBM with ordinary loads and stores: the bandwidth of all SMs
// per second and per cycle, and the latency of a load.

#include "reads.h"

__global__ void __launch_bounds__(kThreads)
    writeAll(uint4 *data, size_t pieces, int rounds, long long *cycles) {
  long long begin = clock64();
  for (int round = 0; round < rounds; ++round)
    for (size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x; i < pieces;
         i += size_t(gridDim.x) * kThreads)
      data[i] = uint4{uint32_t(i), 0, uint32_t(round), 0};
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
}

__global__ void copyAll(const uint4 *from, uint4 *to, size_t pieces) {
  for (size_t i = size_t(blockIdx.x) * kThreads * 4 + threadIdx.x; i < pieces;
       i += size_t(gridDim.x) * kThreads * 4) {
    uint4 x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      x[j] = __ldg(from + i + j * kThreads);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      to[i + j * kThreads] = x[j];
  }
}

/// Links `count` lines to form a chain of pointers.
__global__ void link(uint64_t *data, uint64_t count, uint64_t step) {
  for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
    data[i * 32] = uint64_t(data + (i + step) % count * 32);
}
__global__ void chase(uint64_t *data, int rounds, long long *cycles) {
  uint64_t place = uint64_t(data);
  long long begin = clock64();
  for (int i = 0; i < rounds; ++i)
    asm volatile("ld.global.L1::no_allocate.u64 %0, [%0];" : "+l"(place));
  cycles[0] = place ? (clock64() - begin) / rounds : 0;
}

template <typename F> double seconds(F launch) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  launch();
  CHECK(cudaEventRecord(begin));
  launch();
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1e-3;
}

int main() {
  size_t large = size_t(4) << 30, small = size_t(16) << 20;
  char *data;
  CHECK(cudaMalloc(&data, large));
  CHECK(cudaMemset(data, 0, large));
  int ctas = countSMs() * 4;
  Cycles cycles(ctas);
  auto emitBoth = [&](const char *name, double bytes, double time) {
    emit(name, bytes / time * 1e-12, "TB/s");
    emit(std::string(name) + ", all SMs", bytes / cycles.most(), "bytes/cycle");
  };
  int rounds = 64;
  double time = seconds([&] {
    readAll<8><<<ctas, kThreads>>>((uint4 *)data, small / 16, rounds, 1, cycles.device, nullptr);
  });
  emitBoth("reads from L2", double(small) * rounds, time);
  time = seconds([&] {
    readAll<8><<<ctas, kThreads>>>((uint4 *)data, large / 16, 1, 1, cycles.device, nullptr);
  });
  emitBoth("reads from HBM", double(large), time);
  time = seconds([&] {
    writeAll<<<ctas, kThreads>>>((uint4 *)data, small / 16, rounds, cycles.device);
  });
  emitBoth("writes to L2", double(small) * rounds, time);
  time = seconds([&] {
    writeAll<<<ctas, kThreads>>>((uint4 *)data, large / 16, 1, cycles.device);
  });
  emitBoth("writes to HBM", double(large), time);
  time = seconds([&] {
    copyAll<<<countSMs() * 4, kThreads>>>((uint4 *)data, (uint4 *)(data + large / 2),
                                          large / 32);
  });
  emit("copy, bytes read and written", large / time * 1e-12, "TB/s");
  Cycles one(1);
  link<<<1, 1024>>>((uint64_t *)data, 1 << 14, 7919); // 4 MiB
  chase<<<1, 1>>>((uint64_t *)data, 1 << 14, one.device);
  chase<<<1, 1>>>((uint64_t *)data, 1 << 14, one.device);
  emit("latency of a load from L2", one.median(), "cycles");
  link<<<1, 1024>>>((uint64_t *)data, 1 << 23, 1048583); // 2 GiB
  chase<<<1, 1>>>((uint64_t *)data, 1 << 12, one.device);
  emit("latency of a load from HBM", one.median(), "cycles");
}
