// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the cycles from the last instruction of a kernel to the first
// instruction of the next kernel in a CUDA graph, for several numbers of CTAs,
// shared memory sizes, cluster sizes and numbers of stores at the end. Also
// measures the bandwidth of such stores.

#include "common.h"

struct Life {
  long long begin, end;
  unsigned sm, pad;
};

/// Each CTA runs for `work` cycles, then each thread issues `stores` stores of
/// 16 bytes.
__global__ void lives(Life *lives, int work, int stores, uint4 *out) {
  long long begin = clock64();
  while (clock64() - begin < work) {
  }
  size_t thread = size_t(blockIdx.x) * blockDim.x + threadIdx.x, all = size_t(gridDim.x) * blockDim.x;
  for (int i = 0; i < stores; ++i)
    out[i * all + thread] = uint4{uint32_t(i), 0, 0, 0};
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    lives[blockIdx.x] = {begin, clock64(), sm, 0};
  }
}

/// Each warp stores 16 rows and 256 columns of a 2048 x 2048 matrix of 16-bit
/// values from wgmma fragments, by columns (8 rows per store) or by rows. All
/// CTAs store at their end.
enum class Order { Nothing, Columns, Rows, Lines };
template <Order ORDER> __global__ void storesTile(uint16_t *out) {
  long long begin = clock64();
  while (clock64() - begin < 3000) {
  }
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  size_t row = warp % 128 * 16 + lane / 4, column = warp / 128 * 256 + lane % 4 * 2;
  constexpr size_t kSize = 2048;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    if (ORDER == Order::Columns)
      for (int k = 0; k < 4; ++k)
        out[(column + i * 8 + k % 2) * kSize + row + k / 2 * 8] = 0;
    if (ORDER == Order::Rows)
      for (int k = 0; k < 2; ++k)
        *(uint32_t *)(out + (row + k * 8) * kSize + column + i * 8) = 0;
    if (ORDER == Order::Lines && i < 16)
      ((uint4 *)out)[size_t(warp) * 512 + i * 32 + lane] = uint4{};
  }
}

/// Idles for 3000 cycles, then loads a word per thread.
template <bool LOADS> __global__ void passes(const uint4 *data, uint4 *out, uint32_t n) {
  long long begin = clock64();
  while (clock64() - begin < 3000) {
  }
  uint32_t x = LOADS ? data[blockIdx.x * blockDim.x + threadIdx.x].x : n;
  if (x == 77 + n)
    *out = {};
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Kind {
  const char *name;
  int resident, threads, bytes, stores, cluster;
};

static void measure(const Kind &k, uint4 *out) {
  constexpr int kLaunches = 8;
  int ctas = countSMs() * k.resident;
  Life *device;
  CHECK(cudaMalloc(&device, sizeof(Life) * ctas * kLaunches));
  CHECK(cudaFuncSetAttribute(lives, cudaFuncAttributeMaxDynamicSharedMemorySize, k.bytes));
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(k.cluster), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(k.threads);
  config.dynamicSmemBytes = k.bytes;
  config.attrs = &attribute;
  config.numAttrs = k.cluster > 1;
  int launch = 0;
  constexpr int kWork = 8000;
  microseconds(kLaunches, [&](cudaStream_t s) {
    config.stream = s;
    CHECK(cudaLaunchKernelEx(&config, lives, device + ctas * launch++, kWork, k.stores, out));
  });
  std::vector<Life> host(size_t(ctas) * kLaunches);
  CHECK(cudaMemcpy(host.data(), device, sizeof(Life) * host.size(), cudaMemcpyDeviceToHost));
  std::vector<double> gaps, spreads;
  for (unsigned sm = 0; sm < unsigned(countSMs()); ++sm) {
    long long last = 0;
    for (int i = 0; i < kLaunches; ++i) {
      long long first = 1ll << 62, late = 0, end = 0;
      for (int c = 0; c < ctas; ++c) {
        const Life &life = host[size_t(i) * ctas + c];
        if (life.sm != sm)
          continue;
        first = std::min(first, life.begin);
        late = std::max(late, life.begin);
        end = std::max(end, life.end);
      }
      if (!end)
        continue;
      if (i && last)
        gaps.push_back(double(first - last));
      spreads.push_back(double(late - first));
      last = end;
    }
  }
  std::string name = k.name;
  emit("from a kernel's end to the next one's start, " + name, median(gaps), "cycles");
  if (k.resident > 1)
    emit("from the first CTA of an SM to its last, " + name, median(spreads), "cycles");
  CHECK(cudaFree(device));
}

template <Order ORDER> double tile(uint16_t *out) {
  return microseconds(40, [&](cudaStream_t s) { storesTile<ORDER><<<128, 256, 0, s>>>(out); });
}

int main() {
  uint4 *out;
  CHECK(cudaMalloc(&out, size_t(256) << 20));
  const Kind kinds[] = {
      {"a CTA of 128 threads", 1, 128, 0, 0, 1},
      {"a CTA of 384 threads and 200 KiB", 1, 384, 200 << 10, 0, 1},
      {"clusters of 2 of 384 threads and 200 KiB", 1, 384, 200 << 10, 0, 2},
      {"a CTA of 1024 threads", 1, 1024, 0, 0, 1},
      {"2 CTAs of 128 threads", 2, 128, 0, 0, 1},
      {"4 CTAs of 128 threads", 4, 128, 0, 0, 1},
      {"8 CTAs of 128 threads", 8, 128, 0, 0, 1},
      {"16 CTAs of 128 threads", 16, 128, 0, 0, 1},
      {"8 CTAs of 256 threads", 8, 256, 0, 0, 1},
      {"a CTA of 128 threads and a store of each", 1, 128, 0, 1, 1},
      {"a CTA of 128 threads and 16 stores of each", 1, 128, 0, 16, 1},
      {"a CTA of 384 threads and 16 stores of each", 1, 384, 0, 16, 1},
  };
  for (const Kind &k : kinds)
    measure(k, out);
  for (int threads : {32, 1024}) {
    std::string who = ", a CTA of " + std::to_string(threads) + " threads for each SM";
    auto time = [&](auto kernel) {
      return microseconds(60, [&](cudaStream_t s) {
        kernel<<<countSMs(), threads, 0, s>>>(out, out, 1u);
      });
    };
    emit("3000 cycles" + who, time(passes<false>), "us");
    emit("3000 cycles and a load" + who, time(passes<true>), "us");
  }
  uint16_t *matrix = (uint16_t *)out;
  double nothing = tile<Order::Nothing>(matrix);
  constexpr double kParts = 2048 * 2048 / 8;
  auto rate = [&](const char *name, double parts, double time) {
    emit(std::string("8 MiB of results, ") + name, parts / ((time - nothing) * 1980), "1/cycle");
  };
  rate("parts of 16 bytes by columns", kParts, tile<Order::Columns>(matrix));
  rate("parts of 16 bytes by rows", kParts, tile<Order::Rows>(matrix));
  rate("whole lines", kParts / 8, tile<Order::Lines>(matrix));
}
