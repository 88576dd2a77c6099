# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Baseline Triton tl.dot_scaled: matmul of E4M3 operands with a scale per 32 elements."""

import torch
import triton
import triton.language as tl

# Rows, columns, depth, warps, stages.
TILES = [(128, 128, 64, 4, 4), (128, 256, 64, 8, 3), (128, 128, 128, 8, 3)]


@triton.jit
def kernel(a, b, sa, sb, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           G: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (G * columns) * G
    size = min(rows - first, G)
    rm = (first + pid % (G * columns) % size) * BM + tl.arange(0, BM)
    rn = pid % (G * columns) // size * BN + tl.arange(0, BN)
    rk, rs = tl.arange(0, BK), tl.arange(0, BK // 32)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    psa, psb = (sa + rm[:, None] * (K // 32) + rs[None, :],
                sb + rn[:, None] * (K // 32) + rs[None, :])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot_scaled(tl.load(pa), tl.load(psa), "e4m3", tl.load(pb), tl.load(psb), "e4m3",
                            acc)
        pa += BK
        pb += BK
        psa += BK // 32
        psb += BK // 32
    tl.store(d + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


class DotScaled:
    """Kernel with one tile size. Sets contain elements and linear scales of both operands."""

    def __init__(self, sets, shape, tile):
        self.sets, self.tile, self.count = sets, tile, len(sets)
        self.name = "Triton dot_scaled, " + " x ".join(map(str, tile[:3]))
        self.out = torch.empty(shape, dtype=torch.bfloat16, device="cuda")

    def launch(self, index):
        a, sa, b, sb = self.sets[index]
        (m, k), n, (bm, bn, bk, warps, stages) = a.shape, len(b), self.tile
        kernel[(m // bm * (n // bn),)](a, b, sa, sb, self.out, m, n, k, bm, bn, bk, 8,
                                       num_warps=warps, num_stages=stages)
