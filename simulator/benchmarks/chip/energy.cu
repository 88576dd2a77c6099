// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures power and clock after one part of the chip has been busy for one
// second. NVML reports the power; cycles and nanoseconds give the SM clock.

#include "wgmma.h"

#include <chrono>
#include <dlfcn.h>
#include <thread>

struct Sensor {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW), *device = nullptr;
  int (*power)(void *, unsigned *) = nullptr;
  Sensor() {
    if (!library)
      return;
    auto init = (int (*)())dlsym(library, "nvmlInit_v2");
    auto find = (int (*)(unsigned, void **))dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    power = (int (*)(void *, unsigned *))dlsym(library, "nvmlDeviceGetPowerUsage");
    if (!init || !find || init() || find(0, &device))
      power = nullptr;
  }
  double watts() {
    unsigned milliwatts = 0;
    return power && !power(device, &milliwatts) ? milliwatts * 1e-3 : 0;
  }
};

enum class Work { Idle, Fma, Logic, SharedReads, L2Reads, HbmReads, Bf16, Bf16Zeros, E4m3, Bf16Registers };

template <Work WORK>
__global__ void __launch_bounds__(256)
    work(const uint4 *data, size_t pieces, int rounds, long long *cycles, uint4 *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  constexpr bool kMmas = WORK == Work::Bf16 || WORK == Work::Bf16Zeros || WORK == Work::E4m3 ||
                         WORK == Work::Bf16Registers;
  if (kMmas) {
    uint32_t seed = threadIdx.x * 2654435761u + 12345;
    for (int i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) {
      seed = seed * 1664525u + 1013904223u;
      // Values near one with random signs and fractions.
      uint32_t value = WORK == Work::E4m3 ? (seed & 0x8f8f8f8f) | 0x30303030 : (seed & 0x807f807f) | 0x3f803f80;
      reinterpret_cast<uint32_t *>(memory)[i] = WORK == Work::Bf16Zeros ? 0 : value;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
  }
  long long begin = clock64(), nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  float f[8] = {1, 2, 3, 4, 5, 6, 7, float(threadIdx.x)};
  uint32_t x[8] = {1, 2, 3, 4, 5, 6, 7, threadIdx.x};
  uint4 sum = {};
  if constexpr (WORK == Work::Fma || WORK == Work::Logic) {
    for (int i = 0; i < rounds; ++i)
#pragma unroll
      for (int k = 0; k < 64; ++k)
        if constexpr (WORK == Work::Fma)
          asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[k % 8]) : "f"(1.0001f));
        else
          asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(x[k % 8]) : "r"(rounds));
  } else if constexpr (WORK == Work::SharedReads) {
    uint32_t place = smemAddress(memory) + threadIdx.x * 16;
    for (int i = 0; i < rounds; ++i)
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        uint4 y;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y.x), "=r"(y.y), "=r"(y.z), "=r"(y.w) : "r"(place + k * 4096));
        sum.x ^= y.x ^ y.y ^ y.z ^ y.w;
      }
  } else if constexpr (WORK == Work::L2Reads || WORK == Work::HbmReads) {
    for (int i = 0; i < rounds; ++i)
      for (size_t at = size_t(blockIdx.x) * 1024 + threadIdx.x; at < pieces; at += size_t(gridDim.x) * 1024)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          uint4 y;
          asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(y.x), "=r"(y.y), "=r"(y.z), "=r"(y.w)
                       : "l"(data + at + k * 256));
          sum.x ^= y.x ^ y.y ^ y.z ^ y.w;
        }
  } else if constexpr (kMmas) {
    constexpr Kind kKind = WORK == Work::E4m3 ? E4M3 : BF16;
    uint64_t a = describe(smemAddress(memory) + threadIdx.x / 128 * 8192);
    uint64_t b = describe(smemAddress(memory) + 16384);
    uint32_t registers[4] = {0x3f8a3f91u ^ threadIdx.x, 0xbfa13f87u, 0x3fc1bf92u, 0xbf8f3fe1u};
    float d[128] = {};
    for (int i = 0; i < rounds; ++i) {
      fenceMmas();
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if constexpr (WORK == Work::Bf16Registers)
          Wgmma<256, kKind>::fromRegisters(d, registers, b + 2 * k);
        else
          Wgmma<256, kKind>::fromShared(d, a + 2 * k, b + 2 * k);
      commitMmas();
      waitMmas<1>();
    }
    waitMmas<0>();
    for (float y : d)
      f[0] += y;
  }
  long long end;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
  if (threadIdx.x == 0) {
    cycles[blockIdx.x] = clock64() - begin;
    cycles[gridDim.x + blockIdx.x] = end - nanoseconds;
  }
  for (int k = 0; k < 8; ++k)
    sum.y ^= x[k] ^ __float_as_uint(f[k]);
  if ((sum.x ^ sum.y) == 0x12345)
    *out = sum;
}

