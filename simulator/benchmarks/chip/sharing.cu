// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the SMs of each GPC by launching clusters. Measures which SMs share
// responses of L2, the L2 bandwidth of each GPC, and the number of consecutive
// CTAs on a GPC.

#include "common.h"

#include <functional>
#include <map>
#include <numeric>

__device__ unsigned smId() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// Records the SM of each CTA. CTAs run until all CTAs have started.
__global__ void where(unsigned *sms) {
  if (threadIdx.x == 0)
    sms[blockIdx.x] = smId();
  long long begin = clock64();
  while (clock64() - begin < 20000) {
  }
}

constexpr int kLines = 1024, kRounds = 128; // 128 KiB of each region

/// Warps read the region of their SM. Each warp keeps 2 KiB in flight.
__global__ void __launch_bounds__(1024)
    reads(const uint4 *data, const int *regionOf, long long *cycles, uint4 *out) {
  unsigned sm = smId();
  const uint4 *region = data + size_t(regionOf[sm]) * kLines * 8;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  uint32_t sum = 0;
  long long begin = 0;
  for (int round = -2; round < kRounds; ++round) {
    if (round == 0) {
      __syncthreads();
      begin = clock64();
    }
    int piece = ((round + 2) * warps + warp) % (kLines / 16);
    uint4 x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[j].x), "=r"(x[j].y), "=r"(x[j].z), "=r"(x[j].w)
                   : "l"(region + size_t(piece) * 128 + j * 32 + lane + (sum & 1)));
#pragma unroll
    for (int j = 0; j < 4; ++j)
      sum |= x[j].x | x[j].y | x[j].z | x[j].w;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[sm] = clock64() - begin;
  if (sum)
    *out = {};
}

static int sms;
static unsigned *places; ///< SM of each CTA, on the device
static std::vector<int> gpcOf, rankOf;
static std::vector<std::vector<int>> gpcs;

