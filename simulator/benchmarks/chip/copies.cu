// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the copy engine on one SM and on all SMs: boxes with rows of 32 to
// 128 bytes, latency per size, copies without a tensor map, stores, additions,
// and the fetch of a tensor map.

#include "maps.h"

/// Loads a box, or `bytes` contiguous bytes if `map` is null.
__device__ void load(const CUtensorMap *map, const uint8_t *data, uint32_t to, uint32_t bar,
                     int column, int row, uint32_t bytes) {
  if (map)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(bar)
                 : "memory");
  else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to), "l"(data), "r"(bytes), "r"(bar) : "memory");
}

/// One thread keeps `inFlight` boxes in flight and waits for the oldest box.
/// `inFlight` is a power of two.
__global__ void stream(const __grid_constant__ CUtensorMap map, const uint8_t *data, bool hasMap,
                       uint32_t boxBytes, int boxRows, int rowBytes, int boxes, int inFlight,
                       int panelBits, int groupBits, long long *cycles) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t bars[32];
  for (int i = 0; i < inFlight; ++i)
    initBarrier(smemAddress(bars + i), 1);
  fenceInit();
  uint32_t slotBytes = (boxBytes + 1023) / 1024 * 1024;
  const CUtensorMap *used = hasMap ? &map : nullptr;
  int parity = 0, place = blockIdx.x * 7;
  long long begin = 0;
  for (int i = 0; i < boxes + inFlight; i += inFlight) {
    if (i == inFlight)
      begin = clock64();
    for (int slot = 0; slot < inFlight; ++slot, ++place) {
      uint32_t bar = smemAddress(bars + slot);
      if (i)
        waitBarrier(bar, parity ^ 1);
      if (i >= boxes)
        continue;
      expectBytes(bar, boxBytes);
      int panel = place & ((1 << panelBits) - 1), group = place >> panelBits & ((1 << groupBits) - 1);
      load(used, data + size_t((group << panelBits) + panel) * boxBytes,
           smemAddress(memory) + slot * slotBytes, bar, panel * rowBytes, group * boxRows, boxBytes);
    }
    parity ^= 1;
  }
  cycles[blockIdx.x] = clock64() - begin;
}

static int bitsOf(unsigned count) {
  int bits = 0;
  while (count >>= 1)
    ++bits;
  return bits;
}

struct Shape {
  int rowBytes, boxRows, inFlight; // rowBytes 0: no map
  uint32_t bytes;
};

static void measureStream(uint8_t *data, Shape s, int ctas) {
  bool hasMap = s.rowBytes;
  int rowBytes = hasMap ? s.rowBytes : 128, boxRows = hasMap ? s.boxRows : 8;
  uint32_t bytes = hasMap ? rowBytes * boxRows : s.bytes;
  CUtensorMap map = makeMap(data, 2048, rowBytes, boxRows);
  int boxes = 512, shared = s.inFlight * ((bytes + 1023) / 1024 * 1024);
  CHECK(cudaFuncSetAttribute(stream, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  Cycles cycles(ctas);
  // 8 MiB in total.
  int panels = hasMap ? 4096 / rowBytes : 1;
  int groups = hasMap ? 2048 / boxRows : int((8u << 20) / bytes);
  for (int i = 0; i < 2; ++i)
    stream<<<ctas, 1, shared>>>(map, data, hasMap, bytes, boxRows, rowBytes, boxes, s.inFlight,
                                bitsOf(panels), bitsOf(groups), cycles.device);
  double each = cycles.median() / boxes;
  std::string what = (hasMap ? std::to_string(boxRows) + " rows of " + std::to_string(rowBytes)
                             : std::to_string(bytes)) +
                     " bytes, " + std::to_string(s.inFlight) + " under way, " +
                     (ctas == 1 ? "one SM" : "all SMs");
  emit(what, each, "cycles");
}

/// Stores or adds `bytes` per copy. After each copy, waits for its completion
/// or only until its source has been read.
template <bool ADDS>
__global__ void storeAll(const __grid_constant__ CUtensorMap map, uint8_t *data, bool hasMap,
                         uint32_t bytes, int count, bool waitsForAll, long long *cycles) {
  extern __shared__ __align__(1024) uint8_t memory[];
  uint32_t from = smemAddress(memory);
  long long begin = clock64();
  for (int i = 0; i < count; ++i) {
    int place = (blockIdx.x * count + i) % 1024;
    if (hasMap && !ADDS)
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                       &map), "r"(place % 32 * 128), "r"(place / 32 * 64), "r"(from) : "memory");
    else if (hasMap)
      asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group "
                   "[%0, {%1, %2}], [%3];" ::"l"(&map), "r"(place % 32 * 32), "r"(place / 32 * 64),
                   "r"(from) : "memory");
    else if (!ADDS)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                       data + size_t(place) * bytes), "r"(from), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (waitsForAll)
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    else
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  cycles[blockIdx.x] = clock64() - begin;
}

