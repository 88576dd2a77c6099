"""Compares matmuls of slices (with gaps between rows) with numpy.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

The copy engine requires rows aligned to 16 bytes, including the first row. Supported slices give correct results.
Unsupported slices are refused with the nearest supported size: by the compiler if the types determine the size,
otherwise by the program.
"""

import re

import numpy as np
from chips import adapt_schedule, count_roundings
from harness import Harness
from matmul_formats import compare, make_codes, make_scales

PROGRAM = """
!wide = tensor<{rows}x{width}xf8E4M3FN>
!a = tensor<{m}x{k}xf8E4M3FN>
!b = tensor<{n}x{k}xf8E4M3FN>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<{m}x{n}xf32>
func.func @main(%wide: !wide, %as: !as, %b: !b, %bs: !bs) -> !y {{
  %a = tensor.extract_slice %wide[{row}, {column}] [{m}, {k}] [1, 1] : !wide to !a
  %init = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%init : !y)
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !y
  return %y : !y
}}
"""
M, N, K = 150, 136, 160
NEAREST = "the nearest are "

# Number of columns in the whole matrix, first row and column of the slice, whether the sizes are static, additional
# schedule fields, and the expected message.
CASES = [
    (K + 48, 0, 0, True, "", ""),
    (K + 48, 7, 16, True, "", ""),
    (K + 48, 7, 32, False, "", ""),
    (K + 16, 3, 16, False, "split_k = 2", ""),
    (K + 40, 0, 0, True, "", r"the row stride of a to be a multiple of 16 elements and at least 160 .*found 200"),
    (K + 40, 0, 0, False, "", r"row stride of a to be a multiple of 16, found 200; the nearest are 192 and 208"),
    (K + 48, 2, 8, True, "", r"address of a to be a multiple of 16, found (\d+); the nearest are (\d+) and (\d+)"),
]


def run_case(rng, width, row, column, is_static, extra, expected):
    rows = M + 9
    wide, wide_values = make_codes(rng, rows, width, "f8E4M3FN", False)
    b, b_values = make_codes(rng, N, K, "f8E4M3FN", False)
    a_scales, a_tiles = make_scales(rng, M, K // 32, "f8E8M0FNU")
    b_scales, b_tiles = make_scales(rng, N, K // 32, "f8E8M0FNU")
    # NaN around the slice must not affect the result.
    surrounded = np.full_like(wide, 0x7F)
    inside = np.s_[row : row + M, column : column + K]
    surrounded[inside] = wide[inside]
    schedule = adapt_schedule(f"tile = [128, 128, 128], stages = 2, {extra or 'split_k = 1'}")
    program = PROGRAM.format(m=M, n=N, k=K, blocks=K // 32, row=row, column=column, rows=rows if is_static else "?",
                             width=width if is_static else "?", schedule=schedule)
    arrays, what = (surrounded, a_tiles, b, b_tiles), f"{width} columns{'' if is_static else ', dynamic'}, [{row}, {column}]"
    env = dict(sms=2, seed=1, env={"MX_SIM_CHECKS": "all"})
    if expected:
        done, _ = test.call(program, arrays, 1, status=None, **env)
        said = re.search(expected, done.stderr)
        if done.returncode == 0 or not said or done.stderr.count("expected ") != 1:
            return test.fail(f"{what}: expected the message {expected}, found status {done.returncode}\n{done.stderr}")
        if said.groups():
            found, below, above = map(int, said.groups())
            if not (below < found < above == below + 16 and below % 16 == 0):
                test.fail(f"{what}: {said[0]}")
        elif is_static and f"{NEAREST}192 and 208" not in done.stderr:
            test.fail(f"{what}: the message contains no nearest sizes\n{done.stderr}")
        return None
    found, = test.run(program, arrays, 1, **env)
    wrong, ratio = compare(found.astype(np.float64), wide_values[inside] * a_scales.repeat(32, axis=1),
                           b_values * b_scales.repeat(32, axis=1), count_roundings(K), 23)
    test.compared += found.size
    print(f"{what}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    if wrong:
        test.fail(what)


test = Harness("mx_run", "folder", seed=11)
for case in CASES:
    run_case(test.rng, *case)
test.finish(least=4 * M * N)
