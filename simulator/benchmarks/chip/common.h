// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Utilities shared by the programs of this folder. Each program prints lines of
//   name<tab>value<tab>unit
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <string>
#include <vector>

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                       \
              cudaGetErrorString(error));                                      \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

inline void emit(const std::string &name, double value, const char *unit) {
  printf("%s\t%.4g\t%s\n", name.c_str(), value, unit);
  fflush(stdout);
}

inline int countSMs() {
  int count;
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

/// Cycles of each CTA, written by its thread 0.
struct Cycles {
  long long *device;
  int count;
  explicit Cycles(int count) : count(count) {
    CHECK(cudaMalloc(&device, count * sizeof(long long)));
  }
  ~Cycles() { cudaFree(device); }
  std::vector<long long> read() {
    CHECK(cudaGetLastError());
    std::vector<long long> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(long long),
                     cudaMemcpyDeviceToHost));
    std::sort(host.begin(), host.end());
    return host;
  }
  double median() { return double(read()[count / 2]); }
  double most() { return double(read().back()); }
};

__device__ inline uint32_t smemAddress(const void *p) {
  return uint32_t(__cvta_generic_to_shared(p));
}
__device__ inline void initBarrier(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(count)
               : "memory");
}
__device__ inline void arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ inline void expectBytes(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar),
               "r"(bytes)
               : "memory");
}
__device__ inline void waitBarrier(uint32_t bar, uint32_t parity) {
  asm volatile("{\n.reg .pred p;\nagain:\n"
               "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
               "@!p bra again;\n}" ::"r"(bar),
               "r"(parity)
               : "memory");
}
__device__ inline void fenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Returns the time per launch of `count` launches in a CUDA graph, the best of
/// ten runs.
template <typename F>
double microseconds(int count, F launch) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < count; ++i)
    launch(stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  float best = 1e9;
  for (int i = 0; i < 10; ++i) {
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::min(best, milliseconds);
  }
  return best * 1e3 / count;
}
