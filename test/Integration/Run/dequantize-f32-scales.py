"""Kernels dequantize, requantize and relay out blocks of 128 elements with f32 scales. Results equal numpy and the CPU
path in every bit.

RUN: %python %s mx-run %t cpu
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Scales contain subnormals, zeros, NaN and infinities.
"""

import mx_reference as ref
import numpy as np
from harness import Blocks, Function, Harness, group_ends, to_array
from long_blocks import make_input

E4 = "f8E4M3FN"
# Shape, layout of the scales, blocks, type of the result, and expert groups.
DEQUANTIZED = [
    ((150, 512), "mn_major", 128, "f32", ""),
    ((131, 640), "linear", 128, "bf16", ""),
    ((3, 70, 256), "mn_major", 128, "f32", ""),
    ((2, 130, 384), "mn_major", 128, "f16", ""),
    ((202, 384), "mn_major", 128, "f32", "rows"),
    ((202, 384), "linear", 128, "bf16", "rows"),
    ((70, 896), "mn_major", 128, "f32", "reduction"),
    ((150, 384), "linear", "128x128", "f32", ""),
    ((2, 150, 256), "linear", "128x128", "bf16", ""),
]
# Shape, layout of the source scales, and options.
REQUANTIZED = [
    ((256, 512), "mn_major", ""),
    ((128, 384), "linear", "prologue"),
]
RELAID = [(150, 1280), (3, 70, 256), (2, 129, 4736)]


def quantize(blocks, x):
    """Quantizes matrices. Returns elements, row-major scales, and scales in their layout."""
    parts = [blocks.quantize(matrix) for matrix in x.reshape(-1, *x.shape[-2:])]
    elements, scales, laid = (np.stack(part) for part in zip(*((q, s, blocks.lay_out(s)) for q, s in parts)))
    batch = x.shape[:-2]
    if blocks.layout == "mn_major":
        laid = laid.reshape(*laid.shape[:2], -1, 4)
    return elements.reshape(x.shape), *(array.reshape(*batch, *array.shape[1:]) for array in (scales, laid))


def describe(shape, **options):
    return Blocks(E4, 1, rounding="exact", scale="f32", batch="".join(f"{n}x" for n in shape[:-2]), **options)


def draw(shape):
    with np.errstate(over="ignore"):
        return to_array(make_input(test.rng, shape), "f32")[1]


def run(f):
    return iter(test.run(f, chip=test.chip, check=test.chip != "cpu", sms=2))


def dequantize(shape, layout, size, dtype, ragged):
    blocks = describe(shape, layout=layout, size=size)
    elements, scales, laid = quantize(blocks, draw(shape))
    with np.errstate(all="ignore"):
        numbers = ref.decode(elements, E4) * np.repeat(
            np.repeat(scales.astype(np.float64), blocks.block_rows, -2)[..., :shape[-2], :], 128, -1)
        want = numbers.astype(np.float32)
    f, types = Function(), blocks.types(*shape[-2:])
    part, clauses = (), ("", "")
    if ragged == "rows":
        ends = group_ends(test.rng, shape[0], 3)
        part = np.s_[:ends[-1]]
    elif ragged:
        ends = np.array([128, 128, 512], np.int32)
        part = np.s_[:, :512]
    if ragged:
        clauses = (f"ragged = {ragged} {'padded' * (ragged == 'reduction')}", "offsets(%o : tensor<3xi32>)")
        f.argument("tensor<3xi32>", ends, "o")
    q, s = f.argument(types[0], elements), f.argument(types[1], laid)
    f.call(f"mx.dequantize {clauses[0]} ins({q}, {s} : {', '.join(types)}) {clauses[1]} OUTS block_size = {size}",
           [f"tensor<{'x'.join(map(str, shape))}x{dtype}>"])
    found = next(run(f))
    if dtype == "f32":  # others are compared with the CPU path
        test.expect("numbers", found.view(np.float32), want, part, nan=True)


def requantize(shape, layout, options):
    """Passes blocks of rows on, or doubles and requantizes them, and quantizes columns."""
    source = describe(shape, layout=layout, size=128)
    elements, scales, laid = quantize(source, draw(shape))
    with np.errstate(all="ignore"):
        numbers = (ref.decode(elements, E4) * np.repeat(scales.astype(np.float64), 128, -1)).astype(np.float32)
        numbers = numbers * np.float32(2) if options else to_array(numbers, "bf16")[1]
    f, types = Function(), source.types(*shape)
    q, s = f.argument(types[0], elements), f.argument(types[1], laid)
    outs = [describe(shape, layout="mn_major", size=128), Blocks(E4, 0, "mn_major", "exact", size=128, scale="f32")]
    region = """prologue {
        ^bb0(%a: f32, %row: index, %column: index):
          %two = arith.constant 2.0 : f32
          %b = arith.mulf %a, %two : f32
          mx.yield %b : f32
        }""" if options else ""
    f.call(f"mx.fused_quantize ins({q} : {types[0]}) input_scales({s} : {types[1]}) OUTS axes = [1, 0] "
           "block_size = 128", sum((out.types(*shape) for out in outs), []), region)
    found = run(f)
    if options:
        outs[0].compare(test, "rows", found, numbers)
    else:
        test.expect("rows", next(found).view(np.uint8), elements)
        test.expect("scales of rows", next(found).reshape(-1), outs[0].lay_out(scales).reshape(-1))
    outs[1].compare(test, "columns", found, numbers)


def relayout(shape):
    linear, major = (describe(shape, layout=layout, size=128) for layout in ("linear", "mn_major"))
    _, scales, laid = quantize(major, draw(shape))
    f = Function()
    types = [blocks.types(*shape[-2:])[1] for blocks in (linear, major)]
    s = f.argument(types[0], scales)
    t, = f.call(f"mx.relayout ins({s} : {types[0]}) OUTS", [types[1]])
    f.call(f"mx.relayout ins({t} : {types[1]}) OUTS", [types[0]])
    found = run(f)
    test.expect("mn_major", next(found).reshape(laid.shape), laid)
    test.expect("linear", next(found).reshape(scales.shape), scales)


test = Harness("mx_run", "folder", "chip", seed=74)
for case in test.select(DEQUANTIZED):
    dequantize(*case)
for case in test.select(REQUANTIZED):
    requantize(*case)
for case in test.select(RELAID):
    relayout(case)
test.finish(least=500000)
