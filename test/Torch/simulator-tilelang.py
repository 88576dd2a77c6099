"""A pipelined matmul of tilelang on the simulator. The producer's warps do not arrive at each barrier that they wait for.

RUN: rm -rf %t && env TILELANG_CACHE_DIR=%t mx-sim run --chip=h200 --warnings=error --checks=all,-phase-overrun %python_torch -m mx_compiler.sim %s 2>&1 | FileCheck %s
REQUIRES: torch, tilelang, nvcc
CHECK: 1 launch, clean
"""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, BM=64, BN=64, BK=32):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (x, y):
            a, b = T.alloc_shared((BM, BK), "float16"), T.alloc_shared((BK, BN), "float16")
            c = T.alloc_fragment((BM, BN), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
                T.copy(A[y * BM, k * BK], a)
                T.copy(B[k * BK, x * BN], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * BM, x * BN])
    return kernel


a, b = (torch.randn(size, device="cuda", dtype=torch.float16) for size in ((128, 160), (160, 64)))
torch.testing.assert_close(matmul(128, 64, 160)(a, b), a.float() @ b.float(), atol=1e-3, rtol=1e-3)
