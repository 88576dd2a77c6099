// RUN: %build_program %s -o %t && mx-sim run --warnings=error %t 2>&1 | FileCheck %s
// Attributes of launches: clusters, dependent and cooperative launches; tensor maps; printf.

#include "check.h"
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

namespace cg = cooperative_groups;

__global__ void neighbours(int *out) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  mine = 10 * blockIdx.x;
  cluster.sync();
  if (threadIdx.x == 0)
    out[blockIdx.x] = *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1) + cluster.num_blocks();
  cluster.sync();
}
__global__ void __cluster_dims__(2) compiled(int *out) { out[blockIdx.x] = cg::this_cluster().num_blocks(); }
__global__ void whole(int *x, int *sum) {
  cg::grid_group grid = cg::this_grid();
  x[grid.thread_rank()] = 1;
  grid.sync();
  if (grid.thread_rank() == 0)
    for (int i = 0; i < grid.size(); ++i)
      *sum += x[i];
}
__global__ void first(int *x) {
  cudaTriggerProgrammaticLaunchCompletion();
  x[threadIdx.x] = 3;
}
__global__ void second(const int *x, int *y) {
  cudaGridDependencySynchronize();
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
__global__ void tile(const __grid_constant__ CUtensorMap map, float *out) {
  __shared__ alignas(128) float box[8][16];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned at = __cvta_generic_to_shared(&barrier), to = __cvta_generic_to_shared(box);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n fence.proxy.async.shared::cta;" ::"r"(at) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {16, 8}], [%2];" ::"r"(to),
                 "l"(&map), "r"(at)
                 : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred p;\n again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n @!p bra again; }" ::"r"(at) : "memory");
  out[threadIdx.x] = box[threadIdx.x / 16][threadIdx.x % 16];
}

static cudaLaunchConfig_t configure(int grid, int block, cudaLaunchAttribute &attribute) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return config;
}

int main() {
  int *x, *y, host[256];
  OK(cudaMalloc(&x, 1 << 16));
  OK(cudaMalloc(&y, 1 << 16));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t config = configure(8, 32, attribute);
  OK(cudaLaunchKernelEx(&config, neighbours, x));
  OK(cudaMemcpy(host, x, 32, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i)
    CHECK(host[i] == 10 * (i ^ 1) + 4);
  int clusters;
  OK(cudaOccupancyMaxActiveClusters(&clusters, neighbours, &config));
  CHECK(clusters > 0);
  config.gridDim = 6; // not a multiple of the cluster
  CHECK(cudaLaunchKernelEx(&config, neighbours, x) == cudaErrorInvalidValue);
  cudaGetLastError();
  compiled<<<4, 32>>>(x);
  OK(cudaMemcpy(host, x, 16, cudaMemcpyDeviceToHost));
  CHECK(host[3] == 2);

  OK(cudaMemset(y, 0, 4));
  void *arguments[] = {&x, &y};
  OK(cudaLaunchCooperativeKernel((void *)whole, dim3(5), dim3(64), arguments, 0, 0));
  OK(cudaMemcpy(host, y, 4, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 320);

  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config = configure(1, 32, attribute);
  first<<<1, 32>>>(x);
  OK(cudaLaunchKernelEx(&config, second, (const int *)x, y));
  OK(cudaMemcpy(host, y, 128, cudaMemcpyDeviceToHost));
  CHECK(host[31] == 4);

  std::vector<float> matrix(64 * 32);
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = float(i);
  OK(cudaMemcpy(x, matrix.data(), matrix.size() * 4, cudaMemcpyHostToDevice));
  void *entry;
  cudaDriverEntryPointQueryResult found;
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 13000, cudaEnableDefault, &found));
  CHECK(found == cudaDriverEntryPointSuccess);
  CUtensorMap map;
  cuuint64_t dims[] = {32, 64}, stride = 128;
  cuuint32_t box[] = {16, 8}, steps[] = {1, 1};
  auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  auto make = [&] {
    return encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, x, dims, &stride, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  OK(make());
  tile<<<1, 128>>>(map, (float *)y);
  float part[128];
  OK(cudaMemcpy(part, y, sizeof part, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 128; ++i)
    CHECK(part[i] == matrix[(8 + i / 16) * 32 + 16 + i % 16]);
  stride = 100;
  CHECK(make() == CUDA_ERROR_INVALID_VALUE);
  puts("all right");
}
// CHECK-DAG: all right
// CHECK-DAG: cuTensorMapEncodeTiled: {{.*}}stride
// CHECK-DAG: launches, clean
