// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with one fault each, so that a silent compute-sanitizer is known to
// have looked.

extern "C" __global__ void memcheck(int *data, int count) {
  data[threadIdx.x == 0 ? count : threadIdx.x] = 1; // behind the last
}

extern "C" __global__ void racecheck(int *data, int count) {
  __shared__ int shared[64];
  shared[threadIdx.x] = int(threadIdx.x);
  data[threadIdx.x] = shared[63 - threadIdx.x]; // no barrier between
}

extern "C" __global__ void initcheck(int *data, int count) {
  data[0] += data[count - 1]; // nothing wrote them
}

extern "C" __global__ void synccheck(int *data, int count) {
  if (threadIdx.x % 2) // half of a warp
    __syncthreads();
  data[threadIdx.x] = 1;
}
