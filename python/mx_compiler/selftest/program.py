# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a small program with a quantizer and a matmul. The program may be compiled in advance."""

import threading

import ml_dtypes
import numpy as np

import mx_compiler as mx

from . import reference as ref

# Quantizes the rows of operand {0}, with a scale for every 32 elements. Tensor cores read scales in
# tiles.
_QUANTIZE = """
  %{0}_rows = tensor.dim %{0}, %c0 : tensor<?x?xbf16>
  %{0}_elements = tensor.empty(%{0}_rows, %k) : tensor<?x?xf8E4M3FN>
  %{0}_scales = tensor.empty(%{0}_rows, %blocks) : {1}
  %{0}q:2 = mx.quantize ins(%{0} : tensor<?x?xbf16>)
      outs(%{0}_elements, %{0}_scales : tensor<?x?xf8E4M3FN>, {1})
      -> tensor<?x?xf8E4M3FN>, {1}
"""
_SIZES = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %k = tensor.dim %x, %c1 : tensor<?x?xbf16>
  %blocks = arith.divui %k, %c32 : index
"""
SOURCE = f"""
!scales = tensor<?x?xf8E8M0FNU>
!tiles = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func @quantize(%x: tensor<?x?xbf16>) -> (tensor<?x?xf8E4M3FN>, !scales) {{
{_SIZES}
{_QUANTIZE.format("x", "!scales")}
  return %xq#0, %xq#1 : tensor<?x?xf8E4M3FN>, !scales
}}

func.func @matmul(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>) -> tensor<?x?xf32> {{
{_SIZES}
{_QUANTIZE.format("x", "!tiles")}
{_QUANTIZE.format("w", "!tiles")}
  %init = tensor.empty(%x_rows, %w_rows) : tensor<?x?xf32>
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1
                     : tensor<?x?xf8E4M3FN>, !tiles, tensor<?x?xf8E4M3FN>, !tiles)
      outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}}
"""

# --- Expected results in float64 ----------------------------------------------

BLOCK, FORMAT = 32, mx.FORMATS["mxfp8"]


def _quantize(x):
    """Quantizes the rows of x. Returns the dequantized values, the elements and the scale bits."""
    elements, unit = ref.quantized(x, FORMAT)
    values = ref.code_values(FORMAT.elements)[elements] * np.repeat(unit, BLOCK, axis=-1)
    return values, elements, (np.log2(unit) + 127).astype(np.uint8)


def _matrix(rng, rows, columns):
    """Returns a bf16 matrix with blocks of different magnitude, and its bits."""
    sizes = np.repeat(2.0 ** rng.integers(-12, 12, (rows, columns // BLOCK)),
                      BLOCK, axis=1)
    x = (rng.standard_normal((rows, columns)) * sizes).astype(ml_dtypes.bfloat16)
    return x, x.view(np.uint16)


# --- Checks. They raise an exception on failure ---------------------------------


def _expect(isRight, text):
    if not isRight:
        raise AssertionError(text)


def check_memory():
    """Checks copies to the device and back."""
    if mx.device_name() == "cpu":
        return "cpu has no memory of its own"
    x = np.arange(1000, dtype=np.float32).reshape(10, 100)
    with mx.Stream() as stream:
        found = mx.array(x, stream).numpy(stream=stream)
    _expect(np.array_equal(x, found), "memory that was copied to the device and "
            "back is not the same")


def check_quantize(program):
    """Checks that all bits of the elements and scales are as expected."""
    x, bits = _matrix(np.random.default_rng(1), 100, 256)
    _, elements, scales = _quantize(x)
    found = program["quantize"](bits)
    for name, expected, array in zip(("elements", "scales"), (elements, scales), found):
        wrong = expected != array.view(np.uint8)
        _expect(not wrong.any(), f"{wrong.sum()} of {wrong.size} {name} differ from NumPy's")


def check_matmul(program):
    """Checks matmuls of quantized matrices against float64."""
    rng = np.random.default_rng(2)
    (x, x_bits), (w, w_bits) = _matrix(rng, 70, 256), _matrix(rng, 90, 256)
    a, b = _quantize(x)[0], _quantize(w)[0]
    found, = program["matmul"](x_bits, w_bits)
    # Each of the K additions may round once, with an error relative to the sum of all magnitudes.
    bound = a.shape[1] * 2.0**-23 * (np.abs(a) @ np.abs(b).T)
    wrong = ~(np.abs(found - a @ b.T) <= bound)
    _expect(not wrong.any(), f"{wrong.sum()} of {wrong.size} results "
            "exceed the error bound of a float64 matmul")


def check_threads(program):
    """Checks calls from several threads, each on its own stream."""
    if mx.device_name() == "cpu":
        return "cpu has no streams"
    rng = np.random.default_rng(3)
    inputs = [_matrix(rng, 64, 128) for _ in range(4)]
    found = [None] * len(inputs)

    def run(index):
        entry = program["quantize"]
        with mx.Stream() as stream:
            x = mx.array(inputs[index][1], stream)
            results = entry.make_results(x)
            entry.launch([x], results, entry.make_workspace(x), stream)
            found[index] = [r.numpy(stream=stream) for r in results]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (x, _), results in zip(inputs, found):
        _expect(results is not None, "a thread ended without results")
        for expected, array in zip(_quantize(x)[1:], results):
            _expect(np.array_equal(expected, array.view(np.uint8)),
                    "results of threads differ from NumPy's")


def check_messages():
    """Checks that errors about a program text include a location."""
    try:
        mx.compile("func.func @f() {\n  return 1\n}", cache=False)
    except mx.CompileError as error:
        _expect(str(error).startswith("text:2:"), "expected a message with a "
                f"location in the text, found '{error}'")
    else:
        raise AssertionError("an invalid text was compiled")
