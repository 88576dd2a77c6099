"""A split reduction accumulates into a result with any alignment. Old values are loaded in units of 32 bytes if the
result is aligned, and in smaller units otherwise.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy
"""

import numpy as np
from chips import adapt_schedule, count_roundings
from harness import Harness
from matmul_formats import make_codes, make_scales

PROGRAM = """
!a = tensor<{m}x{k}xf8E4M3FN>
!b = tensor<{n}x{k}xf8E4M3FN>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!all = tensor<{total}xf32>
!flat = tensor<{count}xf32>
!y = tensor<{m}x{n}xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %all: !all) -> !all {{
  %flat = tensor.extract_slice %all[{begin}] [{count}] [1] : !all to !flat
  %old = tensor.expand_shape %flat [[0, 1]] output_shape [{m}, {n}] : !flat into !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%old : !y)
      {{accumulate, mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !y
  %new = tensor.collapse_shape %y [[0, 1]] : !y into !flat
  %result = tensor.insert_slice %new into %all[{begin}] [{count}] [1] : !flat into !all
  return %result : !all
}}
"""
M, N, K = 140, 136, 256
test = Harness("mx_run", "folder", seed=5)
rng = test.rng
a, a_values = make_codes(rng, M, K, "f8E4M3FN", False)
b, b_values = make_codes(rng, N, K, "f8E4M3FN", False)
a_scales, a_tiles = make_scales(rng, M, K // 32, "f8E8M0FNU")
b_scales, b_tiles = make_scales(rng, N, K // 32, "f8E8M0FNU")
a_values = a_values * a_scales.repeat(32, axis=1)
b_values = b_values * b_scales.repeat(32, axis=1)

for begin in (0, 4, 6, 8, 12):
    count, total = M * N, begin + M * N + 5
    old = rng.standard_normal(total).astype(np.float32)
    program = PROGRAM.format(m=M, n=N, k=K, blocks=K // 32, begin=begin, count=count, total=total,
                             schedule=adapt_schedule("tile = [128, 128, 128], stages = 2, split_k = 2"))
    found, = test.run(program, [a, a_tiles, b, b_tiles, old], 1)
    inside = np.s_[begin : begin + count]
    outside = np.ones(total, bool)
    outside[inside] = False
    test.expect(f"around the result at {4 * begin} bytes", found, old, outside)
    # The old value adds one more term to each sum.
    before = old[inside].astype(np.float64).reshape(M, N)
    exact = a_values @ b_values.T + before
    terms = np.abs(a_values) @ np.abs(b_values).T + np.abs(before)
    bound = (count_roundings(K) + 3) * 2.0**-23 * terms
    test.expect_numbers(f"result at {4 * begin} bytes", found[inside].reshape(M, N), exact, bound)
test.finish(least=5 * M * N)
