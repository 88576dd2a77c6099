// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures accesses of one process to the memory of a second GPU on the same
// host: stores and loads by number of SMs, copies, and the latency of a flag.
// Prints nothing on a single-GPU host.

#include "common.h"

static constexpr int kThreads = 512, kUnroll = 4;
static constexpr size_t kBytes = size_t(256) << 20;

__global__ void __launch_bounds__(kThreads) storeAll(uint4 *to, size_t pieces, uint32_t value) {
  for (size_t i = size_t(blockIdx.x) * kThreads * kUnroll + threadIdx.x; i < pieces;
       i += size_t(gridDim.x) * kThreads * kUnroll)
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
      to[i + j * kThreads] = uint4{value, value, value, uint32_t(i)};
}

__global__ void __launch_bounds__(kThreads) loadAll(const uint4 *from, size_t pieces, uint4 *out) {
  uint4 sum = {};
  for (size_t i = size_t(blockIdx.x) * kThreads * kUnroll + threadIdx.x; i < pieces;
       i += size_t(gridDim.x) * kThreads * kUnroll) {
    uint4 x[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
      x[j] = __ldcv(from + i + j * kThreads);
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
      sum.x ^= x[j].x ^ x[j].y ^ x[j].z ^ x[j].w;
  }
  if (sum.x == 1)
    *out = sum;
}

/// One thread copies rows from shared memory, at most five in flight.
__global__ void storeRows(char *to, size_t rows, uint32_t bytes) {
  extern __shared__ __align__(128) char row[];
  for (uint32_t i = threadIdx.x * 4; i < bytes; i += blockDim.x * 4)
    *(uint32_t *)(row + i) = i;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x)
    return;
  for (size_t i = blockIdx.x; i < rows; i += gridDim.x) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(to + i * bytes),
                 "r"(smemAddress(row)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.wait_group.read 4;" ::: "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ uint32_t loadFlag(const uint32_t *flag) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ void storeFlag(uint32_t *flag, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/// Each GPU waits for its own flag, then sets the flag of the other.
__global__ void pingPong(uint32_t *mine, uint32_t *theirs, int rounds, int first) {
  for (int i = 1; i <= rounds; ++i) {
    if (first)
      storeFlag(theirs, i);
    while (loadFlag(mine) != i)
      ;
    if (!first)
      storeFlag(theirs, i);
  }
}

/// A CTA per row waits for the row's flag, loads the row with the copy engine
/// and counts words that differ from the sender's.
__global__ void receiveRows(const char *rows, const uint32_t *flags, uint32_t bytes, uint32_t value,
                            int isFenced, unsigned long long *wrong) {
  extern __shared__ __align__(128) char row[];
  __shared__ uint64_t barrier;
  uint32_t bar = smemAddress(&barrier);
  if (threadIdx.x == 0) {
    initBarrier(bar, 1);
    fenceInit();
    while (loadFlag(flags + blockIdx.x) != value)
      ;
    if (isFenced)
      asm volatile("fence.proxy.async.global;" ::: "memory");
    expectBytes(bar, bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(smemAddress(row)), "l"(rows + size_t(blockIdx.x) * bytes), "r"(bytes), "r"(bar)
                 : "memory");
  }
  __syncthreads();
  waitBarrier(bar, 0);
  unsigned count = 0;
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    count += ((uint32_t *)row)[i] != value + i;
  if (count)
    atomicAdd(wrong, count);
}
__global__ void sendRows(char *rows, uint32_t *flags, uint32_t bytes, uint32_t value, int isBulk) {
  extern __shared__ __align__(128) char row[];
  uint32_t *to = isBulk ? (uint32_t *)row : (uint32_t *)(rows + size_t(blockIdx.x) * bytes);
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    to[i] = value + i;
  if (isBulk)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x)
    return;
  if (isBulk)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                 "fence.proxy.async.global;" ::"l"(rows + size_t(blockIdx.x) * bytes),
                 "r"(smemAddress(row)), "r"(bytes)
                 : "memory");
  storeFlag(flags + blockIdx.x, value);
}

struct Gpu {
  cudaStream_t stream;
  cudaEvent_t begin, end;
  char *data;
  uint32_t *flags;
  unsigned long long *wrong;
};

static Gpu gpus[2];

template <typename F> double seconds(int device, F launch) {
  Gpu &gpu = gpus[device];
  CHECK(cudaSetDevice(device));
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    CHECK(cudaEventRecord(gpu.begin, gpu.stream));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(gpu.end, gpu.stream));
    CHECK(cudaEventSynchronize(gpu.end));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, gpu.begin, gpu.end));
    times.push_back(milliseconds * 1e-3);
  }
  std::sort(times.begin(), times.end());
  return times[3];
}

static void emitRate(const std::string &name, double time) {
  emit(name, kBytes / time * 1e-9, "GB/s");
}

