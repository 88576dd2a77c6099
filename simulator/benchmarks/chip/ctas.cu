// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the time from the end of a CTA to the first instruction of its
// successor on the SM, the overhead of a kernel, and the overlap of consecutive
// launches.

#include "common.h"

__device__ unsigned smId() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// Records the first and last cycle of each CTA, which runs for `work` cycles.
__global__ void lives(long long *begins, long long *ends, unsigned *places, int work) {
  long long begin = clock64();
  if (threadIdx.x == 0) {
    begins[blockIdx.x] = begin;
    places[blockIdx.x] = smId();
  }
  while (clock64() - begin < work) {
  }
  __syncthreads();
  if (threadIdx.x == 0)
    ends[blockIdx.x] = clock64();
}

static void measureLives(int threads, int bytes, int resident, const char *name) {
  int ctas = countSMs() * resident * 4;
  std::vector<long long> begins(ctas), ends(ctas);
  std::vector<unsigned> places(ctas);
  long long *d;
  unsigned *p;
  CHECK(cudaMalloc(&d, ctas * 16));
  CHECK(cudaMalloc(&p, ctas * 4));
  CHECK(cudaFuncSetAttribute(lives, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  for (int i = 0; i < 2; ++i)
    lives<<<ctas, threads, bytes>>>(d, d + ctas, p, 20000);
  CHECK(cudaMemcpy(begins.data(), d, ctas * 8, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(ends.data(), d + ctas, ctas * 8, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(places.data(), p, ctas * 4, cudaMemcpyDeviceToHost));
  // Sort starts and ends of each SM. After the resident CTAs, the k-th start
  // succeeds the k-th end.
  std::vector<double> gaps, spread;
  for (unsigned sm = 0; sm < unsigned(countSMs()); ++sm) {
    std::vector<long long> from, to;
    for (int i = 0; i < ctas; ++i)
      if (places[i] == sm) {
        from.push_back(begins[i]);
        to.push_back(ends[i]);
      }
    std::sort(from.begin(), from.end());
    std::sort(to.begin(), to.end());
    for (size_t k = resident; k < from.size(); ++k)
      gaps.push_back(double(from[k] - to[k - resident]));
    if (from.size() >= size_t(resident))
      spread.push_back(double(from[resident - 1] - from[0]));
  }
  std::sort(gaps.begin(), gaps.end());
  std::sort(spread.begin(), spread.end());
  emit(std::string("from the end of a CTA to the next, ") + name, gaps[gaps.size() / 2], "cycles");
  if (resident > 1)
    emit(std::string("from the first to the last of an SM, ") + name, spread[spread.size() / 2],
         "cycles");
  CHECK(cudaFree(d));
  CHECK(cudaFree(p));
}

__global__ void works(int cycles, int *out) {
  long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
  if (cycles == 1)
    *out = 1;
}
__global__ void worksThenWaits(int cycles, int early, int *out) {
  if (early)
    asm volatile("griddepcontrol.launch_dependents;");
  long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
  asm volatile("griddepcontrol.wait;" ::: "memory");
  begin = clock64();
  while (clock64() - begin < cycles) {
  }
  if (!early)
    asm volatile("griddepcontrol.launch_dependents;");
  if (cycles == 1)
    *out = 1;
}
/// Loads data written by the previous kernel, and stores.
__global__ void touches(int *data) {
  int *place = data + (blockIdx.x * blockDim.x + threadIdx.x);
  *place = *(volatile int *)(place + 1) + 1;
}

int main() {
  measureLives(128, 0, 16, "16 of 128 threads");
  measureLives(256, 100 << 10, 2, "2 of 256 threads and 100 KiB");
  measureLives(384, 200 << 10, 1, "1 of 384 threads and 200 KiB");
  measureLives(1024, 0, 2, "2 of 1024 threads");
  int sms = countSMs();
  int *data;
  CHECK(cudaMalloc(&data, sms * 8 * 1024 * 4));
  CHECK(cudaMemset(data, 0, sms * 8 * 1024 * 4));
  // Work is in cycles at the highest clock; the rest of the time is launch
  // overhead.
  for (int cycles : {0, 2000, 8000})
    emit("a CTA of 384 threads for each SM that works for " + std::to_string(cycles) + " cycles",
         microseconds(100, [&](cudaStream_t s) { works<<<sms, 384, 0, s>>>(cycles, nullptr); }),
         "us");
  emit("a CTA of 384 threads for each SM, a load and a store",
       microseconds(100, [&](cudaStream_t s) { touches<<<sms, 384, 0, s>>>(data); }), "us");
  emit("8 CTAs of 128 threads for each SM that work for 2000 cycles",
       microseconds(100, [&](cudaStream_t s) { works<<<sms * 8, 128, 0, s>>>(2000, nullptr); }),
       "us");
  for (int early : {1, 0}) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(sms);
    config.blockDim = dim3(384);
    config.attrs = &attribute;
    config.numAttrs = 1;
    emit(std::string("programmatic, 4000 cycles before and 4000 after the wait, dependents ") +
             (early ? "first" : "last"),
         microseconds(100,
                      [&](cudaStream_t s) {
                        config.stream = s;
                        CHECK(cudaLaunchKernelEx(&config, worksThenWaits, 4000, early, data));
                      }),
         "us");
  }
}
