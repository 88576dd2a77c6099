"""Tests f16_scale_range with expert groups. Each expert group uses its own scale windows, which do not depend on data
outside of the group. The bits of results are the same as without f16_scale_range.

RUN: env MX_CHIP=sm_90a MX_SIM_TENSOR_SUMS=truncated %python %s mx-run %t
REQUIRES: compiler, numpy

Covers row groups, masked groups and reduction groups of any size, with different scale ranges. Results are
compared bit for bit with the same schedule in bf16, and with numpy in float64. All padding is NaN: scales of
nonexistent rows and blocks, and the rows and segments outside of all expert groups.
"""

import mx_reference as ref
import numpy as np
from harness import Harness
from scale_ranges import NAN, NAN_SCALE, compare, real
from scale_ranges import operand as whole_blocks

TYPES = {
    "rows": """
!a = tensor<{m}x{k}xf8E4M3FN>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = {g}>>
!b = tensor<{g}x{n}x{k}xf8E4M3FN>
!bs = tensor<{g}x{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!out = tensor<{m}x{n}xf32>
""",
    "masked": """
!a = tensor<{g}x{m}x{k}xf8E4M3FN>
!as = tensor<{g}x{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<{g}x{n}x{k}xf8E4M3FN>
!bs = tensor<{g}x{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!out = tensor<{g}x{m}x{n}xf32>
""",
    "reduction": """
!a = tensor<{m}x{k}xf8E4M3FN>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {g}>>
!b = tensor<{n}x{k}xf8E4M3FN>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {g}>>
!out = tensor<{g}x{m}x{n}xf32>
""",
}
PROGRAM = """
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<{g}xi32>,
                %init: !out) -> !out {{
  %y = mx.grouped_matmul ragged = {kind} ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : tensor<{g}xi32>) outs(%init : !out) {accumulate}
      {{mxgpu.schedule = #mxgpu.schedule<SCHEDULE>}} -> !out
  return %y : !out
}}
"""

