"""A loop over stacked layers gives equal results on the simulator, on the CPU and in numpy.

RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy

The activation is loop-carried. Weights and scales of each iteration are a slice of the stacked layers. Cases cover
8-bit and 4-bit elements, packed weights, and scales in the layouts sf_128x4 and linear. numpy computes the expected
values in float64 from decoded numbers; each layer quantizes its input.
"""

import mx_reference as ref
import numpy as np
from harness import BF16, Harness, widen

LAYERS, ROWS, SIZE = 3, 72, 256
BLOCKS = SIZE // 32


def program(element, tiled):
    layout = ", #mx.scale_layout<sf_128x4>" if tiled else ""
    scales = f"{BLOCKS}xf8E8M0FNU{layout}>"
    # Each iteration converts the matrix of a layer's linear scales to tiles.
    return f"""
!x = tensor<{ROWS}x{SIZE}xbf16>
!e = tensor<{ROWS}x{SIZE}xf8E4M3FN>
!s = tensor<{ROWS}x{scales}
!ws = tensor<{LAYERS}x{SIZE}x{SIZE}x{element}>
!w = tensor<{SIZE}x{SIZE}x{element}>
!ss = tensor<{LAYERS}x{SIZE}x{scales}
!t = tensor<{SIZE}x{scales}
func.func @main(%x: !x, %weights: !ws, %scales: !ss) -> !x {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %layers = arith.constant {LAYERS} : index
  %y = scf.for %i = %c0 to %layers step %c1 iter_args(%h = %x) -> (!x) {{
    %e0 = tensor.empty() : !e
    %s0 = tensor.empty() : !s
    %q:2 = mx.quantize ins(%h : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
    %w = tensor.extract_slice %weights[%i, 0, 0] [1, {SIZE}, {SIZE}] [1, 1, 1] : !ws to !w
    %t = tensor.extract_slice %scales[%i, 0, 0] [1, {SIZE}, {BLOCKS}] [1, 1, 1] : !ss to !t
    %o = tensor.empty() : !x
    %next = mx.matmul ins(%q#0, %q#1, %w, %t : !e, !s, !w, !t) outs(%o : !x) -> !x
    scf.yield %next : !x
  }}
  return %y : !x
}}
"""


def run(chip, element, tiled):
    rng = np.random.default_rng([len(element), tiled])
    x = rng.standard_normal((ROWS, SIZE)).astype(BF16)
    weights, scales = zip(*(ref.quantize(rng.standard_normal((SIZE, SIZE)).astype(np.float32) / np.sqrt(SIZE), element)
                            for _ in range(LAYERS)))
    packed = np.stack([ref.pack(w, element) for w in weights])
    given = np.stack([ref.tile(s) if tiled else s for s in scales])
    found = widen(test.run(program(element, tiled), [x, packed, given], 1, chip=chip)[0])
    h = x
    for w, s in zip(weights, scales):
        a, b = ref.quantize(h.astype(np.float32), "f8E4M3FN"), (w, s)
        matmul = ref.real(*a, "f8E4M3FN") @ ref.real(*b, element).T
        h = matmul.astype(np.float32).astype(BF16)
    expected = h.astype(np.float64)
    # Different rounding of a sum may change a code in the next layer.
    error = np.abs(found - expected).max() / np.abs(expected).max()
    same = np.count_nonzero(found == expected) / found.size
    print(f"{chip} {element} tiled {tiled}: {same:.3f} of the elements equal, errors up to {error:.4f} of the largest")
    test.compared += found.size
    if error > 0.02 or same < 0.9:
        test.fail(f"{chip} {element} tiled {tiled}")


test = Harness("mx_run", "folder", "*chips")
for chip in test.chips:
    for element, tiled in [("f8E4M3FN", True), ("f4E2M1FN", True), ("f8E5M2", False)]:
        run(chip, element, tiled)
test.finish(least=ROWS * SIZE)
