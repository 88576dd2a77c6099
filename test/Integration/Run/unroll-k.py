"""Kernels with unrolled loops over K equal numpy's float64 on the simulator.

RUN: %python %s mx-opt mx-compile %t sm_90a
RUN: %python %s mx-opt mx-compile %t sm_100a
REQUIRES: compiler, numpy

Covers all matmul strategies of a chip, dynamic sizes, expert groups and a split reduction, with the unroll factors 2
and 3. The number of steps is zero, one, the unroll factor, one more or one less than the factor. The last step may be
partial. Operands are small integers with sums exact in any order. --seed draws other operands.
"""

import ml_dtypes
import mx_compiler as mx
import numpy as np
from harness import BF16, Harness

test = Harness("mx_opt", "mx_compile", "folder", "chip", seed=1)
rng = test.rng
TYPES = """
!f8 = tensor<?x?xf8E4M3FN>
!bf = tensor<?x?xbf16>
!w = tensor<?x?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!gs = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>
!ws = tensor<?x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<?x?xf32>
!o = tensor<3xi32>
"""
SCALED = """func.func @{name}(%a: !f8, %as: !s, %b: !f8, %bs: !s, %c: !d) -> !d {{
  %d = mx.matmul ins(%a, %as, %b, %bs : !f8, !s, !f8, !s) outs(%c : !d)
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !d
  return %d : !d
}}
"""
WEIGHTS = """func.func @{name}(%a: !bf, %b: !f8, %bs: !s, %c: !d) -> !d {{
  %d = mx.matmul ins(%a, %b, %bs : !bf, !f8, !s) outs(%c : !d)
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !d
  return %d : !d
}}
"""
GROUPED = """func.func @{name}(%a: !f8, %as: !gs, %b: !w, %bs: !ws, %ends: !o, %c: !d) -> !d {{
  %d = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !f8, !gs, !w, !ws) offsets(%ends : !o)
      outs(%c : !d) {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !d
  return %d : !d
}}
"""
# For each chip: entries with their programs, schedules, and loop step sizes.
ENTRIES = {
    "sm_90a": [
        ("upcast", SCALED, "tile = [64, 64, 64], strategy = #mxgpu.wgmma_upcast_b<>", 64),
        ("f16", SCALED, "tile = [128, 64, 64], strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>", 64),
        ("both", SCALED, "tile = [64, 64, 64], strategy = #mxgpu.wgmma_bf16<>, workspace = ab", 64),
        ("swap", WEIGHTS, "tile = [16, 64, 128], strategy = #mxgpu.wgmma_swap_ab<>", 128),
        ("split", WEIGHTS, "tile = [16, 64, 64], strategy = #mxgpu.wgmma_swap_ab<>, split_k = 2", 64),
        ("groups", GROUPED, "tile = [128, 64, 64]", 64)],
    "sm_100a": [
        ("scaled", SCALED, "tile = [128, 64, 128]", 128),
        ("overlap", SCALED, "tile = [128, 128, 256], stages = 2", 256),
        ("upcast", WEIGHTS, "tile = [128, 64, 64]", 64),
        ("split", SCALED, "tile = [128, 64, 128], split_k = 2", 128),
        ("groups", GROUPED, "tile = [128, 64, 128]", 128)],
}


def make_scales(rows, columns, ends=()):
    """Returns scales of 1 and 2, both in the layout of the program (tiles of 128 rows by 4 blocks) and as a matrix of
    rows and blocks. Group g begins with tile `first row / 128 + g` (docs/reference/Spec.md)."""
    blocks, tiles = -(-columns // 32), rows // 128 + len(ends) if len(ends) else -(-rows // 128)
    ends = ends if len(ends) else [rows]
    tiled = rng.integers(127, 129, (tiles, -(-blocks // 4), 32, 4, 4), dtype="u1")
    plain, start = [], 0
    for group, end in enumerate(ends):
        r, b = np.arange(end - start)[:, None], np.arange(blocks)
        plain.append(tiled[start // 128 + group + r // 128, b // 4, r % 32, r // 32 % 4, b % 4])
        start = end
    return tiled, 2.0 ** (np.concatenate(plain).astype(float) - 127)


def make_elements(*shape):
    return rng.integers(-4, 5, shape).astype(ml_dtypes.float8_e4m3fn)


def widen(elements, scales):
    return elements.astype(float) * np.repeat(scales, 32, -1)[..., :elements.shape[-1]]


def run(entry, text, m, n, k):
    """Returns the result and its expected value."""
    c = np.zeros((m, n), np.float32)
    if text is GROUPED:
        ends = np.sort(rng.integers(0, m + 1, 3)).astype("i4")
        ends[2] = m
        a, (at, asc) = make_elements(m, k), make_scales(m, k, ends)
        b = make_elements(3, n, k)
        parts = [make_scales(n, k) for _ in range(3)]
        y = entry(a.view("u1"), at, b.view("u1"), np.stack([t for t, _ in parts]), ends, c)[0]
        wide = widen(a, asc)
        expected, start = np.zeros((m, n)), 0
        for g, end in enumerate(ends):
            expected[start:end] = wide[start:end] @ widen(b[g], parts[g][1]).T
            start = end
        return y, expected
    b, (bt, bsc) = make_elements(n, k), make_scales(n, k)
    if text is WEIGHTS:
        a = rng.integers(-8, 9, (m, k)).astype(BF16)
        return entry(a.view("u2"), b.view("u1"), bt, c)[0], a.astype(float) @ widen(b, bsc).T
    a, (at, asc) = make_elements(m, k), make_scales(m, k)
    return entry(a.view("u1"), at, b.view("u1"), bt, c)[0], widen(a, asc) @ widen(b, bsc).T


entries = ENTRIES[test.chip]
source = TYPES + "".join(text.format(name=name, schedule=schedule) for name, text, schedule, _ in entries)
mx.set_device(test.device)
for factor in (2, 3):
    kernels = test.rewrite(source, f"--mx-to-mxgpu=chip={test.chip} unroll-k={factor}")
    with mx.Program(test.compile(kernels, chip=test.chip)) as program:
        for name, text, _, step in entries:
            for steps in (0, 1, factor - 1, factor, factor + 1, 2 * factor + 1):
                for rest in (0, 32) if steps else (32,):
                    m, n, k = int(rng.integers(1, 80)), int(rng.integers(1, 10)) * 8, steps * step + rest
                    test.expect_numbers(f"{name} by {factor}: {m}x{n}x{k}", *run(program[name], text, m, n, k))
test.finish(least=190000)
