// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures loads from L2 and HBM by few and by all SMs, of lines shared by SMs,
// of working sets around the capacity of L2, and from near and far slices. Also
// measures stores in several patterns, atomics and fences.

#include "reads.h"

/// Records the latencies of loads with a stride of 4 KiB, on an idle SM.
__global__ void latencies(const uint32_t *data, int count, uint32_t *times) {
  uint32_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const uint32_t *place = data + i * 1024 + (sum & 1);
    long long begin = clock64();
    uint32_t x;
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(x) : "l"(place) : "memory");
    sum += x & 2;
    asm volatile("" ::"r"(sum) : "memory");
    times[blockIdx.x * count + i] = uint32_t(clock64() - begin) + (sum & 4);
  }
}

enum class Pattern { Wide, Words, Columns, Partial };

/// Each thread stores 16 or 4 contiguous bytes, 16 bytes of a 4 KiB row (a
/// different row for each lane), or 8 of each 32 bytes.
template <Pattern PATTERN>
__global__ void __launch_bounds__(kThreads)
    writeAll(uint8_t *data, size_t bytes, int rounds, long long *cycles) {
  size_t thread = size_t(blockIdx.x) * kThreads + threadIdx.x, all = size_t(gridDim.x) * kThreads;
  long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    if constexpr (PATTERN == Pattern::Wide)
      for (size_t i = thread; i < bytes / 16; i += all)
        reinterpret_cast<uint4 *>(data)[i] = uint4{uint32_t(i), 0, uint32_t(round), 0};
    else if constexpr (PATTERN == Pattern::Words)
      for (size_t i = thread; i < bytes / 4; i += all)
        reinterpret_cast<uint32_t *>(data)[i] = uint32_t(i + round);
    else if constexpr (PATTERN == Pattern::Partial)
      for (size_t i = thread; i < bytes / 32; i += all)
        *reinterpret_cast<uint2 *>(data + i * 32) = uint2{uint32_t(i), uint32_t(round)};
    else
      // A piece of 128 KiB is 32 rows of 4 KiB; a warp writes 16 bytes of each
      // row.
      for (size_t i = thread; i < bytes / 16; i += all) {
        size_t warp = i / 32, lane = i % 32;
        *reinterpret_cast<uint4 *>(data + warp / 256 * 131072 + lane * 4096 + warp % 256 * 16) =
            uint4{uint32_t(i), 0, uint32_t(round), 0};
      }
  }
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
}

enum class Update { SameWord, Words, FloatPairs, Chain };

template <Update UPDATE>
__global__ void __launch_bounds__(kThreads) update(uint32_t *data, int rounds, long long *cycles) {
  size_t thread = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  uint32_t got = 0;
  long long begin = clock64();
  for (int i = 0; i < rounds; ++i)
    if constexpr (UPDATE == Update::SameWord)
      asm volatile("red.global.add.u32 [%0], 1;" ::"l"(data) : "memory");
    else if constexpr (UPDATE == Update::Words)
      asm volatile("red.global.add.f32 [%0], 0f3f800000;" ::"l"(data + thread) : "memory");
    else if constexpr (UPDATE == Update::FloatPairs)
      asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(data + thread * 4), "f"(1.f)
                   : "memory");
    else
      asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(got) : "l"(data + thread % 32) : "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin + (got == 77);
}

enum class Fence { Cta, Gpu, System, Proxy };

