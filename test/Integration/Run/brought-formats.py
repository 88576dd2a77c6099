# REQUIRES: numpy
# RUN: %python %s mx-test-run %t cpu
# RUN: %python %s mx-test-run %t sm_90a
# RUN: %python %s mx-test-run %t sm_100a
# RUN: %python %s mx-test-run %t sm_120a
"""Quantizes, dequantizes and multiplies operands with scales that no tensor core takes: blocks, whole rows and whole
matrices of another dialect (test/lib/Formats), and squares with f32 scales. Results equal numpy's, on the CPU path and
in kernels.

Kernels multiply operands rounded to bf16, so their sums are compared within a tolerance."""

import dataclasses

import mx_reference as ref
import numpy as np
from harness import BF16, Function, Harness, tensor, to_array

test = Harness("mx_run", "folder", "chip", seed=3)
on_cpu = test.chip == "cpu"
E4M3 = "f8E4M3FN"

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
    block: int = 0  # columns of a block, or 0 for whole rows
    rows: int = 1  # rows of a block, or 0 for whole matrices
    rounding: object = "exact"

    def __str__(self):
        return f"block_size = {f'{self.rows}x' * (self.rows > 1)}{self.block or 'row'}"

    def of_scales(self, shape):
        """Returns the shape of the scales of elements."""
        *batch, rows, columns = shape
        return [*batch, rows if self.rows == 1 else -(-rows // self.rows) if self.rows else 1,
                columns // self.block if self.block else 1]

    def quantize(self, x, element=E4M3):
        """Returns the codes of elements, and the scales of blocks."""
        if not x.size:
            return np.zeros(x.shape, np.uint8), np.zeros(self.of_scales(x.shape), np.float32)
        matrices = x.reshape(-1, *x.shape[-2:])
        parts = [ref.quantize_f32(matrix, element, self.rounding, self.block or x.shape[-1], self.rows or x.shape[-2])
                 for matrix in matrices]
        codes, scales = (np.stack(part) for part in zip(*parts))
        return codes.reshape(x.shape), scales.reshape(self.of_scales(x.shape))

    def decode(self, codes, scales, element=E4M3):
        rows, columns = codes.shape[-2:]
        scales = np.repeat(scales.astype(np.float64), self.rows or rows, -2)[..., :rows, :]
        with np.errstate(invalid="ignore"):
            return ref.decode(codes, element) * np.repeat(scales, self.block or columns, -1)

    def store(self, scales, tiled=False):
        """Returns scales as stored in files, types of other dialects as bits."""
        if self.rounding == "exact":
            return scales if self.scale == "f32" else scales.view(np.uint32)
        scales = np.searchsorted(UE5M3, scales).astype(np.uint8)
        return ref.tile(scales) if tiled else scales


BLOCKS = Format("!mx_formats.ue5m3", 64, rounding=round_ue5m3)
SQUARES = Format("f32", 128, 128)
ROWS = Format("!mx_formats.row_scale")
MATRICES = Format("!mx_formats.matrix_scale", rows=0)


def make_input(*shape, special=False):
    x = test.rng.standard_normal(shape) * np.exp2(test.rng.integers(-9, 9, (*shape[:-1], 1)))
    x[..., :1, :] = 0
    if special:
        x[1, 5], x[2, 7], x[-1, -3] = np.inf, np.nan, -np.inf
    return x


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


def round_trip(format, rows, columns, dtype="f32", element=E4M3, tiled=False, axes=(1,), dynamic=False):
    """Quantizes, and dequantizes numpy's elements and scales. Kernels do not quantize matrices."""
    array, x = to_array(make_input(rows, columns, special=format is not MATRICES and columns > 8), dtype)
    sizes = ["?", "?"] if dynamic else x.shape
    f, i = Function(), tensor(sizes, dtype)
    f.argument(i, array, "x")
    f.lines += [f"%c{d} = arith.constant {d} : index\n%d{d} = tensor.dim %x, %c{d} : {i}" for d in (0, 1)]
    of_elements, of_scales = ("%d0, %d1", "%d0" * (format.rows > 0)) if dynamic else ("", "")
    expected, types = [], []
    for axis in axes:
        codes, scales = format.quantize(np.ascontiguousarray(x if axis else x.T), element)
        shape = sizes if axis else sizes[::-1]
        layout = ", #mx.scale_layout<sf_128x4>" * tiled
        of_s = [shape[0], 1] if dynamic and format.rows else format.of_scales(codes.shape)
        types.append([tensor(shape, element), tensor(of_s, format.scale + layout)])
        expected.append((codes, scales))
    if format is not MATRICES or on_cpu:
        f.call(f"mx.quantize ins(%x : {i}) OUTS axes = {list(axes)} {format}", sum(types, []),
               sizes=[of_elements, of_scales] * len(axes))
    for (codes, scales), (q, s) in zip(expected, types):
        stored = format.store(scales, tiled)
        s = tensor(stored.shape, format.scale) if tiled else s
        pair = f"{f.argument(q, ref.pack(codes, element))}, {f.argument(s, stored)} : {q}, {s}"
        for result in ("f32", "bf16"):
            f.call(f"mx.dequantize ins({pair}) OUTS {format}", [q.replace(element, result)], sizes=[of_elements])
    name, found = f"{test.chip} {format} {i}", iter(test.run(f, chip=test.chip))
    if format is not MATRICES or on_cpu:
        for codes, scales in expected:
            test.expect(f"{name} elements", next(found), ref.pack(codes, element))
            test.expect(f"{name} scales", next(found), format.store(scales, tiled))
    for codes, scales in expected:
        for result in ("f32", "bf16"):
            test.expect(f"{name} {result}", next(found), round_once(format.decode(codes, scales, element), result),
                        nan=True)


def operand(f, format, x, tiled=False):
    """Adds `x` as an operand, in bf16 without a format. Returns the names with their types, and the values."""
    if not format:
        array, x = to_array(x, "bf16")
        arrays, types, x = [array], [tensor(x.shape, "bf16")], x.astype(np.float64)
    else:
        codes, scales = format.quantize(x.astype(np.float32))
        arrays, x = [codes, format.store(scales, tiled)], format.decode(codes, scales)
        types = [tensor(array.shape, kind) for array, kind in zip(arrays, (E4M3, format.scale))]
    return [(f.argument(*pair), pair[0]) for pair in zip(types, arrays)], x


def compare(f, op, operands, rest, shape, parts, format):
    """Calls `op`, and compares parts of the result with products of two matrices each."""
    names, types = (", ".join(part) for part in zip(*operands))
    f.call(f"{op} ins({names} : {types}) {rest} OUTS {format}", [tensor(shape, "f32")])
    found, = test.run(f, chip=test.chip)
    for number, (part, a, b) in enumerate(parts):
        name, own = f"{test.chip} {op} {format} {shape}, matrix {number}", found.reshape(shape)[part]
        if on_cpu:  # adds the terms in this order
            total = np.zeros((len(a), len(b)))
            for k in range(a.shape[1]):
                total += np.outer(a[:, k], b[:, k])
            test.expect(name, own, total.astype(np.float32))
        else:
            a, b = (round_once(x, "bf16").astype(np.float64) for x in (a, b))
            test.expect_numbers(name, own, a @ b.T, limit=1e-5 * np.abs(a @ b.T).max(initial=0))


def multiply(format, m, n, k, batch=(), quantizes_a=True, tiled=False):
    f = Function()
    (a, x), (b, y) = (operand(f, *args, tiled) for args in ((format if quantizes_a else None, make_input(*batch, m, k)),
                                                           (format, make_input(*batch, n, k))))
    parts = [((slice(None),), x, y)] if not batch else [((i,), *pair) for i, pair in enumerate(zip(x, y))]
    compare(f, "mx.matmul", a + b, "", (*batch, m, n), parts, format)


def experts(format, ends, n, k, masked=False, quantizes_a=True):
    """Multiplies expert groups. Each row keeps its scale, wherever its expert group starts."""
    f, groups, rows = Function(), len(ends), 40 if masked else ends[-1]
    a, x = operand(f, format if quantizes_a else None, make_input(*[groups] * masked, rows, k))
    b, y = operand(f, format, make_input(groups, n, k))
    offsets = f.argument(f"tensor<{groups}xi32>", np.array(ends, np.int32))
    parts = [np.s_[g, :end] if masked else np.s_[begin:end] for g, (begin, end) in enumerate(zip([0, *ends], ends))]
    op, rest = f"mx.grouped_matmul ragged = rows {'masked' * masked}", f"offsets({offsets} : tensor<{groups}xi32>)"
    parts = [(part, x[part], y[g]) for g, part in enumerate(parts)]
    compare(f, op, a + b, rest, (*x.shape[:-1], n), parts, format)


round_trip(BLOCKS, 70, 320)
round_trip(BLOCKS, 70, 320, "bf16", tiled=True)
round_trip(BLOCKS, 40, 128, "f16", "f4E2M1FN")
for tiled in (False, True):
    round_trip(BLOCKS, 256, 320, "bf16", tiled=tiled, axes=(1, 0))
    multiply(BLOCKS, 130, 136, 384, tiled=tiled)
    multiply(BLOCKS, 40, 136, 256, quantizes_a=False, tiled=tiled)
multiply(SQUARES, 130, 136, 384)
multiply(SQUARES, 200, 264, 128)
for quantizes_a in (True, False):
    multiply(SQUARES, 70, 200, 256, (2,), quantizes_a)
experts(SQUARES, [70, 70, 131], 200, 256, quantizes_a=False)
for format in (ROWS, MATRICES):
    round_trip(format, 70, 320)
    round_trip(format, 40, 96, dynamic=True)
    if test.chip in ("cpu", "sm_90a"):
        multiply(format, 130, 136, 384)
        multiply(format, 40, 24, 64, (2,))
if test.chip in ("cpu", "sm_90a"):
    experts(ROWS, [3, 3, 90, 130], 72, 96)
    experts(ROWS, [3, 0, 40, 17], 72, 96, masked=True)
if on_cpu:
    round_trip(ROWS, 9, 77, axes=(0,))
    round_trip(ROWS, 5, 1)
    round_trip(ROWS, 5, 0)
    round_trip(MATRICES, 0, 64, dynamic=True)
test.finish(least=20000)
