// The kernels of params.ptx: nvcc -ptx -arch=sm_90a params.cu (13.0).
#include <cuda.h>
struct Scale { const float *values; float factor; int count; double bias; };
extern __shared__ float tile[];
extern "C" __global__ void __launch_bounds__(128) scaled(const __grid_constant__ CUtensorMap map, Scale s, float alpha, long long stride, float *out) {
  int i = blockIdx.x * 128 + threadIdx.x;
  tile[threadIdx.x] = s.values[i * stride];
  __syncthreads();
  if (i == 0)
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
  out[i] = tile[127 - threadIdx.x] * alpha * s.factor + s.count + (float)s.bias;
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) one(int *x) { x[0] = 1; }
