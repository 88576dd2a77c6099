# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""Every bit of mx.quantize on the CPU path equals numpy's and ml_dtypes'."""

import mx_reference as ref
import numpy as np
from harness import Blocks, Function, Harness, group_ends, to_array

TILED = "sf_128x4"


def adversarial(rng, rows, columns):
    """Returns rows of all magnitudes, random bits, and values at the limits of rounding."""
    x = rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-145, 127, (rows, 1)))
    x = x.astype(np.float32)
    third = rows // 3
    bits = rng.integers(0, 2**32, (third, columns), dtype=np.uint64)
    x[:third] = bits.astype(np.uint32).view(np.float32)
    special = [
        0.0, -0.0, 1e-45, -1e-40, 2.0**-126, 2.0**-127, np.inf, -np.inf, np.nan, 3.4028235e38, 448, 449, 464, 465,
        57344, 61440, 28, 30, 7.5, 7.75, 6, 7, 2.5, 5, 1.75, 1.875, 127 / 64, 2.0
    ]
    for i, value in enumerate(special):
        x[third + i % 32] = 0
        x[third + i % 32, :: 1 + i % 5] = value
    # The only f32 number for which ceil differs from its integer formula, and both adjacent numbers.
    around = np.array([0x04600000, 0x04600001, 0x04600002], np.uint32)
    x[-3:] = 0
    x[-3:, 0] = around.view(np.float32)
    # Ties between adjacent values of every element type.
    x[-4] = np.resize(np.arange(-16, 16, 0.03125), columns)
    return x


def check(test, what, array, x, dtype, destinations, shape=None, ends=None, clauses=""):
    """Checks an operation with all destinations. `shape` is the input's shape as its type contains it."""
    rows, columns = shape or x.shape
    f, t = Function(), f"tensor<{rows}x{columns}x{dtype}>"
    f.argument(t, array, "x")
    ragged, offsets = "", ""
    if ends is not None:
        f.argument(f"tensor<{len(ends)}xi32>", ends, "o")
        ragged, offsets = "ragged = rows", f"offsets(%o : tensor<{len(ends)}xi32>)"
    first = destinations[0]
    if first.encode is not None:
        clauses += f" global_scale({f.argument('f32', np.float32(first.encode))})"
    sizes = []
    if rows == "?":
        f.lines += ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
                    "%c32 = arith.constant 32 : index", f"%r = tensor.dim %x, %c0 : {t}",
                    f"%c = tensor.dim %x, %c1 : {t}", "%rb = arith.divui %r, %c32 : index",
                    "%cb = arith.divui %c, %c32 : index"]
        sizes = sum((["%r, %c", "%r, %cb"] if d.axis else ["%c, %r", "%c, %rb"] for d in destinations), [])
    types = sum((d.types(rows, columns) for d in destinations), [])
    rounding = f"scale_rounding = {first.rounding}" if first.encode is None else ""
    f.call(f"mx.quantize {ragged} ins(%x : {t}) {clauses} {offsets} OUTS axes = {[d.axis for d in destinations]} "
           f"{'square' * first.square} {rounding}", types, sizes=sizes)
    found = iter(test.run(f))
    for d in destinations:
        d.compare(test, f"{what} {dtype} {d}", found, x, ends)


def both_axes(test, dtype, element, rounding, layout="linear"):
    array, x = to_array(adversarial(test.rng, 160, 96), dtype)
    check(test, "both", array, x, dtype, [Blocks(element, axis, layout, rounding) for axis in (1, 0)], ("?", "?"))


def every_magnitude(test, element, rounding):
    """Creates blocks. Each bf16 magnitude is the largest magnitude of some block."""
    array = np.zeros((1024, 1024), np.uint16)
    array[:, ::32] = np.arange(1 << 15).reshape(1024, 32)
    x = (array.astype(np.uint32) << 16).view(np.float32)
    check(test, "every magnitude", array, x, "bf16", [Blocks(element, 1, "linear", rounding)])


def nvfp4(test, encode, layout="linear"):
    x = adversarial(test.rng, 130, 80)
    x[:40] = test.rng.standard_normal((40, 80)) * 3
    check(test, "nvfp4", x, x, "f32", [Blocks("f4E2M1FN", 1, layout, encode=encode)])


def ragged(test, element, total, groups):
    ends = group_ends(test.rng, total, groups)
    x = test.rng.standard_normal((total, 64)) * np.exp2(test.rng.integers(-9, 9, (total, 1)))
    x = x.astype(np.float32)
    check(test, f"{total} in", x, x, "f32", [Blocks(element, axis, TILED, groups=groups) for axis in (1, 0)], ends=ends)


test = Harness("mx_run", "folder", device="cpu", seed=7)
for element in ref.ELEMENTS:
    for rounding in ["ceil", "floor", "even", "fit"]:
        both_axes(test, "f32", element, rounding)
        every_magnitude(test, element, rounding)
both_axes(test, "bf16", "f8E4M3FN", "ceil", TILED)
both_axes(test, "f16", "f8E5M2", "ceil", TILED)
both_axes(test, "bf16", "f4E2M1FN", "even", TILED)
for encode in [1.0, 448 * 6 / 11.0, 1e-30, 1e30, 3e-42]:
    nvfp4(test, encode)
nvfp4(test, 37.5, TILED)
for element, total, groups in [("f8E4M3FN", 300, 4), ("f4E2M1FN", 258, 3), ("i8", 7, 1), ("f8E5M2", 0, 2)]:
    ragged(test, element, total, groups)
test.finish(least=700000)
