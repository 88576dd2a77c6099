"""Kernels quantize to blocks of 128 elements with f32 scales, and to blocks of 128 x 128, and dequantize, requantize
and relay out such blocks. Results equal numpy and the CPU path in every bit.

RUN: %python %s mx-run %t cpu
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
RUN: %python %s mx-run %t sm_120a
REQUIRES: compiler, numpy

Inputs and scales have all magnitudes, with zeros, subnormals, NaN and infinities. Rows and columns do not fill tiles,
and rows of scales in layout mn_major end with padding.
"""

import mx_reference as ref
import numpy as np
from harness import Blocks, Function, Harness, group_ends, tensor, to_array
from long_blocks import check, make_input

E4, E5 = "f8E4M3FN", "f8E5M2"
# Shape, whether it is static, input type, destinations, and options.
ALONG_ROWS = [
    ((70, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], ""),
    ((150, 512), False, "bf16", [(E5, 1, "linear", "ceil", 128)], ""),
    ((149, 512), False, "bf16", [(E4, 1, "mn_major", "ceil", 128)], "amax"),
    ((33, 1152), True, "f16", [(E4, 1, "mn_major", "exact", 128)], "amax"),
    ((41, 384), False, "f32", [(E4, 1, "mn_major", "exact", 128)], ""),
    ((66, 512), True, "f32", [(E5, 1, "mn_major", "exact", 128)], "seed"),
    ((35, 512), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], "prologue"),
    ((50, 512), False, "f32", [(E4, 1, "linear", "ceil", 128)], "prologue"),
    ((61, 512), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], "concat"),
    ((300, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], "ragged"),
    ((202, 384), True, "f32", [(E4, 1, "linear", "exact", 128)], "ragged"),
]
BY_TILES = [
    ((256, 160), True, "bf16", [(E4, 0, "mn_major", "exact", 128)], ""),
    ((256, 224), False, "f32", [(E5, 0, "linear", "ceil", 128)], ""),
    ((384, 640), False, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "mn_major", "exact", 128)], "amax"),
    ((256, 384), True, "f16", [(E4, 1, "linear", "ceil", 128), (E4, 0, "mn_major", "ceil", 128)], "seed"),
    ((128, 512), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E5, 0, "mn_major", "exact", 128)], "prologue"),
    ((3, 70, 256), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], ""),
    ((2, 256, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "linear", "exact", 128)], ""),
    ((2, 128, 160), True, "bf16", [(E4, 0, "mn_major", "exact", 128)], ""),
    ((301, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "mn_major", "exact", 128)], "ragged"),
    ((200, 384), True, "f32", [(E4, 0, "mn_major", "exact", 128)], "ragged"),
]
SQUARES = [
    ((200, 640), True, "bf16", [(E4, 1, "linear", "exact", "128x128")], ""),
    ((256, 384), False, "f32", [(E5, 1, "linear", "ceil", "128x128")], "amax"),
    ((130, 256), True, "f16", [(E4, 1, "linear", "ceil", "128x128")], "seed"),
    ((150, 512), True, "bf16", [(E4, 1, "linear", "exact", "128x128")], "prologue"),
    ((70, 256), True, "f32", [(E4, 1, "linear", "exact", "128x128")], "concat"),
    ((256, 160), True, "bf16", [(E4, 0, "linear", "exact", "128x128")], ""),
    ((384, 256), False, "bf16", [(E4, 1, "linear", "exact", "128x128"), (E4, 0, "linear", "exact", "128x128")], "amax"),
    ((256, 128), True, "f32", [(E5, 0, "linear", "ceil", "128x128")], ""),
    ((128, 512), True, "bf16", [(E4, 1, "linear", "exact", "128x128"), (E4, 0, "linear", "exact", "128x128")],
     "prologue"),
    ((3, 150, 256), True, "bf16", [(E4, 1, "linear", "exact", "128x128")], ""),
    ((2, 256, 640), True, "f16", [(E4, 1, "linear", "ceil", "128x128"), (E4, 0, "linear", "ceil", "128x128")], ""),
]
# Tiles that exceed the shared memory of sm_120a.
LARGE = [
    ((256, 384), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "mn_major", "exact", 128)], "concat"),
]
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
# Shape, layout of the source scales, and options. The last tile exceeds the shared memory of sm_120a.
REQUANTIZED = [
    ((256, 512), "mn_major", ""),
    ((128, 384), "linear", "prologue"),
]
RELAID = [((150, 1280),), ((3, 70, 256),), ((2, 129, 4736),)]


