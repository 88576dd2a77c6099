"""If a scalar is computed from device memory, the kernels that use the scalar read it, and the plan does not. The
results are correct.

RUN: %python %s mx-run %t sm_90a mx-compile
RUN: %python %s mx-run %t sm_100a mx-compile
REQUIRES: compiler, numpy

Covers NVFP4 with a factor computed by mx.amax of the same tensor, compared with numpy; a nonpositive or nonfinite
factor, for which all scales are NaN (also on the CPU path); scalars used by a matmul's alpha, an epilogue and a simple
kernel; and an array that is written between the read and its use, so that the plan must read the array. All other
numbers are small integers, and results are compared bit by bit.
"""

import json

import ml_dtypes
import mx_reference as ref
import numpy as np
from harness import BF16, Harness

test = Harness("mx_run", "folder", "chip", "mx_compile", seed=29)
rng = test.rng


def count_reads(steps):
    """Counts the steps of a plan that read device memory."""
    if isinstance(steps, dict):
        return ("read" in steps) + sum(map(count_reads, steps.values()))
    return sum(map(count_reads, steps)) if isinstance(steps, list) else 0


def run(name, text, arguments, expected, reads=0):
    test.execute(test.mx_compile, test.write("case.mlir", text), "-o", test.path(name), f"--chip={test.chip}", "--ptxas=none")
    with open(test.path(f"{name}/manifest.json")) as file:
        found = count_reads([entry["steps"] for entry in json.load(file)["entries"]])
    if found != reads:
        test.fail(f"{name}: expected {reads} steps that read, found {found}")
    for device in "sim", "cpu":
        found = test.run(text, arguments, len(expected), device=device, chip=test.chip)
        for index, (array, want) in enumerate(zip(found, expected)):
            test.expect(f"{name} on {device}, result {index}", array, want)


NVFP4 = """!x = tensor<?x256xbf16>
!e = tensor<?x256xf4E2M1FN>
!s = tensor<?x16xf8E4M3FN>
func.func @main(%x: !x{argument}) -> (!e, !s) {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
{factor}
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ins(%x : !x) global_scale(%g) outs(%e0, %s0 : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}}
"""
AMAX = """  %a0 = tensor.empty() : tensor<f32>
  %a = mx.amax ins(%x : !x) outs(%a0 : tensor<f32>) -> tensor<f32>
  %amax = tensor.extract %a[] : tensor<f32>
  %c = arith.constant 2688.0 : f32
  %g = arith.divf %c, %amax : f32"""
x = (rng.standard_normal((72, 256)) * 3).astype(BF16)
x[5] = 0
factor = np.float32(2688) / np.abs(x.astype(np.float32)).max()
codes, scales = ref.quantize(x.astype(np.float32), "f4E2M1FN", nvfp4_encode=factor)
run("nvfp4", NVFP4.format(argument="", factor=AMAX), [x], [ref.pack(codes, "f4E2M1FN"), scales])

GIVEN = """  %c1 = arith.constant 1 : index
  %g = tensor.extract %factors[%c1] : tensor<?xf32>"""
given = NVFP4.format(argument=", %factors: tensor<?xf32>", factor=GIVEN)
for value in 0.75, 3.0e5:
    codes, scales = ref.quantize(x.astype(np.float32), "f4E2M1FN", nvfp4_encode=np.float32(value))
    run("given", given, [x, np.array([9, value], np.float32)], [ref.pack(codes, "f4E2M1FN"), scales])
for value in 0.0, -0.0, -3.0, np.nan, np.inf, -np.inf:
    # Byte 0x77 contains two elements of the largest magnitude, 6; scale 0x7F is NaN.
    nothing = [np.full((72, 128), 0x77, np.uint8), np.full((72, 16), 0x7F, np.uint8)]
    run("given", given, [x, np.array([9, value], np.float32)], nothing)
# The runtime refuses such a factor if the caller passes it.
caller = NVFP4.format(argument=", %g: f32", factor="")
for value, bits in (0.0, 0), (np.inf, 0x7F800000), (np.nan, 0x7FC00000):
    for device in "sim", "cpu":
        test.refuse(f"expected a finite global_scale greater than 0, found the bits {bits}", caller,
                    [x, np.float32(value)], device=device, chip=test.chip)

