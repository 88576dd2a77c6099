# REQUIRES: torchao
# RUN: %python_torchao %s mx-run %t
"""Every bit of mx.quantize on the CPU path equals torchao's CPU implementation.

Covers every bf16 number as the largest of a block, random f32 bits, and every common element type and rounding, along
both axes. torchao calls `ceil` RCEIL, `floor` FLOOR and `even` EVEN. mx does not implement torchao's CEIL, which
ignores the largest element, and torchao does not implement f16 and MXINT8. The results differ because torchao

- gives blocks with an infinity the scale NaN (0.18 and earlier give another scale with floor and even), while mx gives
  them 254, the largest scale;
- treats a maximum that rounds to infinity with `even` as an infinity;
- converts the bits of a NaN to an arbitrary 4- or 6-bit float in blocks with NaN (0.18 and earlier: in any element
  type), while mx converts NaN to the type's NaN or largest element;
- in 0.18 and earlier, divides by 2^-126 if the scale is 2^-127, and computes log2 in f32 with RCEIL, which rounds
  numbers just above a power of two down to the power;
- in NVFP4, uses no scale below 2^-6, the smallest normal E4M3 number.

The test counts such blocks, and compares their comparable parts."""

import sys
import warnings

import ml_dtypes
import numpy as np
from harness import Harness

warnings.filterwarnings("ignore")
import torch
from torchao.prototype.mx_formats import mx_tensor
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize
from torchao.prototype.mx_formats.utils import to_blocked

# Element type: torchao's type, mantissa bits, largest value.
ELEMENTS = {
    "f8E4M3FN": (torch.float8_e4m3fn, 3, 448),
    "f8E5M2": (torch.float8_e5m2, 2, 57344),
    "f6E3M2FN": (mx_tensor.DTYPE_FP6_E3M2, 2, 28),
    "f6E2M3FN": (mx_tensor.DTYPE_FP6_E2M3, 3, 7.5),
    "f4E2M1FN": (torch.float4_e2m1fn_x2, 1, 6),
}
ROUNDINGS = {"ceil": ScaleCalculationMode.RCEIL,
             "floor": ScaleCalculationMode.FLOOR,
             "even": ScaleCalculationMode.EVEN}
AFTER_0_18 = hasattr(mx_tensor, "_e8m0_scale_to_reciprocal_fp32")
INFINITY = 0x7F800000


def every_largest(rng):
    """Creates a block for each bf16 number. The number is the largest of its block."""
    codes = np.arange(65536, dtype=np.uint32)
    below = (rng.random((65536, 32)) * ((codes & 0x7FFF)[:, None] + 1))
    block = below.astype(np.uint32) | rng.integers(0, 2, below.shape,
                                                   np.uint32) << 15
    block[np.arange(65536), rng.integers(0, 32, 65536)] = codes
    return block.astype(np.uint16).reshape(4096, 512)


def random_f32(rng):
    """Creates blocks of random bits, and blocks of numbers of equal magnitude."""
    bits = rng.integers(0, 2**32, (4096, 32), np.uint32)
    numbers = rng.standard_normal((12288, 32)) * np.exp2(
        rng.integers(-150, 128, (12288, 1)))
    with np.errstate(over="ignore"):
        numbers = numbers.astype(np.float32).view(np.uint32)
    return np.concatenate([bits, numbers]).reshape(512, 1024)


def as_torch(x):
    if x.dtype == np.uint16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x.view(np.float32))


def largest_bits(x, block):
    """Returns the largest magnitudes of blocks along the rows, as f32 bits."""
    bits = x.astype(np.uint32) << 16 if x.dtype == np.uint16 else x
    return (bits & 0x7FFFFFFF).reshape(x.shape[0], -1, block).max(-1)