template <bool ADDS>
static void measureStores(uint8_t *data, bool hasMap, uint32_t bytes, const char *name) {
  CUtensorMap map = makeMap(data, 2048, 128, 64,
                            ADDS ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT8);
  CHECK(cudaFuncSetAttribute(storeAll<ADDS>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  for (int ctas : {1, countSMs()})
    for (bool all : {false, true}) {
      Cycles cycles(ctas);
      const int count = 64;
      for (int i = 0; i < 2; ++i)
        storeAll<ADDS><<<ctas, 1, 65536>>>(map, data, hasMap, bytes, count, all, cycles.device);
      emit(std::string(name) + (all ? ", waited for" : ", read") +
               (ctas == 1 ? ", one SM" : ", all SMs"),
           cycles.median() / count, "cycles");
    }
}

/// Times the first box with an uncached map, and the next box.
__global__ void first(const __grid_constant__ CUtensorMap map, bool prefetch, long long *cycles) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t bars[1];
  uint32_t bar = smemAddress(bars);
  initBarrier(bar, 1);
  fenceInit();
  if (prefetch) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    for (long long begin = clock64(); clock64() - begin < 4000;) {
    }
  }
  for (int i = 0; i < 2; ++i) {
    long long begin = clock64();
    expectBytes(bar, 8192);
    load(&map, nullptr, smemAddress(memory), bar, 0, 64, 0);
    waitBarrier(bar, i);
    cycles[i * gridDim.x + blockIdx.x] = clock64() - begin;
  }
}

int main() {
  uint8_t *data;
  CHECK(cudaMalloc(&data, 32 << 20));
  CHECK(cudaMemset(data, 0, 32 << 20));
  const Shape shapes[] = {
      {128, 8, 1},   {128, 8, 2},    {128, 8, 8},   {128, 8, 16},  {128, 32, 1}, {128, 32, 4},
      {128, 64, 1},  {128, 64, 2},   {128, 64, 4},  {128, 64, 8},  {128, 128, 1}, {128, 128, 4},
      {128, 256, 1}, {128, 256, 4}, {128, 8, 32}, {128, 32, 16},  {64, 8, 8},    {64, 64, 1},   {64, 64, 8},  {64, 256, 4},
      {32, 8, 8},    {32, 64, 1},    {32, 64, 8},   {32, 256, 4},  {0, 0, 1, 128}, {0, 0, 8, 128},
      {0, 0, 16, 512}, {0, 0, 1, 1024}, {0, 0, 8, 1024}, {0, 0, 1, 4096}, {0, 0, 8, 4096},
      {0, 0, 1, 16384}, {0, 0, 4, 16384}, {0, 0, 1, 32768}, {0, 0, 4, 32768}};
  for (const Shape &s : shapes)
    measureStream(data, s, 1);
  for (Shape s : {Shape{128, 64, 1}, Shape{128, 64, 4}, Shape{128, 64, 8}, Shape{128, 256, 1}, Shape{128, 256, 4}, Shape{128, 8, 32}, Shape{32, 64, 8},
                  Shape{64, 64, 8}, Shape{0, 0, 1, 4096}, Shape{0, 0, 8, 4096},
                  Shape{0, 0, 4, 32768}})
    measureStream(data, s, countSMs());
  measureStores<false>(data, true, 8192, "a store of 64 rows of 128 bytes");
  measureStores<false>(data, false, 1024, "a store of 1024 bytes");
  measureStores<false>(data, false, 16384, "a store of 16384 bytes");
  measureStores<true>(data, true, 8192, "an addition to 64 rows of 32 floats");
  int sms = countSMs();
  for (bool prefetch : {false, true}) {
    Cycles cycles(2 * sms);
    CUtensorMap map = makeMap(data, 2048, 128, 64);
    first<<<sms, 1, 8192>>>(map, prefetch, cycles.device);
    first<<<sms, 1, 8192>>>(map, prefetch, cycles.device);
    std::vector<long long> host(2 * sms);
    CHECK(cudaMemcpy(host.data(), cycles.device, 2 * sms * 8, cudaMemcpyDeviceToHost));
    std::sort(host.begin(), host.begin() + sms);
    std::sort(host.begin() + sms, host.end());
    emit(std::string("the first box of a kernel") + (prefetch ? ", its map fetched before" : ""),
         double(host[sms / 2]), "cycles");
    if (!prefetch)
      emit("the next", double(host[sms + sms / 2]), "cycles");
  }
}