def operand(rng, rows, k, kind):
    """Returns codes and scales; the last block may be short."""
    blocks = -(-k // 32)
    if not rows or not blocks:
        return np.zeros((rows, k), np.uint8), np.zeros((rows, blocks), np.uint8)
    codes, scales = whole_blocks(rng, rows, 32 * blocks, kind)
    return codes[:, :k], scales


class Rows:
    """Row groups with a separate matrix B for each."""

    def __init__(self, rng, sizes, kinds, m, n, k):
        behind, groups = 5, len(sizes)
        ends = np.cumsum(sizes)
        total = int(ends[-1]) + behind
        a = np.full((total, k), NAN, np.uint8)
        tiles = np.full((total // 128 + groups, -(-k // 128), 32, 4, 4), NAN_SCALE, np.uint8)
        bs, b_tiles, self.matmuls = [], [], []
        for g, (size, end, (a_kind, b_kind)) in enumerate(zip(sizes, ends, kinds)):
            begin = end - size
            codes, scales = operand(rng, size, k, a_kind)
            a[begin:end] = codes
            if size:
                first, own = begin // 128 + g, ref.tile(scales, NAN_SCALE)
                tiles[first:first + len(own)] = own
            b, b_scales = operand(rng, n, k, b_kind)
            bs.append(b)
            b_tiles.append(ref.tile(b_scales, NAN_SCALE))
            self.matmuls.append((slice(begin, end), real(codes, scales), real(b, b_scales)))
        self.arrays = [a, tiles, np.stack(bs), np.stack(b_tiles), ends.astype(np.int32)]
        self.out, self.sizes = (total, n), dict(m=total, n=n, k=k)


class Masked:
    """Expert groups in the first rows of matrices."""

    def __init__(self, rng, sizes, kinds, m, n, k):
        arrays, self.matmuls = [], []
        for g, (size, (a_kind, b_kind)) in enumerate(zip(sizes, kinds)):
            a = np.full((m, k), NAN, np.uint8)
            scales = np.full((m, k // 32), NAN_SCALE, np.uint8)
            a[:size], scales[:size] = operand(rng, size, k, a_kind)
            b, b_scales = operand(rng, n, k, b_kind)
            arrays.append((a, ref.tile(scales, NAN_SCALE), b, ref.tile(b_scales, NAN_SCALE)))
            self.matmuls.append(((g, slice(0, size)), real(a[:size], scales[:size]),
                                 real(b, b_scales)))
        self.arrays = [np.stack(parts) for parts in zip(*arrays)] + [np.array(sizes, np.int32)]
        self.out, self.sizes = (len(sizes), m, n), dict(m=m, n=n, k=k)


class Reduction:
    """Groups of the reduction; the result contains one matrix for each group."""

    def __init__(self, rng, sizes, kinds, m, n, k):
        ends = np.cumsum(sizes)
        cap = ref.capacity(int(ends[-1]) + 5, len(sizes))
        self.arrays, parts = [], []
        for which, rows in enumerate((m, n)):
            codes = np.full((rows, cap), NAN, np.uint8)
            scales = np.full((rows, cap // 32), NAN_SCALE, np.uint8)
            starts = ref.group_starts(ends)
            for start, end, size, kind in zip(starts, starts[1:], sizes, kinds):
                # Quantizers write zeros up to the end of a segment.
                codes[:, start:end] = 0
                scales[:, start // 32:end // 32] = 0
                own, own_scales = operand(rng, rows, size, kind[which])
                codes[:, start:start + size] = own
                scales[:, start // 32:start // 32 + own_scales.shape[1]] = own_scales
                parts.append(real(own, own_scales))
            self.arrays += [codes, ref.tile(scales, NAN_SCALE)]
        self.arrays.append(ends.astype(np.int32))
        self.matmuls = [(g, parts[g], parts[len(sizes) + g].reshape(n, -1))
                        for g in range(len(sizes))]
        self.out, self.sizes = (len(sizes), m, n), dict(m=m, n=n, k=cap)


KINDS = {"rows": Rows, "masked": Masked, "reduction": Reduction}
# Kind and sizes of the groups; rows, columns and reduction size; schedule; and scale ranges of A and B for each group.
CASES = [
    ("reduction", (100, 0, 256, 33), (130, 70, 0), "tile = [128, 64, 64]",
     ["full even", "full full", "zeros full", "full tiny"]),
    ("reduction", (64, 300, 31), (200, 264, 0), "tile = [256, 128, 64], stages = 2",
     ["wide full", "full zeros", "some full"]),
    ("reduction", (200, 1, 128, 0, 160), (256, 128, 0),
     "tile = [256, 128, 64], stages = 2, epilogue = tma_store",
     ["nan full", "full full", "full nans", "full full", "none full"]),
    ("reduction accumulate", (0, 129, 100), (300, 120, 0), "tile = [256, 64, 64]",
     ["full full", "forty forty", "full low"]),
    ("rows", (130, 0, 1, 200), (0, 136, 96), "tile = [256, 128, 64], stages = 2",
     ["full full", "full wide", "full even", "some full"]),
    ("rows", (257, 100, 31), (0, 264, 160), "tile = [256, 64, 64]",
     ["zeros full", "full tiny", "nan full"]),
    ("rows", (127, 129), (0, 128, 64), "tile = [128, 128, 64], epilogue = tma_store",
     ["full full", "full nans"]),
    ("masked", (40, 0, 200), (200, 136, 96), "tile = [256, 128, 64], stages = 2",
     ["full full", "full full", "some zeros"]),
    ("masked", (129, 128), (260, 64, 128), "tile = [128, 64, 64]",
     ["wide full", "full full"]),
]


test = Harness("mx_run", "folder")
for seed, (kind, sizes, shape, schedule, scales) in enumerate(CASES):
    for _ in test.select([f"{kind}, {sizes}, {schedule}"]):
        rng = np.random.default_rng(seed)
        name, *flags = kind.split()
        case = KINDS[name](rng, sizes, [each.split() for each in scales], *shape)
        init = rng.standard_normal(case.out).astype(np.float32)
        text = (TYPES[name] + PROGRAM).format(
            **case.sizes, g=len(sizes), blocks=case.sizes["k"] // 32, accumulate="".join(flags),
            kind="rows masked" if name == "masked" else name)
        compare(test, text, schedule, [*case.arrays, init],
                [(place, a, b, init[place] if flags else 0) for place, a, b in case.matmuls], more=1)
test.finish(least=200000)
