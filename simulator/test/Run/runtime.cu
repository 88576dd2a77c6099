// RUN: %build_program %s -o %t && mx-sim run --warnings=error %t 2>&1 | FileCheck %s
// The same with a runtime inside the program, nvcc's default.
// RUN: nvcc -arch=sm_90a -std=c++17 -I%S/Inputs %s -o %t.static && mx-sim run --warnings=error %t.static 2>&1 | FileCheck %s
// Memory, copies, variables, streams, events and properties of the runtime. The program checks its results.

#include "check.h"
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

__device__ int offset = 5;
__constant__ int factors[4];
__managed__ int total;

__global__ void affine(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = factors[i % 4] * in[i] + offset;
}
__global__ void sum(const int *in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&total, in[i]);
}
__global__ void pitched(char *base, size_t pitch, int width, int height) {
  for (int y = 0; y < height; ++y)
    for (int x = threadIdx.x; x < width; x += blockDim.x)
      base[y * pitch + x] = char(x + 3 * y);
}

// Not the driver's: programs that load the driver define functions of its names.
extern "C" void cuInit(const char *text) { puts(text); }

constexpr int kCount = 1000;

static void copies() {
  std::vector<int> in(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i)
    in[i] = i - 300;
  int *x, *y, scales[] = {1, -2, 3, 7}, seven = 7, found = 0;
  OK(cudaMalloc(&x, kCount * 4));
  OK(cudaMallocAsync(&y, kCount * 4, 0));
  OK(cudaMemcpyToSymbol(factors, scales, sizeof scales));
  OK(cudaMemcpyToSymbol(offset, &seven, 4));
  OK(cudaMemcpyFromSymbol(&found, offset, 4));
  CHECK(found == 7);
  OK(cudaMemcpy(x, in.data(), kCount * 4, cudaMemcpyHostToDevice));
  affine<<<4, 256>>>(x, y, kCount);
  OK(cudaMemcpy(out.data(), y, kCount * 4, cudaMemcpyDefault));
  for (int i = 0; i < kCount; ++i)
    CHECK(out[i] == scales[i % 4] * in[i] + 7);
  void *address;
  size_t bytes;
  OK(cudaGetSymbolAddress(&address, factors));
  OK(cudaGetSymbolSize(&bytes, factors));
  CHECK(bytes == 16);
  OK(cudaMemcpy(&found, (char *)address + 12, 4, cudaMemcpyDeviceToHost));
  CHECK(found == 7);
  // Managed memory, and a managed variable.
  total = 0;
  sum<<<1, 64>>>(y, kCount);
  OK(cudaDeviceSynchronize());
  int wanted = 0;
  for (int value : out)
    wanted += value;
  CHECK(total == wanted);
  CHECK(cudaFree((char *)y + 4) == cudaErrorInvalidValue);
  OK(cudaFreeAsync(y, 0));
  CHECK(cudaMemcpy(nullptr, x, 4, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(y, x, 4, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  OK(cudaFree(x));
}

static void kinds() {
  int *pinned, *managed, *device, plain[64], *mapped;
  OK(cudaHostAlloc(&pinned, 256, cudaHostAllocMapped));
  OK(cudaMallocManaged(&managed, 256));
  OK(cudaHostRegister(plain, sizeof plain, cudaHostRegisterDefault));
  OK(cudaHostGetDevicePointer(&mapped, plain, 0));
  for (int i = 0; i < 64; ++i)
    pinned[i] = i, plain[i] = 100 * i;
  affine<<<1, 64>>>(pinned, managed, 64);
  affine<<<1, 64>>>(mapped, pinned, 64);
  OK(cudaDeviceSynchronize());
  CHECK(managed[3] == 7 * 3 + 7 && pinned[2] == 3 * 200 + 7);
  cudaPointerAttributes a;
  for (auto [pointer, type] : {std::pair((void *)pinned, cudaMemoryTypeHost), std::pair((void *)managed, cudaMemoryTypeManaged),
                               std::pair((void *)&a, cudaMemoryTypeUnregistered)}) {
    OK(cudaPointerGetAttributes(&a, pointer));
    CHECK(a.type == type);
  }
  OK(cudaMalloc(&device, 4));
  OK(cudaPointerGetAttributes(&a, device));
  CHECK(a.type == cudaMemoryTypeDevice && a.devicePointer == device && !a.hostPointer);
  OK(cudaHostUnregister(plain));
  CHECK(cudaHostUnregister(plain) == cudaErrorHostMemoryNotRegistered);
  OK(cudaFreeHost(pinned));
  OK(cudaFree(managed));
  OK(cudaFree(device));
}

static void pools() {
  cudaMemPool_t first, made;
  cudaMemPoolProps properties = {};
  properties.location.type = cudaMemLocationTypeDevice;
  OK(cudaDeviceGetDefaultMemPool(&first, 0));
  OK(cudaMemPoolCreate(&made, &properties));
  OK(cudaMemPoolDestroy(made));
  CHECK(cudaMemPoolDestroy(first) == cudaErrorInvalidValue);
  unsigned long long bytes;
  OK(cudaMemPoolGetAttribute(first, cudaMemPoolAttrReleaseThreshold, &bytes));
}

static void shapes() {
  char *base, host[10][37];
  size_t pitch;
  OK(cudaMallocPitch(&base, &pitch, 37, 10));
  CHECK(pitch % 256 == 0 && pitch >= 37);
  pitched<<<1, 32>>>(base, pitch, 37, 10);
  OK(cudaMemcpy2D(host, 37, base, pitch, 37, 10, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 37; ++x)
      CHECK(host[y][x] == char(x + 3 * y));
  OK(cudaMemset2D(base + 1, pitch, 9, 3, 10));
  OK(cudaMemcpy2D(host, 37, base, pitch, 37, 10, cudaMemcpyDeviceToHost));
  CHECK(host[4][0] == 12 && host[4][1] == 9 && host[4][3] == 9 && host[4][4] == 16);
  cudaPitchedPtr cube;
  cudaExtent extent = make_cudaExtent(16, 4, 3);
  OK(cudaMalloc3D(&cube, extent));
  OK(cudaMemset3D(cube, 2, extent));
  OK(cudaMemset3DAsync(cube, 1, extent, 0));
  char planes[3][4][16];
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = cube;
  copy.dstPtr = make_cudaPitchedPtr(planes, 16, 16, 4);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  memset(planes, 0, sizeof planes);
  OK(cudaMemcpy3D(&copy));
  for (auto &plane : planes)
    for (auto &row : plane)
      for (char value : row)
        CHECK(value == 1);
  OK(cudaFree(base));
  OK(cudaFree(cube.ptr));
}

static void order() {
  cudaStream_t stream, other;
  cudaEvent_t begin, end;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -1));
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  int calls = 0, *x;
  OK(cudaMalloc(&x, 4));
  OK(cudaEventRecord(begin, stream));
  OK(cudaMemsetAsync(x, 0, 4, stream));
  OK(cudaLaunchHostFunc(stream, [](void *count) { ++*static_cast<int *>(count); }, &calls));
  OK(cudaEventRecord(end, stream));
  OK(cudaStreamWaitEvent(other, end, 0));
  OK(cudaStreamSynchronize(other));
  OK(cudaStreamQuery(stream));
  float milliseconds = -1;
  OK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(calls == 1 && milliseconds >= 0);
  OK(cudaStreamDestroy(stream));
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  OK(cudaStreamDestroy(other));
  OK(cudaEventDestroy(begin));
}

static void properties() {
  cudaDeviceProp p;
  int value, blocks, grid, block;
  OK(cudaGetDeviceProperties(&p, 0));
  CHECK(p.major == 9 && p.multiProcessorCount == 132 && p.sharedMemPerBlockOptin == 232448 && p.clusterLaunch);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
  CHECK(value == 1024 && p.maxThreadsPerBlock == 1024);
  CHECK(cudaGetDeviceProperties(&p, 1) == cudaErrorInvalidDevice);
  cudaFuncAttributes a;
  OK(cudaFuncGetAttributes(&a, affine));
  CHECK(a.maxThreadsPerBlock == 1024 && a.binaryVersion == 90);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, affine, 256, 0));
  CHECK(blocks == 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, affine, 256, 100 << 10));
  CHECK(blocks == 2);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, affine));
  CHECK(grid * block == 132 * 2048);
  affine<<<1, 2000>>>(nullptr, nullptr, 0);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  affine<<<1, 32, 60000>>>(nullptr, nullptr, 0);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(affine, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  affine<<<1, 32, 60000>>>(nullptr, nullptr, 0);
  OK(cudaGetLastError());
}

int main() {
  copies();
  kinds();
  pools();
  shapes();
  order();
  properties();
  cuInit("all right");
}
// CHECK-DAG: all right
// CHECK-DAG: cudaMemPoolDestroy: {{.*}}found the default pool of device 0
// CHECK-DAG: mx-sim: {{.*}}runtime{{.*}}: 6 launches, clean
