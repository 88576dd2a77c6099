"""Every bit of quantizers along rows equals numpy's, ml_dtypes' and the CPU path's.

TIER: slow
RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy

Covers every element type, rounding and scale layout from every input type, in one program for each input type. sm_100a
has native conversions to all element types, sm_90a only to 8-bit types. The inputs contain many numbers as the largest
of a block, as the second largest and elsewhere, in all positions of a block; all pairs of exponents of the largest and
another number; ties, infinities and NaN. Rows and columns do not fill tiles.

With --all=FIRST,END the inputs contain all 65536 bf16 values in each of the 32 positions of a block, as the largest and
below the largest, and are compared only with the CPU path. 0,32 takes half an hour on one core.
"""

import mx_reference as ref
import numpy as np
import quantize_inputs as inputs
from harness import FLOATS, Blocks, Function, Harness

COLUMNS = 416  # 13 blocks: three tiles of columns and a partial tile
COUNT = {"bf16": 12288, "f16": 4096, "f32": 4096}  # number of largest values of blocks
ENCODES = [1.0, 448 * 6 / 11.0, 1e-30, 1e30, 3e-42, 3.4028235e38]


def make_input(rng, dtype):
    if dtype == "f32":
        codes = rng.integers(0, 2**32, COUNT[dtype], dtype=np.uint32)
    else:
        codes = rng.permutation(65536)[:COUNT[dtype]].astype(np.uint16)
    positions = np.arange(codes.size) % 32
    half = codes.size // 2
    numbers = [inputs.blocks_of(rng, codes[:half], dtype, positions[:half]),
               inputs.below_largest(rng, codes[half:], dtype, positions[half:]),
               inputs.exponent_pairs(rng, dtype), inputs.ties(dtype),
               inputs.special(dtype), codes.reshape(-1, 32)]
    return inputs.fill(np.concatenate(numbers), dtype, COLUMNS)


def make_all(rng, shift):
    """Creates blocks. Every bf16 value is at one position, in one block as the largest value and in others below it."""
    codes = np.arange(65536).astype(np.uint16)
    positions = (codes + shift) % 32
    return inputs.fill(
        np.concatenate([inputs.blocks_of(rng, codes, "bf16", positions),
                        inputs.below_largest(rng, codes, "bf16", positions),
                        inputs.exponent_pairs(rng, "bf16")]), "bf16", COLUMNS)


def cases():
    for element in ref.ELEMENTS:
        for i, rounding in enumerate(["ceil", "floor", "even"]):
            yield Blocks(element, 1, ["sf_128x4", "linear"][(i + len(element)) % 2], rounding)
    for element in ["f8E4M3FN", "f6E2M3FN", "i8"]:
        yield Blocks(element, 1, "linear", "fit")
    for i, encode in enumerate(ENCODES):
        yield Blocks("f4E2M1FN", 1, ["sf_128x4", "linear"][i % 2], encode=encode)


def run(dtype, bits, chip, check):
    """Returns the results of all cases for one input."""
    f, t = Function(), f"tensor<{len(bits)}x{COLUMNS}x{dtype}>"
    f.argument(t, bits.view(FLOATS[dtype]), "x")
    factors = {encode: f.argument("f32", np.float32(encode)) for encode in ENCODES}
    for case in cases():
        factor = f"global_scale({factors[case.encode]})" if case.encode else ""
        options = "" if case.encode else f"scale_rounding = {case.rounding}"
        f.call(f"mx.quantize ins(%x : {t}) {factor} OUTS {options}", case.types(len(bits), COLUMNS))
    return iter(test.run(f, chip=chip, check=check))


test = Harness("mx_run", "folder", "*chips", seed=11, all="")
if test.all:
    for shift in range(*map(int, test.all.split(","))):
        bits = make_all(np.random.default_rng(shift), shift)
        for chip in test.chips:
            run("bf16", bits, chip, True)  # exits if a bit differs
        print(f"{shift}: {bits.size} numbers right in {len(list(cases()))} recipes on {' '.join(test.chips)}", flush=True)
        test.compared += bits.size
    test.finish()
for dtype in COUNT:
    bits = make_input(test.rng, dtype)
    with np.errstate(all="ignore"):
        x = bits.view(FLOATS[dtype]).astype(np.float32)
    found = {chip: run(dtype, bits, chip, chip == test.chips[0]) for chip in test.chips}
    for case in cases():
        for what, (array, _) in zip(("elements", "scales"), case.expected(x)):
            for chip in test.chips:
                test.expect(f"{chip} {dtype} {case} {what}", next(found[chip]), array)
test.finish(least=10000000 * len(test.chips))