template <Fence FENCE> __global__ void fences(uint32_t *data, bool stores, long long *cycles) {
  long long begin = clock64();
  for (int i = 0; i < 64; ++i) {
    if (stores)
      data[threadIdx.x + i * 32] = i;
    if constexpr (FENCE == Fence::Cta)
      asm volatile("fence.acq_rel.cta;" ::: "memory");
    else if constexpr (FENCE == Fence::Gpu)
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    else if constexpr (FENCE == Fence::System)
      asm volatile("fence.acq_rel.sys;" ::: "memory");
    else if constexpr (FENCE == Fence::Proxy)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = (clock64() - begin) / 64;
}

template <Pattern PATTERN> void measureStores(uint8_t *data, const char *name) {
  int ctas = countSMs() * 4;
  Cycles cycles(ctas);
  for (size_t megabytes : {16, 1024}) {
    int rounds = megabytes == 16 ? 32 : 1;
    for (int i = 0; i < 2; ++i)
      writeAll<PATTERN><<<ctas, kThreads>>>(data, megabytes << 20, rounds, cycles.device);
    double bytes = double(megabytes << 20) * rounds;
    emit(std::string(name) + (megabytes == 16 ? " to L2" : " to HBM"),
         bytes / cycles.most(), PATTERN == Pattern::Partial ? "bytes of sectors/cycle" : "bytes/cycle");
  }
}

template <Update UPDATE> void measureUpdates(uint32_t *data, int ctas, const char *name) {
  Cycles cycles(ctas);
  int rounds = 256, threads = UPDATE == Update::Chain ? 32 : kThreads;
  for (int i = 0; i < 2; ++i)
    update<UPDATE><<<ctas, threads>>>(data, rounds, cycles.device);
  emit(name, UPDATE == Update::Chain ? cycles.median() / rounds
                                     : double(ctas) * threads * rounds / cycles.most(),
       UPDATE == Update::Chain ? "cycles" : "lanes/cycle");
}

template <Fence FENCE> void measureFence(uint32_t *data, const char *name) {
  Cycles cycles(1);
  for (bool stores : {false, true}) {
    for (int i = 0; i < 2; ++i)
      fences<FENCE><<<1, 32>>>(data, stores, cycles.device);
    emit(std::string(name) + (stores ? " after a store" : ""), cycles.median(), "cycles");
  }
}

int main() {
  uint8_t *data;
  CHECK(cudaMalloc(&data, size_t(1) << 30));
  CHECK(cudaMemset(data, 0, size_t(1) << 30));
  int sms = countSMs();
  auto reads = [&](size_t bytes, int ctas, int rounds, int sharing, const std::string &name) {
    Cycles cycles(ctas);
    for (int i = 0; i < 2; ++i)
      readAll<4><<<ctas, kThreads>>>((uint4 *)data, bytes / 16, rounds, sharing, cycles.device,
                                             nullptr);
    double read = double(bytes) * rounds * sharing;
    emit(name, read / cycles.most(), "bytes/cycle");
  };
  for (int ctas : {1, 2, 8, 32, 66, sms})
    reads(size_t(4) << 20, ctas, ctas < 32 ? 4 : 32, 1, "reads from L2 of " + std::to_string(ctas) + " SMs");
  for (int ctas : {1, 8, 32, 66})
    reads(size_t(ctas) << 22, ctas, 1, 1, "reads of 4 MiB each, once, of " + std::to_string(ctas) + " SMs");
  for (int sharing : {2, 4, 12, 33, 132})
    reads(size_t(4) << 20, sms, 32, sharing, "reads from L2, " + std::to_string(sharing) + " SMs the same");
  for (int megabytes : {20, 24, 28, 32, 40, 48, 56, 64, 96})
    reads(size_t(megabytes) << 20, sms * 4, 8, 1, "reads of " + std::to_string(megabytes) + " MiB again and again");
  {
    const int ctas = sms, count = 64;
    uint32_t *times;
    CHECK(cudaMalloc(&times, ctas * count * 4));
    for (int i = 0; i < 2; ++i)
      latencies<<<ctas, 1>>>((uint32_t *)data, count, times);
    std::vector<uint32_t> host(ctas * count);
    CHECK(cudaMemcpy(host.data(), times, ctas * count * 4, cudaMemcpyDeviceToHost));
    std::sort(host.begin(), host.end());
    for (int part : {1, 10, 25, 50, 75, 90, 99})
      emit("latency of a load from L2, percentile " + std::to_string(part),
           host[host.size() * part / 100], "cycles");
  }
  measureStores<Pattern::Wide>(data, "stores of 16 bytes a lane");
  measureStores<Pattern::Words>(data, "stores of 4 bytes a lane");
  measureStores<Pattern::Columns>(data, "stores of 16 bytes a lane and row");
  measureStores<Pattern::Partial>(data, "stores of 8 of 32 bytes");
  measureUpdates<Update::SameWord>((uint32_t *)data, sms, "red.add.u32 of one word");
  measureUpdates<Update::Words>((uint32_t *)data, sms, "red.add.f32 of words side by side");
  measureUpdates<Update::FloatPairs>((uint32_t *)data, sms, "red.add.v4.f32 side by side");
  measureUpdates<Update::Chain>((uint32_t *)data, 1, "atom.add.u32, to the next of the chain");
  measureFence<Fence::Cta>((uint32_t *)data, "fence.acq_rel.cta");
  measureFence<Fence::Gpu>((uint32_t *)data, "fence.acq_rel.gpu");
  measureFence<Fence::System>((uint32_t *)data, "fence.acq_rel.sys");
  measureFence<Fence::Proxy>((uint32_t *)data, "fence.proxy.async");
}