/// `unit`: unit of the work of one CTA per round.
template <Work WORK>
void measure(Sensor &sensor, const uint4 *data, size_t bytes, int rounds, double each, const char *name,
             const char *unit) {
  int ctas = countSMs() * (WORK >= Work::Bf16 ? 1 : 4);
  int shared = 49 * 1024;
  CHECK(cudaFuncSetAttribute(work<WORK>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  long long *cycles;
  CHECK(cudaMalloc(&cycles, ctas * 16));
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<double> watts;
  while (seconds() < 2) {
    for (int i = 0; i < 8; ++i)
      work<WORK><<<ctas, 256, shared>>>(data, bytes / 16, rounds, cycles, nullptr);
    cudaEvent_t end;
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(end));
    while (cudaEventQuery(end) == cudaErrorNotReady) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (seconds() > 1.2)
        watts.push_back(sensor.watts());
    }
    CHECK(cudaEventDestroy(end));
  }
  CHECK(cudaGetLastError());
  std::vector<long long> host(2 * ctas);
  CHECK(cudaMemcpy(host.data(), cycles, ctas * 16, cudaMemcpyDeviceToHost));
  double total = 0, nanoseconds = 0;
  for (int i = 0; i < ctas; ++i) {
    total += host[i];
    nanoseconds += host[ctas + i];
  }
  std::sort(watts.begin(), watts.end());
  emit(std::string(name) + ", power", watts.empty() ? sensor.watts() : watts[watts.size() / 2], "W");
  emit(std::string(name) + ", clock", total / nanoseconds * 1000, "MHz");
  double longest = 0;
  for (int i = 0; i < ctas; ++i)
    longest = std::max(longest, double(host[ctas + i]));
  double amount = each ? each * ctas * rounds : double(bytes) * rounds;
  emit(name, amount / longest, unit);
  CHECK(cudaFree(cycles));
}

int main() {
  Sensor sensor;
  uint4 *data;
  size_t large = size_t(2) << 30;
  CHECK(cudaMalloc((void **)&data, large));
  std::vector<uint32_t> random(1 << 20);
  uint32_t seed = 1;
  for (uint32_t &value : random)
    value = seed = seed * 1664525u + 1013904223u;
  for (size_t at = 0; at < large; at += random.size() * 4)
    CHECK(cudaMemcpy((char *)data + at, random.data(), random.size() * 4, cudaMemcpyHostToDevice));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  emit("idle, power", sensor.watts(), "W");
  measure<Work::Fma>(sensor, data, 16, 40000, 256 * 64, "fma.f32", "lanes/ns");
  measure<Work::Logic>(sensor, data, 16, 20000, 256 * 64, "lop3", "lanes/ns");
  measure<Work::SharedReads>(sensor, data, 16, 40000, 256 * 128, "ld.shared.v4", "bytes/ns");
  measure<Work::L2Reads>(sensor, data, 16 << 20, 4000, 0, "reads from L2", "bytes/ns");
  measure<Work::HbmReads>(sensor, data, large, 50, 0, "reads from HBM", "bytes/ns");
  const double flops = 2.0 * 2 * 64 * 256 * 16 * 4; // two warpgroups
  measure<Work::Bf16Zeros>(sensor, data, 16, 20000, flops, "wgmma bf16 of zeros", "flop/ns");
  measure<Work::Bf16>(sensor, data, 16, 20000, flops, "wgmma bf16", "flop/ns");
  measure<Work::Bf16Registers>(sensor, data, 16, 20000, flops, "wgmma bf16, A in registers", "flop/ns");
  measure<Work::E4m3>(sensor, data, 16, 20000, 2 * flops, "wgmma e4m3", "flop/ns");
}
