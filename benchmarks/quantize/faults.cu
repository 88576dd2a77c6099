// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels with one fault each, to prove that compute-sanitizer works although
// it reports nothing for mx.

extern "C" __global__ void memcheck(int *data, int count) {
  data[threadIdx.x == 0 ? count : threadIdx.x] = 1; // past the end
}

extern "C" __global__ void racecheck(int *data, int count) {
  __shared__ int shared[64];
  shared[threadIdx.x] = int(threadIdx.x);
  data[threadIdx.x] = shared[63 - threadIdx.x]; // missing barrier
}

extern "C" __global__ void initcheck(int *data, int count) {
  data[0] += data[count - 1]; // uninitialized
}

extern "C" __global__ void synccheck(int *data, int count) {
  if (threadIdx.x % 2) // half of a warp
    __syncthreads();
  data[threadIdx.x] = 1;
}