static void measureRates() {
  size_t pieces = kBytes / 16;
  uint32_t row = 7392; // 7168 elements and their scales
  size_t rows = kBytes / row;
  auto name = [](const char *what, int sms) {
    return std::string(what) + ", " + std::to_string(sms) + (sms == 1 ? " SM" : " SMs");
  };
  for (int sms : {1, 2, 4, 8, 16, 32, 64, 132})
    emitRate(name("stores of 16 bytes", sms), seconds(0, [&] {
               storeAll<<<sms, kThreads, 0, gpus[0].stream>>>((uint4 *)gpus[1].data, pieces, 1);
             }));
  for (int sms : {1, 2, 4, 8, 16, 32, 64, 132})
    emitRate(name("rows of 7392 bytes by the copy engine", sms), seconds(0, [&] {
               storeRows<<<sms, 128, row, gpus[0].stream>>>(gpus[1].data, rows, row);
             }));
  for (int sms : {1, 4, 16, 64, 132})
    emitRate(name("loads of 16 bytes", sms), seconds(0, [&] {
               loadAll<<<sms, kThreads, 0, gpus[0].stream>>>((const uint4 *)gpus[1].data, pieces,
                                                             nullptr);
             }));
  auto copy = [&](int from) {
    CHECK(cudaMemcpyPeerAsync(gpus[1 - from].data + kBytes, 1 - from, gpus[from].data, from, kBytes,
                              gpus[from].stream));
  };
  emitRate("cudaMemcpyPeerAsync", seconds(0, [&] { copy(0); }));
  // Both directions: the other GPU is busy for longer than the measurement.
  auto busy = [&](auto launch) {
    CHECK(cudaSetDevice(1));
    for (int i = 0; i < 12; ++i)
      launch();
    return 0;
  };
  busy([&] { copy(1); });
  emitRate("cudaMemcpyPeerAsync, both ways at once, each", seconds(0, [&] { copy(0); }));
  CHECK(cudaDeviceSynchronize());
  for (int sms : {8, 16, 32}) {
    busy([&] {
      storeAll<<<sms, kThreads, 0, gpus[1].stream>>>((uint4 *)gpus[0].data, pieces, 1);
    });
    emitRate(name("stores of 16 bytes, both ways at once, each", sms), seconds(0, [&] {
               storeAll<<<sms, kThreads, 0, gpus[0].stream>>>((uint4 *)gpus[1].data, pieces, 1);
             }));
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceSynchronize());
  }
}

static void clearFlags(int count) {
  for (Gpu &gpu : gpus)
    CHECK(cudaMemset(gpu.flags, 0, count * 4));
  for (int device : {0, 1}) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceSynchronize());
  }
}

static void measureFlags() {
  int rounds = 2000;
  clearFlags(1);
  for (int device : {1, 0}) {
    CHECK(cudaSetDevice(device));
    if (device == 0)
      CHECK(cudaEventRecord(gpus[0].begin, gpus[0].stream));
    pingPong<<<1, 1, 0, gpus[device].stream>>>(gpus[device].flags, gpus[1 - device].flags, rounds,
                                               device == 0);
  }
  CHECK(cudaEventRecord(gpus[0].end, gpus[0].stream));
  CHECK(cudaEventSynchronize(gpus[0].end));
  float milliseconds;
  CHECK(cudaEventElapsedTime(&milliseconds, gpus[0].begin, gpus[0].end));
  emit("a flag by st.release.sys and ld.acquire.sys, there and back", milliseconds * 1e6 / rounds,
       "ns");
}

static void checkRows() {
  uint32_t bytes = 7392;
  int rows = 96, rounds = 400; // all CTAs of a GPU are resident: receivers wait
  for (int isBulk : {0, 1})
    for (int isFenced : {1, 0}) {
      clearFlags(rows);
      CHECK(cudaMemset(gpus[1].wrong, 0, 8));
      for (int round = 1; round <= rounds; ++round)
        for (int device : {1, 0}) {
          CHECK(cudaSetDevice(device));
          uint32_t value = round * 100003;
          if (device == 1)
            receiveRows<<<rows, 128, bytes, gpus[1].stream>>>(gpus[1].data, gpus[1].flags, bytes,
                                                              value, isFenced, gpus[1].wrong);
          else
            sendRows<<<rows, 128, bytes, gpus[0].stream>>>(gpus[1].data, gpus[1].flags, bytes,
                                                           value, isBulk);
          CHECK(cudaGetLastError());
          if (device == 0) { // the next round writes the same rows
            CHECK(cudaSetDevice(1));
            CHECK(cudaStreamSynchronize(gpus[1].stream));
          }
        }
      unsigned long long wrong;
      CHECK(cudaMemcpy(&wrong, gpus[1].wrong, 8, cudaMemcpyDeviceToHost));
      emit(std::string("wrong words of 71 million, rows sent by ") +
               (isBulk ? "the copy engine" : "stores") +
               ", loaded by the copy engine as soon as their flag is there" +
               (isFenced ? "" : ", without fence.proxy.async"),
           double(wrong), "words");
    }
}

int main() {
  int count, canReach = 0;
  CHECK(cudaGetDeviceCount(&count));
  if (count > 1)
    CHECK(cudaDeviceCanAccessPeer(&canReach, 0, 1));
  if (!canReach) {
    fprintf(stderr, "peers: expected two GPUs that reach each other's memory, found %d\n", count);
    return 0;
  }
  for (int device : {0, 1}) {
    Gpu &gpu = gpus[device];
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
    CHECK(cudaStreamCreate(&gpu.stream));
    CHECK(cudaEventCreate(&gpu.begin));
    CHECK(cudaEventCreate(&gpu.end));
    CHECK(cudaMalloc(&gpu.data, 2 * kBytes));
    CHECK(cudaMalloc(&gpu.flags, 1 << 20));
    CHECK(cudaMalloc(&gpu.wrong, 8));
  }
  measureRates();
  measureFlags();
  checkRows();
}
