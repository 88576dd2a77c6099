"""A RawKernel of CuPy on the simulator, with and without its barrier, and CuPy's own kernels.

RUN: mx-sim run --chip=h200 --warnings=error %python_torch -m mx_compiler.sim %s "__syncthreads()" 2>&1 | FileCheck %s --check-prefix=CLEAN
RUN: not mx-sim run --chip=h200 %python_torch -m mx_compiler.sim %s "" 2>&1 | FileCheck %s
REQUIRES: torch, cupy
CLEAN: 3 launches, clean
CHECK: race: {{.*}}'tile'
"""

import sys

import cupy
import numpy as np

reverse = cupy.RawKernel(r"""
extern "C" __global__ void reverse(const float *x, float *y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  BARRIER;
  y[threadIdx.x] = tile[63 - threadIdx.x];
}""", "reverse", ("-DBARRIER=" + sys.argv[1],))
x = np.arange(64, dtype="f4")
y = cupy.zeros(64, "f4")
reverse((1,), (64,), (cupy.asarray(x), y))
print("sum", (y * 2).sum())
assert not sys.argv[1] or np.array_equal(y.get(), x[::-1])
