"""The sign and payload of a NaN do not affect quantizers.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

A region reads the bits of NaNs. MXINT8 encodes no NaN: the element becomes 0 and the scale of its block 255. --check=cpu
compares every byte with the CPU path.
"""

import numpy as np
from harness import Harness

ROWS, COLUMNS = 64, 128
PROGRAM = f"""
!x = tensor<{ROWS}x{COLUMNS}xf32>
!e = tensor<{ROWS}x{COLUMNS}xf8E4M3FN>
!i = tensor<{ROWS}x{COLUMNS}xi8>
!s = tensor<{ROWS}x{COLUMNS // 32}xf8E8M0FNU>
func.func @main(%x: !x, %y: !x) -> (!e, !s, !i, !s) {{
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  // Adds the sign and the lowest bit of x / y as integers, and 1 with the sign of x / y by copysign.
  %q:2 = mx.fused_quantize ins(%x, %y : !x, !x) outs(%e, %s : !e, !s) -> !e, !s
  prologue {{
  ^bb0(%a: f32, %b: f32, %row: index, %col: index):
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %c31 = arith.constant 31 : i32
    %d = arith.divf %a, %b : f32
    %bits = arith.bitcast %d : f32 to i32
    %sign = arith.shrui %bits, %c31 : i32
    %low = arith.andi %bits, %c1 : i32
    %both = arith.addi %sign, %low : i32
    %number = arith.uitofp %both : i32 to f32
    %copied = math.copysign %one, %d : f32
    %v = arith.addf %number, %copied : f32
    mx.yield %v : f32
  }}
  %i = tensor.empty() : !i
  %q8:2 = mx.fused_quantize ins(%x : !x) outs(%i, %s : !i, !s) -> !i, !s
  return %q#0, %q#1, %q8#0, %q8#1 : !e, !s, !i, !s
}}
"""
test = Harness("mx_run", "folder", seed=9)
rng = test.rng
x, y = rng.standard_normal((2, ROWS, COLUMNS)).astype(np.float32)
nans = (rng.integers(0x7F800001, 0x80000000, x.shape) | rng.integers(0, 2, x.shape) << 31).astype(np.uint32)
x = np.where(rng.random(x.shape) < 0.3, nans.view(np.float32), x)
x[:, ::9], y[:, ::9] = 0, -0.0  # their quotient is a new NaN
x[:, 32:64] = np.where(np.isnan(x[:, 32:64]), np.float32(1), x[:, 32:64])  # blocks without NaN

for chip in ["sm_90a", "sm_100a"]:
    elements, scales, codes, int8_scales = test.run(PROGRAM, [x, y], 4, chip=chip, check=True)
    isnan = np.isnan(x)
    # A region reads every NaN as 0x7FFFFFFF, so the sum is 2: sign 0, lowest bit 1, and copysign 1.
    with np.errstate(all="ignore"):
        quotient = x / y
    bits = quotient.view(np.uint32)
    negative = np.signbit(quotient)
    expected = np.where(np.isnan(quotient), 2.0, negative + (bits & 1) + np.where(negative, -1.0, 1.0))
    power = np.exp2(np.repeat(scales, 32, axis=1).astype(np.float64) - 127)
    magnitude = np.where(elements & 0x78, (8 + (elements & 7)) * np.exp2((elements >> 3 & 15) - 10.0),
                         (elements & 7) * 2.0**-9)
    found = np.where(elements & 0x80, -magnitude, magnitude) * power
    assert np.array_equal(found, expected), np.argwhere(found != expected)[:4]
    assert not codes[isnan].any()
    blocks = isnan.reshape(ROWS, -1, 32).any(axis=2)
    assert np.array_equal(int8_scales == 255, blocks)
print("equal")