static std::vector<unsigned> launch(int ctas, int cluster, int bytes) {
  CHECK(cudaFuncSetAttribute(where, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK(cudaFuncSetAttribute(where, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(cluster), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(128);
  config.dynamicSmemBytes = bytes;
  config.attrs = &attribute;
  config.numAttrs = cluster > 1;
  std::vector<unsigned> host(ctas);
  if (cudaLaunchKernelEx(&config, where, places) != cudaSuccess)
    return cudaGetLastError(), std::vector<unsigned>();
  CHECK(cudaMemcpy(host.data(), places, 4 * ctas, cudaMemcpyDeviceToHost));
  return host;
}

/// Groups the SMs of each cluster, because a cluster lies within a GPC. Assigns
/// the remaining SMs to the GPC with the fewest SMs.
static void findGpcs() {
  std::vector<int> parent(sms);
  std::iota(parent.begin(), parent.end(), 0);
  std::function<int(int)> find = [&](int a) {
    return parent[a] == a ? a : parent[a] = find(parent[a]);
  };
  for (int size : {16, 8, 4, 2})
    for (int i = 0; i < 20; ++i) {
      std::vector<unsigned> host = launch(128 / size * size, size, 200 << 10);
      for (size_t k = 0; k < host.size(); ++k)
        parent[find(host[k])] = find(host[k / size * size]);
    }
  std::map<int, std::vector<int>> found;
  for (int sm = 0; sm < sms; ++sm)
    found[find(sm)].push_back(sm);
  std::vector<int> alone;
  for (auto &[root, members] : found)
    if (members.size() > 2)
      gpcs.push_back(members);
    else
      alone.insert(alone.end(), members.begin(), members.end());
  auto fewest = std::min_element(gpcs.begin(), gpcs.end(),
                                 [](auto &a, auto &b) { return a.size() < b.size(); });
  fewest->insert(fewest->end(), alone.begin(), alone.end());
  gpcOf.assign(sms, 0);
  rankOf.assign(sms, 0);
  for (size_t g = 0; g < gpcs.size(); ++g)
    for (size_t k = 0; k < gpcs[g].size(); ++k) {
      gpcOf[gpcs[g][k]] = int(g);
      rankOf[gpcs[g][k]] = int(k);
    }
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Measures reads by all SMs. `regionOf` returns the region of an SM.
static void measure(const char *name, const uint4 *data, std::function<int(int)> regionOf,
                    bool byGpc = false) {
  static int *regions = nullptr;
  if (!regions)
    CHECK(cudaMalloc(&regions, 4 * sms));
  std::vector<int> host(sms);
  for (int sm = 0; sm < sms; ++sm)
    host[sm] = regionOf(sm);
  CHECK(cudaMemcpy(regions, host.data(), 4 * sms, cudaMemcpyHostToDevice));
  Cycles cycles(sms);
  for (int i = 0; i < 3; ++i)
    reads<<<sms, 1024>>>(data, regions, cycles.device, nullptr);
  std::vector<long long> found(sms);
  CHECK(cudaMemcpy(found.data(), cycles.device, 8 * sms, cudaMemcpyDeviceToHost));
  constexpr double kBytes = 65536. * kRounds;
  std::vector<double> rates, ofGpcs;
  for (long long c : found)
    rates.push_back(kBytes / double(c));
  emit(std::string("reads from L2, ") + name, median(rates) * sms, "bytes/cycle");
  if (!byGpc)
    return;
  for (auto &gpc : gpcs) {
    std::vector<double> own;
    for (int sm : gpc)
      own.push_back(rates[sm]);
    ofGpcs.push_back(median(own));
  }
  std::sort(ofGpcs.begin(), ofGpcs.end());
  for (size_t g = 0; g < ofGpcs.size(); ++g)
    emit(std::string("reads from L2, ") + name + ", an SM of GPC " + std::to_string(g + 1) +
             " from the slowest",
         ofGpcs[g], "bytes/cycle");
}

/// Measures the number of consecutive CTAs on the same GPC.
static void order(int ctas, int cluster) {
  std::vector<unsigned> host = launch(ctas, cluster, 200 << 10);
  int most = 0, run = 0;
  for (size_t k = 0; k < host.size(); ++k) {
    run = k && gpcOf[host[k]] == gpcOf[host[k - 1]] ? run + 1 : 1;
    most = std::max(most, run);
  }
  std::vector<double> runs;
  for (size_t k = 0, begin = 0; k <= host.size(); ++k)
    if (k == host.size() || gpcOf[host[k]] != gpcOf[host[begin]]) {
      runs.push_back(double(k - begin));
      begin = k;
    }
  std::string what = std::to_string(ctas) + " CTAs" +
                     (cluster > 1 ? " in clusters of " + std::to_string(cluster) : "");
  emit(what + ", in a row on one GPC, median", median(runs), "CTAs");
}

int main() {
  sms = countSMs();
  CHECK(cudaMalloc(&places, 4 * 1024));
  findGpcs();
  auto bySize = [](auto &a, auto &b) { return a.size() < b.size(); };
  emit("GPCs", double(gpcs.size()), "");
  emit("SMs of the smallest", double(std::min_element(gpcs.begin(), gpcs.end(), bySize)->size()), "");
  emit("SMs of the largest", double(std::max_element(gpcs.begin(), gpcs.end(), bySize)->size()), "");
  uint4 *data;
  CHECK(cudaMalloc(&data, size_t(64) << 20));
  CHECK(cudaMemset(data, 0, size_t(64) << 20));
  measure("each SM its own 128 KiB", data, [](int sm) { return sm; }, true);
  measure("2 SMs of a TPC the same", data, [](int sm) { return sm / 2; });
  measure("2 SMs of a GPC the same", data, [](int sm) {
    return gpcOf[sm] * 16 + rankOf[sm] % int(gpcs[gpcOf[sm]].size() / 2);
  });
  measure("4 SMs of a GPC the same", data,
          [](int sm) { return gpcOf[sm] * 16 + rankOf[sm] / 4; });
  measure("all SMs of a GPC the same", data, [](int sm) { return gpcOf[sm]; });
  measure("2 SMs of two GPCs the same", data,
          [](int sm) { return gpcOf[sm] / 2 * 18 + rankOf[sm]; });
  measure("an SM of each GPC the same", data, [](int sm) { return rankOf[sm]; });
  for (int ctas : {32, 66, 132})
    order(ctas, 1);
  for (int cluster : {2, 4})
    order(128, cluster);
}