def describe(shape, axis=1, layout="mn_major", size=128):
    return Blocks(E4, axis, layout, "exact", size=size, scale="f32", batch="".join(f"{n}x" for n in shape[:-2]))


def draw(shape, layout, size=128):
    """Returns the types of a quantized tensor, its elements, row-major scales, scales in their layout, and numbers."""
    blocks, batch = describe(shape, 1, layout, size), shape[:-2]
    with np.errstate(all="ignore"):
        x = make_input(test.rng, shape).astype(np.float32).reshape(-1, *shape[-2:])
        elements, scales = (np.stack(part) for part in zip(*map(blocks.quantize, x)))
        factors = scales.astype(np.float64).repeat(blocks.block_rows, 1)[:, :shape[-2]].repeat(128, 2)
        numbers = (ref.decode(elements, E4) * factors).astype(np.float32)
    laid = np.stack([blocks.lay_out(own) for own in scales])
    laid = laid.reshape(*laid.shape[:2], -1, 4) if layout == "mn_major" else laid
    arrays = elements, scales, laid, numbers
    return blocks.types(*shape[-2:]), *(array.reshape(*batch, *array.shape[1:]) for array in arrays)


def run(f):
    return iter(test.run(f, chip=test.chip, check=test.chip != "cpu", sms=2))


def dequantize(shape, layout, size, dtype, ragged):
    types, elements, _, laid, numbers = draw(shape, layout, size)
    f, part, clauses = Function(), (), ("", "")
    if ragged:
        ends = group_ends(test.rng, shape[0], 3) if ragged == "rows" else np.array([128, 128, 512], np.int32)
        part = np.s_[:ends[-1]] if ragged == "rows" else np.s_[:, :512]
        clauses = (f"ragged = {ragged} {'padded' * (ragged == 'reduction')}", "offsets(%o : tensor<3xi32>)")
        f.argument("tensor<3xi32>", ends, "o")
    q, s = f.argument(types[0], elements), f.argument(types[1], laid)
    f.call(f"mx.dequantize {clauses[0]} ins({q}, {s} : {', '.join(types)}) {clauses[1]} OUTS block_size = {size}",
           [tensor(shape, dtype)])
    found = next(run(f))
    if dtype == "f32":  # others are compared with the CPU path
        test.expect("numbers", found.view(np.float32), numbers, part, nan=True)


def requantize(shape, layout, options):
    """Passes blocks of rows on, or doubles and requantizes them, and quantizes columns."""
    types, elements, scales, laid, numbers = draw(shape, layout)
    with np.errstate(over="ignore"):
        numbers = numbers * np.float32(2) if options else to_array(numbers, "bf16")[1]
    f = Function()
    q, s = f.argument(types[0], elements), f.argument(types[1], laid)
    outs = [describe(shape), describe(shape, axis=0)]
    region = """prologue {
        ^bb0(%a: f32, %row: index, %column: index):
          %b = arith.addf %a, %a : f32
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
    (_, major), _, scales, laid, _ = draw(shape, "mn_major")
    linear = describe(shape, layout="linear").types(*shape[-2:])[1]
    f = Function()
    t, = f.call(f"mx.relayout ins({f.argument(linear, scales)} : {linear}) OUTS", [major])
    f.call(f"mx.relayout ins({t} : {major}) OUTS", [linear])
    found = run(f)
    test.expect("mn_major", next(found).reshape(laid.shape), laid)
    test.expect("linear", next(found).reshape(scales.shape), scales)


test = Harness("mx_run", "folder", "chip", seed=73)
for case in test.select(ALONG_ROWS + BY_TILES + LARGE + SQUARES):
    check(test, case, scale="f32", refused=case in LARGE)
    if case in SQUARES and case[3][0][3] == "ceil":
        check(test, case)
for function, cases in ((dequantize, DEQUANTIZED), (requantize, REQUANTIZED * (test.chip != "sm_120a")), (relayout, RELAID)):
    for case in test.select(cases):
        function(*case)
test.finish(least=1000000)