# A matmul, its epilogue, and a simple kernel read the same scalar.
TYPES = """!m = tensor<40x256xbf16>
!e = tensor<40x256xf8E4M3FN>
!s = tensor<40x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<24x256xf8E4M3FN>
!ws = tensor<24x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<40x24xf32>
#id = affine_map<(i, j) -> (i, j)>
"""
MATMUL = """  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%e0, %s0 : !e, !s) -> !e, !s
  %wt0 = tensor.empty() : !ws
  %wt = mx.relayout ins(%ws : tensor<24x8xf8E8M0FNU>) outs(%wt0 : !ws) -> !ws
  %y0 = tensor.empty() : !y
"""
m = rng.integers(-2, 3, (40, 256)).astype(BF16)
w = rng.integers(-2, 3, (24, 256)).astype(ml_dtypes.float8_e4m3fn)
ws = np.full((24, 8), 127, np.uint8)
matmul = m.astype(np.float64) @ w.astype(np.float64).T
numbers = np.array([3, -4, 2], np.float32)
inputs = [m, w, ws, numbers]
HEAD = "func.func @main(%x: !m, %w: !w, %ws: tensor<24x8xf8E8M0FNU>, %n: tensor<3xf32>) -> "
READ = """  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %n[%c0] : tensor<3xf32>
  %b = tensor.extract %n[%c1] : tensor<3xf32>
  %ab = arith.mulf %a, %b : f32
"""
run("alpha", TYPES + HEAD + "!y {\n" + READ + MATMUL + """  %y = mx.matmul ins(%q#0, %q#1, %w, %wt : !e, !s, !w, !ws) alpha(%ab) outs(%y0 : !y) -> !y
  return %y : !y
}
""", inputs, [(-12 * matmul).astype(np.float32)])
run("epilogue", TYPES + HEAD + "(!y, !y) {\n" + READ + MATMUL + """  %y = mx.matmul ins(%q#0, %q#1, %w, %wt : !e, !s, !w, !ws) outs(%y0 : !y) -> !y
  %z0 = tensor.empty() : !y
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : !y) outs(%z0 : !y) {
  ^bb0(%p: f32, %old: f32):
    %1 = arith.mulf %p, %ab : f32
    %2 = arith.addf %1, %a : f32
    linalg.yield %2 : f32
  } -> !y
  %v0 = tensor.empty() : !y
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%z : !y) outs(%v0 : !y) {
  ^bb0(%p: f32, %old: f32):
    %1 = arith.subf %p, %b : f32
    linalg.yield %1 : f32
  } -> !y
  return %z, %v : !y, !y
}
""", inputs, [(-12 * matmul + 3).astype(np.float32), (-12 * matmul + 7).astype(np.float32)])

# The array is overwritten between the read and the kernel, but the kernel must use the old value.
run("changed", """#id = affine_map<(i) -> (i)>
func.func @main(%n: tensor<3xf32>, %m: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %c0 = arith.constant 0 : index
  %w0 = tensor.empty() : tensor<3xf32>
  %w = linalg.add ins(%n, %m : tensor<3xf32>, tensor<3xf32>) outs(%w0 : tensor<3xf32>) -> tensor<3xf32>
  %a = tensor.extract %w[%c0] : tensor<3xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%m : tensor<3xf32>) outs(%w : tensor<3xf32>) {
  ^bb0(%p: f32, %old: f32):
    %1 = arith.mulf %p, %old : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  %z0 = tensor.empty() : tensor<3xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%m : tensor<3xf32>) outs(%z0 : tensor<3xf32>) {
  ^bb0(%p: f32, %old: f32):
    %1 = arith.addf %p, %a : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  return %v, %z : tensor<3xf32>, tensor<3xf32>
}
""", [numbers, numbers[::-1].copy()], [(numbers + numbers[::-1]) * numbers[::-1], numbers[::-1] + (numbers[0] + numbers[2])], reads=1)

test.finish(least=50000)
