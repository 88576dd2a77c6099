"""Batches of matmuls give equal results on the simulator, on the CPU and in numpy.

RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy

Covers static and dynamic sizes, rows that do not fill tiles, operands quantized in the same function, an epilogue,
accumulation, bf16 with quantized weights, and linear scales. numpy computes the expected values in float64 from decoded
numbers.
"""

import mx_reference as ref
import numpy as np
from harness import BF16, Harness

TILED = ", #mx.scale_layout<sf_128x4>"


def quantized(batch, rows, columns, element):
    return (f"tensor<{batch}x{rows}x{columns}x{element}>", f"tensor<{batch}x{rows}x{columns // 32}xf8E8M0FNU{TILED}>")


def matmul(batch, rows, columns, size, element="f8E4M3FN", options="", epilogue=""):
    """Returns a program to multiply its arguments."""
    a, sa = quantized(batch, rows, size, element)
    b, sb = quantized(batch, columns, size, element)
    c = f"tensor<{batch}x{rows}x{columns}xf32>"
    return f"""func.func @main(%a: {a}, %sa: {sa}, %b: {b}, %sb: {sb}, %c: {c}) -> {c} {{
  %y = mx.matmul ins(%a, %sa, %b, %sb : {a}, {sa}, {b}, {sb}) outs(%c : {c}) {options} -> {c} {epilogue}
  return %y : {c}
}}
"""


def weights(batch, rows, columns, size, element):
    """Returns a program to multiply bf16 matrices by quantized weights."""
    a = f"tensor<{batch}x{rows}x{size}xbf16>"
    b, sb = quantized(batch, columns, size, element)
    c = f"tensor<{batch}x{rows}x{columns}xf32>"
    return f"""func.func @main(%a: {a}, %b: {b}, %sb: {sb}, %c: {c}) -> {c} {{
  %y = mx.matmul ins(%a, %b, %sb : {a}, {b}, {sb}) outs(%c : {c}) -> {c}
  return %y : {c}
}}
"""


TWICE = """epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %i = arith.index_cast %row : index to i32
    %f = arith.sitofp %i : i32 to f32
    %y = arith.addf %sum, %f : f32
    mx.yield %y : f32
  }"""

#   name         program                                          sizes              element     options
CASES = [
    ("static", matmul(3, 130, 72, 256), (3, 130, 72, 256), "f8E4M3FN", ""),
    ("dynamic", matmul("?", "?", 64, 128), (2, 33, 64, 128), "f8E4M3FN", ""),
    ("one", matmul("?", "?", 64, 128), (1, 128, 64, 128), "f8E4M3FN", ""),
    ("f4", matmul(2, 128, 128, 256, "f4E2M1FN"), (2, 128, 128, 256), "f4E2M1FN", ""),
    ("several", matmul("2x3", 40, 72, 128), ((2, 3), 40, 72, 128), "f8E4M3FN", ""),
    ("several_open", matmul("?x3x1", "?", 64, 128, "f4E2M1FN"), ((2, 3, 1), 33, 64, 128), "f4E2M1FN", ""),
    ("several_linear", matmul("3x?", 40, 72, 128, epilogue=TWICE).replace(TILED, ""), ((3, 2), 40, 72, 128), "f8E4M3FN", "linear rows"),
    ("several_weights", weights("2x2", 24, 128, 128, "f8E4M3FN"), ((2, 2), 24, 128, 128), "f8E4M3FN", "weights"),
    ("linear", matmul(3, 130, 72, 256).replace(TILED, ""), (3, 130, 72, 256), "f8E4M3FN", "linear"),
    ("add", matmul(2, 40, 64, 128, options="accumulate"), (2, 40, 64, 128), "f8E4M3FN", "accumulate"),
    ("rows", matmul(2, 200, 64, 128, epilogue=TWICE), (2, 200, 64, 128), "f8E4M3FN", "rows"),
    ("weights", weights(2, 24, 128, 128, "f8E4M3FN"), (2, 24, 128, 128), "f8E4M3FN", "weights"),
]


def run(chip, name, program, sizes, element, what):
    batch, rows, columns, size = sizes
    # Several batch dimensions are compared as if they were merged.
    dims = batch if isinstance(batch, tuple) else (batch,)
    batch = int(np.prod(dims))
    rng = np.random.default_rng([batch, rows, columns, size])
    x = rng.standard_normal((batch, rows, size)).astype(BF16)
    w = rng.standard_normal((batch, columns, size)).astype(np.float32)
    c = rng.standard_normal((batch, rows, columns)).astype(np.float32)
    qa, sa = (np.stack(parts) for parts in zip(*(ref.quantize(m.astype(np.float32), element) for m in x)))
    qb, sb = (np.stack(parts) for parts in zip(*(ref.quantize(m, element) for m in w)))
    b = ref.real(qb, sb, element)
    lay = (lambda scales: scales) if "linear" in what else ref.tile
    given_b = [ref.pack(qb, element), lay(sb)]
    if what == "weights":
        a, given = x.astype(np.float64), [x, *given_b, c]
    else:
        a, given = ref.real(qa, sa, element), [ref.pack(qa, element), lay(sa), *given_b, c]
    # The results of an epilogue on several matrices are not compared, because no error bound is known. If a program
    # converts scales to another layout before the matmul, the converted scales are compared.
    y, = test.run(program, [array.reshape(*dims, *array.shape[1:]) for array in given], 1, chip=chip, check=True,
                  status=4 if what == "rows" else 0)
    expected = a @ np.swapaxes(b, 1, 2)
    magnitude = np.abs(a) @ np.swapaxes(np.abs(b), 1, 2)
    if what == "accumulate":
        expected = expected + c
    if "rows" in what:
        expected = expected + np.arange(rows)[:, None]
    # The tensor core truncates its terms (docs/reference/Spec.md).
    test.expect_numbers(f"{chip} {name}", y, expected.reshape(*dims, rows, columns),
                        (2.0**-12 * (magnitude + np.abs(expected))).reshape(*dims, rows, columns))


test = Harness("mx_run", "folder", "*chips")
for chip in test.chips:
    for case in CASES:
        run(chip, *case)
test.finish(least=100000 * len(test.chips))
