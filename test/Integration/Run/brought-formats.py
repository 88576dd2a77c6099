# REQUIRES: numpy
# RUN: %python %s mx-test-run %t cpu
# RUN: %python %s mx-test-run %t sm_90a
# RUN: %python %s mx-test-run %t sm_100a
# RUN: %python %s mx-test-run %t sm_120a
"""Quantizes, dequantizes, relays out and multiplies the block formats of another dialect (test/lib/Formats). Results
equal numpy's, on the CPU path and in kernels.

Kernels multiply operands rounded to bf16, so their sums are compared within a tolerance."""

import dataclasses

import ml_dtypes
import numpy as np
from harness import Function, Harness, to_array

test = Harness("mx_run", "folder", "chip", seed=3)
on_cpu = test.chip == "cpu"
ELEMENTS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f4E2M1FN": ml_dtypes.float4_e2m1fn}
BF16 = ml_dtypes.bfloat16

CODES = np.arange(256)
UE5M3 = np.where(CODES < 8, CODES * 2.0**-17, (8 + CODES % 8) * np.exp2(CODES // 8 - 18.0)).astype(np.float32)
UE5M3[255] = np.nan


def round_ue5m3(x):
    """Rounds to the nearest value, with ties to even codes and saturation."""
    finite = UE5M3[:255].astype(np.float64)
    above = np.searchsorted(finite, np.minimum(np.nan_to_num(x, nan=0.0, posinf=np.inf), finite[-1]))
    below = np.maximum(above - 1, 0)
    middle = (finite[below] + finite[above]) / 2
    code = np.where((x > middle) | ((x == middle) & (above % 2 == 0)), above, below)
    return np.where(np.isnan(x), np.float32(np.nan), UE5M3[np.where(x > finite[-1], 254, code)])


@dataclasses.dataclass
class Format:
    scale: str
    block: int
    rows: int
    round: object

    @property
    def spelled(self):
        return f"{self.rows}x{self.block}" if self.rows > 1 else str(self.block)

    def quantize(self, x, element):
        """Returns the elements, and a scale for each block."""
        most = np.float32(ml_dtypes.finfo(ELEMENTS[element]).max)
        lines = -(-len(x) // self.rows)
        blocks = np.zeros((lines * self.rows, x.shape[1]), np.float32)
        blocks[:len(x)] = x
        blocks = blocks.reshape(lines, self.rows, -1, self.block)
        with np.errstate(all="ignore"):
            scales = self.round(np.abs(blocks).max((1, 3)) / most)
            factors = np.where(scales == 0, 0, np.fmin(np.float32(1) / scales, np.finfo(np.float32).max))
            factors[np.isnan(scales)] = np.nan
            quotients = np.clip(x * self.spread(factors.astype(np.float32), len(x)), -most, most)
            nothing = most if element == "f4E2M1FN" else np.float32(np.nan)  # the sign is dropped
            return np.where(np.isnan(quotients), nothing, quotients).astype(ELEMENTS[element]), scales.astype(np.float32)

    def spread(self, scales, rows):
        """Returns the scale of each element."""
        return np.repeat(np.repeat(scales, self.rows, 0)[:rows], self.block, 1)

    def dequantize(self, elements, scales):
        return elements.astype(np.float64) * self.spread(scales.astype(np.float64), len(elements))


BLOCKS = Format("!mx_formats.ue5m3", 64, 1, round_ue5m3)
SQUARES = Format("f32", 128, 128, lambda scales: scales)


def make_input(rows, columns, special):
    x = test.rng.standard_normal((rows, columns)) * np.exp2(test.rng.integers(-9, 9, (rows, 1)))
    x[0] = 0
    if special:
        x[1, 5], x[2, 7], x[-1, -3] = np.inf, np.nan, -np.inf
    return x


def codes(elements, element):
    """Returns elements as stored in files, with two 4-bit elements in a byte."""
    bits = elements.view(np.uint8)
    return bits[:, ::2] | bits[:, 1::2] << 4 if element == "f4E2M1FN" else bits


def sums(a, b):
    """Multiplies, adding the terms in the order of the CPU path."""
    total = np.zeros((len(a), len(b)))
    for k in range(a.shape[1]):
        total += np.outer(a[:, k], b[:, k])
    return total.astype(np.float32)


def round_once(exact, dtype):
    """Rounds to the nearest bf16. The first rounding, to f32, is to odd, so that the second rounding is correct."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = exact.astype(np.float32)
    if dtype == "f32":
        return single
    bits = single.view(np.uint32)
    down = bits - (np.abs(single.astype(np.float64)) > np.abs(exact))
    wrong = (single != exact) & np.isfinite(exact)
    return np.where(wrong, down | 1, bits).astype(np.uint32).view(np.float32).astype(BF16)


class Program(Function):
    """Function with the checks of its results."""

    def __init__(self, name):
        super().__init__()
        self.name, self.checks = f"{test.chip} {name}", []

    def quantize(self, format, x, rows, dtype, element, layout=""):
        """Adds operands for the elements and scales of `x`. Returns their names, types and values."""
        array, x = to_array(x, dtype)
        elements, scales = format.quantize(x, element)
        columns = x.shape[1]
        types = [f"tensor<{rows}x{columns}x{element}>",
                 f"tensor<{-(-rows // format.rows)}x{columns // format.block}x{format.scale}{layout}>"]
        t = f"tensor<{rows}x{columns}x{dtype}>"
        names = self.call(f"mx.quantize ins({self.argument(t, array)} : {t}) OUTS block_size = {format.spelled}", types,
                          returned=False)
        return names, types, elements, scales

    def matrices(self, format, x):
        """Adds several quantized matrices as one operand. Returns the operand and the decoded matrices."""
        parts = [format.quantize(matrix, "f8E4M3FN") for matrix in x]
        elements, scales = (np.stack(part) for part in zip(*parts))
        types = [f"tensor<{'x'.join(map(str, a.shape))}x{t}>"
                 for a, t in ((elements, "f8E4M3FN"), (scales, format.scale))]
        names = [self.argument(*pair) for pair in zip(types, (codes(elements, "f8E4M3FN"), scales))]
        return list(zip(names, types)), np.stack([format.dequantize(*part) for part in parts])

    def check_matmul(self, op, operands, type_, pairs, rest=""):
        """Adds `op` and a check of its result. The expected rows are the concatenated matmuls of all `pairs` of
        matrices."""
        names, types = (", ".join(part) for part in zip(*operands))
        y, = self.call(f"{op} ins({names} : {types}) {rest} OUTS block_size = 128x128", [type_], returned=False)
        if on_cpu:
            self.result((y, type_), lambda name, found, expected: test.expect(name, found.reshape(expected.shape), expected),
                        np.concatenate([sums(*pair) for pair in pairs]))
        else:
            rounded = ([round_once(x, "bf16").astype(np.float64) for x in pair] for pair in pairs)
            self.result((y, type_), is_close, np.concatenate([a @ b.T for a, b in rounded]))
        self.run()

    def result(self, pair, check, expected):
        self.results.append(pair)
        self.checks.append((check, expected))

    def run(self):
        for found, (check, expected) in zip(test.run(self, chip=test.chip), self.checks):
            check(self.name, found, expected)


def is_close(name, found, expected):
    test.expect_numbers(name, found.reshape(expected.shape), expected, limit=1e-5 * np.abs(expected).max())


def round_trip(format, rows, columns, dtype, element, layout=""):
    f = Program(f"{format.scale} {rows}x{columns} {dtype} {element} {layout}")
    names, types, elements, scales = f.quantize(format, make_input(rows, columns, True), rows, dtype, element, layout)
    f.result((names[0], types[0]), test.expect, codes(elements, element))
    if format is SQUARES:
        f.result((names[1], types[1]), test.expect, scales)
    for result in ("f32", "bf16"):
        text = f"mx.dequantize ins({', '.join(names)} : {', '.join(types)}) OUTS block_size = {format.spelled}"
        t = f"tensor<{rows}x{columns}x{result}>"
        number, = f.call(text, [t], returned=False)
        f.result((number, t), lambda *found: test.expect(*found, nan=True),
                 round_once(format.dequantize(elements, scales), result))
    f.run()


def both_axes(rows, columns, layout):
    """Quantizes along both axes from one read, and dequantizes the results."""
    f = Program(f"both axes {rows}x{columns} {layout}")
    array, x = to_array(make_input(rows, columns, True), "bf16")
    t = f"tensor<{rows}x{columns}xbf16>"
    types = [f"tensor<{m}x{n}x{element}>" for m, n in ((rows, columns), (columns, rows))
             for m, n, element in ((m, n, "f8E4M3FN"), (m, n // BLOCKS.block, f"{BLOCKS.scale}{layout}"))]
    names = f.call(f"mx.quantize ins({f.argument(t, array)} : {t}) OUTS axes = [1, 0]", types, returned=False)
    for i, numbers in enumerate((x, np.ascontiguousarray(x.T))):
        elements, scales = BLOCKS.quantize(numbers, "f8E4M3FN")
        pair, types_of_pair = names[2 * i:2 * i + 2], types[2 * i:2 * i + 2]
        f.result((pair[0], types_of_pair[0]), test.expect, codes(elements, "f8E4M3FN"))
        t = f"tensor<{elements.shape[0]}x{elements.shape[1]}xf32>"
        number, = f.call(f"mx.dequantize ins({', '.join(pair)} : {', '.join(types_of_pair)}) OUTS block_size = 64", [t],
                         returned=False)
        f.result((number, t), lambda *found: test.expect(*found, nan=True),
                 round_once(BLOCKS.dequantize(elements, scales), "f32"))
    f.run()


def multiply(format, m, n, k, quantizes_a, layout=""):
    f = Program(f"{format.scale} {m}x{n}x{k} {'a and b' if quantizes_a else 'b'} {layout}")
    operands, numbers = [], []
    for rows, is_quantized in ((m, quantizes_a), (n, True)):
        x = make_input(rows, k, False)
        if is_quantized:
            names, types, elements, scales = f.quantize(format, x, rows, "bf16", "f8E4M3FN", layout)
            operands += zip(names, types)
            numbers.append(format.dequantize(elements, scales))
        else:
            array, x = to_array(x, "bf16")
            t = f"tensor<{rows}x{k}xbf16>"
            operands.append((f.argument(t, array), t))
            numbers.append(x.astype(np.float64))
    names, types = (", ".join(part) for part in zip(*operands))
    t = f"tensor<{m}x{n}xf32>"
    y, = f.call(f"mx.matmul ins({names} : {types}) OUTS block_size = {format.spelled}", [t], returned=False)
    if on_cpu:
        f.result((y, t), test.expect, sums(*numbers))
    else:
        a, b = (round_once(x, "bf16").astype(np.float64) for x in numbers)
        f.result((y, t), is_close, a @ b.T)
    f.run()


def multiply_batch(m, n, k, quantizes_a):
    f = Program(f"batch {m}x{n}x{k} {quantizes_a}")
    a, x = to_array(np.stack([make_input(m, k, False) for _ in range(2)]), "bf16")
    t = f"tensor<2x{m}x{k}xbf16>"
    ofA, a = f.matrices(SQUARES, x) if quantizes_a else ([(f.argument(t, a), t)], x.astype(np.float64))
    ofB, b = f.matrices(SQUARES, [make_input(n, k, False) for _ in range(2)])
    f.check_matmul("mx.matmul", ofA + ofB, f"tensor<2x{m}x{n}xf32>", list(zip(a, b)))


def multiply_experts(n, k):
    f = Program(f"experts {n}x{k}")
    ends = [70, 70, 131]
    a, x = to_array(make_input(ends[-1], k, False), "bf16")
    t = f"tensor<{ends[-1]}x{k}xbf16>"
    operands = [(f.argument(t, a), t)]
    ofB, b = f.matrices(SQUARES, [make_input(n, k, False) for _ in ends])
    offsets = f.argument("tensor<3xi32>", np.array(ends, np.int32))
    f.check_matmul("mx.grouped_matmul ragged = rows", operands + ofB, f"tensor<{ends[-1]}x{n}xf32>",
                   list(zip(np.split(x.astype(np.float64), ends[:-1]), b)), f"offsets({offsets} : tensor<3xi32>)")


FUSED = """#m = affine_map<(i, j) -> (i, j)>
!x = tensor<200x256xbf16>
!q = tensor<200x256xf8E4M3FN>
!s = tensor<2x2xf32>
func.func @main(%x: !x, %y: !x, %seed: i64) -> (!q, !s, tensor<f32>, !q, !s) {
  %e = tensor.empty() : !x
  %z = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : !x, !x) outs(%e : !x) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %c = arith.addf %a, %b : bf16
    linalg.yield %c : bf16
  } -> !x
  %q = tensor.empty() : !q
  %s = tensor.empty() : !s
  %n = tensor.empty() : tensor<f32>
  %0:2 = mx.quantize ins(%z : !x) outs(%q, %s : !q, !s) block_size = 128x128 -> !q, !s
  %1 = mx.amax ins(%z : !x) outs(%n : tensor<f32>) -> tensor<f32>
  %2:2 = mx.quantize ins(%x : !x) seed(%seed) outs(%q, %s : !q, !s) block_size = 128x128 -> !q, !s
  return %0#0, %0#1, %1, %2#0, %2#1 : !q, !s, tensor<f32>, !q, !s
}
"""


def fused():
    """Checks that the bytes of a quantizer with a prologue and an amax, and of a quantizer with a seed, equal the CPU
    path's."""
    arrays = [to_array(make_input(200, 256, False), "bf16")[0] for _ in range(2)] + [np.array(5, np.int64)]
    names = "elements", "scales", "amax", "elements by seed", "scales by seed"
    runs = [test.run(FUSED, arrays, len(names), chip=chip) for chip in (test.chip, "cpu")]
    for name, *pair in zip(names, *runs):
        test.expect(f"{test.chip} fused {name}", *pair)


TILED = ", #mx.scale_layout<sf_128x4>"
round_trip(BLOCKS, 70, 320, "f32", "f8E4M3FN")
round_trip(BLOCKS, 70, 320, "bf16", "f8E4M3FN", TILED)
round_trip(BLOCKS, 40, 128, "f16", "f4E2M1FN")
round_trip(SQUARES, 200, 384, "bf16", "f8E4M3FN")
round_trip(SQUARES, 128, 128, "f32", "f8E4M3FN")
round_trip(SQUARES, 130, 128, "f16", "f8E4M3FN")
both_axes(256, 320, "")
both_axes(256, 320, TILED)
for format, layout in ((BLOCKS, ""), (BLOCKS, TILED), (SQUARES, "")):
    multiply(format, 130, 136, 384, quantizes_a=True, layout=layout)
    multiply(format, 40, 136, 256, quantizes_a=False, layout=layout)
multiply(SQUARES, 200, 264, 128, quantizes_a=True)
for quantizes_a in (True, False):
    multiply_batch(70, 200, 256, quantizes_a)
multiply_experts(200, 256)
if not on_cpu:
    fused()
test.finish(least=20000)
