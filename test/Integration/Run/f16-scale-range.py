"""f16_scale_range changes the computation of a matmul but not its result. A unit of work uses f16 if its scales are
within a window. Other units use bf16 relative to reference scales if they contain no NaN, and plain bf16 otherwise. All
three return the same bits.

RUN: env MX_CHIP=sm_90a MX_SIM_TENSOR_SUMS=truncated %python %s mx-run %t
REQUIRES: compiler, numpy
TIER: slow

Results are compared bit for bit with the same schedule without f16_scale_range, and with numpy in float64.
"""

import mx_reference as ref
import numpy as np
from harness import Harness
from scale_ranges import NAN, compare, operand, real

PROGRAM = """
!a = tensor<{m}x{k}xf8E4M3FN>
!b = tensor<{n}x{k}xf8E4M3FN>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!out = tensor<{m}x{n}xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !out {{
  %init = tensor.empty() : !out
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%init : !out)
      {{mxgpu.schedule = #mxgpu.schedule<SCHEDULE>}} -> !out
  return %y : !out
}}
"""
CASES = [("even", "even", (256, 128, 64), "[256, 128, 64]"),
         ("full", "full", (130, 70, 96), "[128, 64, 64]"),
         ("zeros", "full", (300, 140, 128), "[256, 128, 64]"),
         ("tiny", "zeros", (256, 128, 160), "[256, 128, 64]"),
         ("wide", "full", (128, 128, 64), "[128, 128, 64]"),
         ("forty", "forty", (200, 100, 576), "[256, 64, 64]"),
         ("some", "some", (384, 200, 288), "[256, 128, 64]"),
         ("low", "full", (128, 128, 64), "[128, 128, 64]"),
         ("nan", "full", (256, 256, 64), "[128, 128, 64]"),
         ("nans", "nans", (256, 128, 128), "[256, 128, 64]"),
         ("none", "full", (128, 128, 64), "[128, 128, 64]"),
         # Units computed in bf16 relative to references.
         ("large", "forty", (256, 128, 128), "[256, 128, 64]"),
         ("highest-ends", "highest-ends", (128, 128, 128), "[128, 128, 64]"),
         ("deepest-ends", "highest-ends", (256, 128, 128), "[256, 128, 64]"),
         ("deepest-ends", "deepest-ends", (128, 128, 64), "[128, 64, 64]"),
         ("forty-subnormals", "large-subnormals", (256, 128, 64), "[256, 128, 64]"),
         ("forty-zeros", "even", (256, 128, 160), "[256, 128, 64]"),
         # Units that cannot use f16 because of a single scale, and units with all scales except NaN.
         ("over", "forty", (128, 128, 64), "[128, 128, 64]"),
         ("under", "forty", (128, 128, 64), "[128, 128, 64]"),
         ("all", "all", (128, 128, 96), "[128, 128, 64]"),
         # NaN in a tile of A or B that would fit f16, or next to a tile that does not fit.
         ("forty", "even-nans", (128, 128, 64), "[128, 128, 64]"),
         ("even-nans+forty", "even", (256, 128, 64), "[256, 128, 64]"),
         ("even+forty-nans", "forty+even-nans+even", (200, 300, 96), "[128, 128, 64]"),
         ("forty", "forty-nans", (128, 128, 1056), "[128, 128, 64]"),
         # Adjacent units with all three computations.
         ("even+forty+all+nan", "even+large+even-nans", (512, 384, 64), "[128, 128, 64]"),
         ("even+even+forty+even+over+even", "even+forty", (700, 256, 64), "[256, 128, 64]")]


def fits(codes, scales):
    """Returns, for every 128 rows, whether they fit f16, whether they fit bf16, and whether they contain no NaN."""
    found = []
    for row in range(0, len(codes), 128):
        some, of = codes[row:row + 128], scales[row:row + 128]
        counts = (some.reshape(*of.shape, 32) & 0x7F).any(2) | (of > 0)
        most, least = int(of.max()), int(of[counts].min(initial=255))
        reference = max(most, 134)
        found.append((94 <= most <= 169 and most - least <= 12,
                      most <= 169 and reference - least <= 61,
                      not (some & NAN == NAN).any()))
    return np.array(found)


def count_units(a, b, tile):
    """Counts the units in f16, in bf16 relative to references, and in plain bf16."""
    rows = int(tile[1:4]) // 128
    counts = [0, 0, 0]
    for i in range(0, len(a), rows):
        for j in b:  # at most 128 columns
            unit = np.vstack([a[i:i + rows], j])
            in_f16 = unit[:, 0].all()
            counts[0 if in_f16 else 1 if unit[:, 1:].all() else 2] += 1
    return counts


test, units = Harness("mx_run", "folder"), np.zeros(3, int)
for seed, (a_kind, b_kind, (m, n, k), tile) in enumerate(CASES):
    for _ in test.select([f"{a_kind} x {b_kind}, {m} x {n} x {k}"]):
        rng = np.random.default_rng(seed)
        (a, a_scales), (b, b_scales) = operand(rng, m, k, a_kind), operand(rng, n, k, b_kind)
        units += count_units(fits(a, a_scales), fits(b, b_scales), tile)
        compare(test, PROGRAM.format(m=m, n=n, k=k, blocks=k // 32), f"tile = {tile}",
                [a, ref.tile(a_scales), b, ref.tile(b_scales)], [((), real(a, a_scales), real(b, b_scales), 0)],
                bounded="all" not in a_kind)
if not test.only:
    test.require("units of every class", units.min() > 0, units)
test.finish(least=2000000)
