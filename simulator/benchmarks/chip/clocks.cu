// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the clock of SMs from the first wgmma after a pause, for several
// utilizations of the tensor cores and several operand values.

#include "wgmma.h"

#include <unistd.h>

struct Stamp {
  long long cycles, ns;
};
constexpr int kStamps = 64, kOperandBytes = 48 * 1024;

__device__ Stamp now() {
  Stamp s;
  asm volatile("mov.u64 %0, %%clock64;\nmov.u64 %1, %%globaltimer;" : "=l"(s.cycles), "=l"(s.ns)::"memory");
  return s;
}

/// Alternates 16 wgmma of 256 columns with `pause` idle cycles; records the
/// time every `each` cycles.
__global__ void __launch_bounds__(128) multiplies(Stamp *stamps, int pause, int each, int random, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  uint32_t state = threadIdx.x * 747796405u + blockIdx.x * 2891336453u + 1;
  for (int i = threadIdx.x; i < kOperandBytes / 2; i += 128) {
    state = state * 1664525u + 1013904223u;
    // bf16 values around 1 with random signs.
    ((uint16_t *)memory)[i] = random ? uint16_t((state >> 16 & 0x807f) | 0x3f00 | (state >> 8 & 0x80)) : 0;
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  uint64_t a = describe(smemAddress(memory)), b = describe(smemAddress(memory) + 16384);
  float d[128] = {};
  Stamp first = now();
  long long next = first.cycles;
  int k = 0;
  while (k < kStamps) {
    if (pause >= 0) {
      fenceMmas();
#pragma unroll
      for (int i = 0; i < 16; ++i)
        Wgmma<256, BF16>::fromShared(d, a + 2 * (i % 4), b + 2 * (i % 4));
      commitMmas();
      waitMmas<0>();
    }
    long long t = clock64(), until = t + (pause < 0 ? 2000 : pause);
    while (clock64() < until) {
    }
    if (__syncthreads_or(clock64() >= next)) {
      if (threadIdx.x == 0)
        stamps[blockIdx.x * kStamps + k] = now();
      ++k;
      next += each;
    }
  }
  float sum = 0;
  for (float v : d)
    sum += v;
  if (sum == 1.2345f)
    *out = sum;
}

/// Pauses for `pause` cycles after each round. If `pause` is negative, no wgmma
/// is executed.
static void measure(const std::string &name, int pause, int random) {
  int sms = countSMs();
  Stamp *device;
  CHECK(cudaMalloc(&device, sizeof(Stamp) * sms * kStamps));
  CHECK(cudaFuncSetAttribute(multiplies, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kOperandBytes));
  constexpr int kEach = 16000, kTimes = 6; // 8 microseconds
  std::vector<double> early, late;
  for (int i = 0; i < kTimes; ++i) {
    CHECK(cudaDeviceSynchronize());
    usleep(20000);
    multiplies<<<sms, 128, kOperandBytes>>>(device, pause, kEach, random, nullptr);
    std::vector<Stamp> host(sms * kStamps);
    CHECK(cudaMemcpy(host.data(), device, sizeof(Stamp) * host.size(), cudaMemcpyDeviceToHost));
    if (!i)
      continue;
    for (int sm = 0; sm < sms; ++sm) {
      const Stamp *of = &host[sm * kStamps];
      auto mhz = [&](int from, int to) {
        return double(of[to].cycles - of[from].cycles) * 1e3 / double(of[to].ns - of[from].ns);
      };
      early.push_back(mhz(0, 4));
      late.push_back(mhz(kStamps / 2, kStamps - 1));
    }
  }
  auto median = [](std::vector<double> &values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  emit(name + ", the first 32 us", median(early), "MHz");
  emit(name + ", after 250 us", median(late), "MHz");
  CHECK(cudaFree(device));
}

int main() {
  measure("no wgmma", -1, 0);
  // 16 wgmma take 2048 cycles.
  for (bool random : {true, false}) {
    std::string what = random ? "wgmma of random numbers" : "wgmma of zeros";
    measure(what + ", always", 0, random);
    measure(what + ", 3 of 4 cycles", 683, random);
    measure(what + ", 1 of 2 cycles", 2048, random);
    measure(what + ", 1 of 4 cycles", 6144, random);
    measure(what + ", 1 of 10 cycles", 18432, random);
  }
}