def quantize(runner, x, types, rounding="ceil", extra=()):
    """Returns the results of mx.quantize for axes [1, 0], with each code in a byte."""
    dtype = {2: "bf16", 4: "f32"}[x.itemsize]
    rows, columns = x.shape
    (element, scale), block = types, 16 if extra else 32
    tensor = lambda *shape: "tensor<%dx%dx%s>" % shape
    outs = [tensor(rows, columns, element),
            tensor(rows, columns // block, scale),
            tensor(columns, rows, element),
            tensor(columns, rows // block, scale)]
    i = tensor(rows, columns, dtype)
    argument, operand = ", %g: f32", " global_scale(%g)"
    text = f"""
        func.func @main(%x: {i}{argument if extra else ""}) -> ({", ".join(outs)}) {{
          {"; ".join(f"%{k} = tensor.empty() : {t}" for k, t in enumerate(outs))
           .replace("; ", chr(10))}
          %q:4 = mx.quantize ins(%x : {i}){operand if extra else ""}
            outs(%0, %1, %2, %3 : {", ".join(outs)}) axes = [1, 0]
            scale_rounding = {rounding} -> {", ".join(outs)}
          return %q#0, %q#1, %q#2, %q#3 : {", ".join(outs)}
        }}"""
    numbers = x if dtype == "bf16" else x.view(np.float32)
    found = runner.run(text, [numbers, *extra], 4)
    return [f.view(np.uint8) for f in found]


def near_power_of_two(largest, maximum):
    """Marks blocks for which the f32 logarithm of a / maximum may be rounded to an integer."""
    a = np.minimum(largest, INFINITY - 1).view(np.float32)
    bits = (a / np.float32(maximum)).view(np.uint32)
    return ((bits + 64) & 0x7FFFFF) <= 128


def compare(runner, name, found, expected, same):
    """Compares scales and elements of the blocks marked by `same`."""
    (elements, scales), (their_elements, their_scales) = found, expected
    by_block = (*scales.shape, -1)
    runner.expect(name + " scales", np.where(same[0], scales, 0),
                  np.where(same[0], their_scales, 0))
    runner.expect(
        name + " elements",
        np.where(same[1][..., None], elements.reshape(by_block), 0),
        np.where(same[1][..., None], their_elements.reshape(by_block), 0))


def recipe(runner, x, element, rounding, excepted):
    dtype, mantissa, maximum = ELEMENTS[element]
    found = quantize(runner, x, (element, "f8E8M0FNU"), rounding)
    for axis in (1, 0):
        y = x if axis else np.ascontiguousarray(x.T)
        mine, found = found[:2], found[2:]
        theirs = mx_tensor.to_mx(as_torch(y.copy()), dtype, 32,
                                 ROUNDINGS[rounding])
        scales, elements = (t.view(torch.uint8).numpy() for t in theirs)
        largest = largest_bits(y, 32)
        is_nan = largest > INFINITY
        carry = 1 << (22 - mantissa) if rounding == "even" else 0
        infinite = ~is_nan & (largest.astype(np.int64) + carry >= INFINITY)
        has_nan = element.startswith("f8") and (AFTER_0_18 or rounding == "ceil")
        other = infinite.copy()
        odd = infinite | is_nan & (not has_nan)
        if not AFTER_0_18:
            if rounding == "ceil":
                other |= near_power_of_two(largest, maximum)
            odd |= other | (mine[1] == 0)
        excepted["blocks"] += odd.size
        excepted["odd"] += int(odd.sum())
        assert (scales[is_nan] == 255).all(), "torchao has changed"
        compare(runner, f"{y.dtype} {element} {rounding} axis {axis}", mine,
                (elements, scales), (~other, ~odd))


def nvfp4(runner, x, decode, excepted):
    found = quantize(runner, x, ("f4E2M1FN", "f8E4M3FN"),
                     extra=[np.float32(1 / decode)])
    for axis in (1, 0):
        y = x if axis else np.ascontiguousarray(x.T)
        mine, found = found[:2], found[2:]
        theirs = nvfp4_quantize(as_torch(y.copy()), 16, torch.tensor(decode))
        scales, elements = (t.view(torch.uint8).numpy() for t in theirs)
        largest = largest_bits(y, 16)
        normal = (mine[1] >= 0x08) & (largest < INFINITY)
        excepted["blocks"] += normal.size
        excepted["odd"] += int((~normal).sum())
        compare(runner, f"nvfp4 {y.dtype} {decode} axis {axis}", mine,
                (elements, scales), (normal, normal))


def tiles(runner, rng):
    """Checks the tcgen05 scale layout, with padded rows and blocks."""
    x = rng.integers(0, 0x7F80, (320, 224), np.uint16)
    found = quantize(runner, x, ("f8E4M3FN", "f8E8M0FNU, #mx.scale_layout<sf_128x4>"))
    for y, tiled in ((x, found[1]), (np.ascontiguousarray(x.T), found[3])):
        scales, _ = mx_tensor.to_mx(as_torch(y.copy()), torch.float8_e4m3fn, 32,
                                    ROUNDINGS["ceil"])
        blocked = to_blocked(scales.view(torch.uint8)).numpy()
        runner.expect("tiles", tiled.ravel(), blocked.ravel())


def main():
    runner, rng = Harness("mx_run", "folder", device="cpu"), np.random.default_rng(23)
    excepted = {"blocks": 0, "odd": 0}
    inputs = [every_largest(rng), random_f32(rng)]
    for x in inputs:
        for element in ELEMENTS:
            for rounding in ROUNDINGS:
                recipe(runner, x, element, rounding, excepted)
    small = rng.standard_normal((256, 1024)) * np.exp2(
        rng.integers(-6, 6, (256, 64)).repeat(16, 1))
    small = small.astype(np.float32)
    for x in (small.view(np.uint32),
              small.astype(ml_dtypes.bfloat16).view(np.uint16)):
        for decode in (1.0, 2.0**-4, 2.0**3):
            nvfp4(runner, x, decode, excepted)
    tiles(runner, rng)
    print(f"torchao {'after' if AFTER_0_18 else 'up to'} 0.18: "
          f"{excepted['odd']} of {excepted['blocks']} blocks where it differs")
    if excepted["odd"] > excepted["blocks"] // 8:
        sys.exit("too few blocks compared")
    runner.finish(least=7 * 10**7)


if __name__ == "__main__":
    main()
