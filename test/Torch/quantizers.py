# REQUIRES: torch
# RUN: %python_torch %s
"""Compares every quantizer with the definition, in every orientation, with both scale layouts, with batches, and with
groups."""

import numpy as np
import torch

import mx_compiler.torch as mxt
import reference as ref
from reference import turn
from refuses import refuses


def check(x, elements, scales, format, rounding, blocked, starts=None, groups=None):
    """Compares quantized `x` with the definition. `x` has the orientation of the result."""
    columns = x.shape[-1]
    found = ref.codes(elements, format)[..., :columns] * np.repeat(
        ref.scales(scales, x.shape[-2], columns // 32, blocked, starts), 32, -1)
    wanted = ref.blocked(x, format, rounding, groups)
    assert (found == wanted).all(), (format, rounding, blocked,
                                     int((found != wanted).sum()))


for shape in ((96, 160), (3, 64, 128), (130, 32)):
    for dtype in (torch.bfloat16, torch.float32, torch.float16):
        x = ref.tensor(shape, seed=len(shape), dtype=dtype,
                       spread=3 if dtype == torch.float16 else 8)
        x[..., :32] = 0
        given = ref.exact(x)
        for format, rounding, blocked in (("mxfp8", "ceil", True),
                                          ("mxfp8", "floor", False),
                                          ("mxfp8_e5m2", "ceil", False),
                                          ("mxfp4", "floor", True),
                                          ("mxfp4", "ceil", False)):
            call = mxt.quantize_mxfp4 if format == "mxfp4" else mxt.quantize_mxfp8
            options = {} if format == "mxfp4" else {"element": "e4m3" if format == "mxfp8" else "e5m2"}
            options |= dict(scale_rounding=rounding, blocked=blocked)
            q, s = call(x, **options)
            check(given, q, s, format, rounding, blocked)
            if shape[-2] % 32:
                refuses(ValueError, "x: expected a multiple of 32 rows", call, x,
                        -2, **options)
                continue
            both = call(x, (-1, -2), **options)
            check(given, *both[:2], format, rounding, blocked)
            check(turn(given), *both[2:], format, rounding, blocked)
            down = call(x, -2, **options)
            assert all(torch.equal(a.view(torch.uint8), b.view(torch.uint8))
                       for a, b in zip(down, both[2:]))
            values = mxt.dequantize(q, s, format, torch.float32, blocked=blocked)
            assert (ref.exact(values) == ref.blocked(given, format, rounding)).all()

# 6-bit elements are stored in bytes.
x = ref.tensor((32, 64))
for format in ("mxfp6_e3m2", "mxfp6_e2m3"):
    q, s = mxt.quantize(x, format)
    assert q.dtype == torch.uint8
    check(ref.exact(x), q, s, format, "ceil", True)

# With groups along the rows, rows keep their places and each group has separate scale tiles. With groups along the
# reduction, each group begins at a multiple of 128 columns.
x, offsets = ref.tensor((300, 64), seed=5), ref.ends(7, 7, 150, 300)
given, places = ref.exact(x), ref.group_rows(offsets)
for blocked in (True, False):
    q, s, qt, st = mxt.quantize_mxfp8(x, (-1, -2), blocked=blocked, offsets=offsets)
    check(given, q, s, "mxfp8", "ceil", blocked, places if blocked else None)
    assert qt.shape == (64, (300 + 127 * 4 + 127) // 128 * 128)
    start, begin = 0, 0
    for end in (7, 7, 150, 300):
        size = end - begin
        part = turn(given[begin:end])
        padded = np.pad(part, [(0, 0), (0, -size % 128)])
        whole = ref.codes(qt, "mxfp8") * np.repeat(
            ref.scales(st, 64, qt.shape[1] // 32, blocked), 32, -1)
        assert (whole[:, start:start + padded.shape[1]] ==
                ref.blocked(padded)).all(), (blocked, end)
        start, begin = start + padded.shape[1], end

# NVFP4: the factor is amax / 2688. Scales are a block's amax / 6 / factor, rounded to the nearest E4M3.
x = ref.tensor((64, 96), seed=7, spread=2)
given = ref.exact(x)
for blocked in (True, False):
    q, s, factor = mxt.quantize_nvfp4(x, blocked=blocked)
    assert abs(float(factor) * 2688 / np.abs(given).max() - 1) < 1e-6
    found = ref.scales(s, 64, 6, blocked)
    wanted = np.abs(given.reshape(64, 6, 16)).max(-1) / 6 / float(factor)
    assert (np.abs(found - wanted) <= np.maximum(wanted / 16, 2.0 ** -10) * 1.0001).all()
    step = np.repeat(found, 16, -1) * float(factor)
    codes = ref.codes(q, "nvfp4")
    # No other E2M1 number is nearer.
    best = np.abs(ref.E2M1[:, None, None] - given / step).min(0)
    assert (np.abs(codes - given / step) <= best + 1e-5).all()
    again = mxt.quantize_nvfp4(x, global_scale=factor, blocked=blocked)
    # 2688 / amax and 1 / (amax / 2688) differ in f32.
    assert (ref.codes(again[0], "nvfp4") != codes).mean() < 0.01
    values = mxt.dequantize(q, s, "nvfp4", torch.float32, blocked=blocked,
                            global_scale=factor)
    assert np.allclose(ref.exact(values), codes * step, rtol=1e-6)

# With deterministic algorithms, PyTorch fills new memory, which must also work for packed types.
torch.use_deterministic_algorithms(True)
for format in ("mxfp8", "mxfp4", "nvfp4"):
    make = mxt.quantize_nvfp4 if format == "nvfp4" else lambda x: mxt.quantize(x, format)
    assert all(torch.equal(a.view(torch.uint8), b.view(torch.uint8))
               for a, b in zip(make(x)[:2], make(x)[:2]))
torch.use_deterministic_algorithms(False)
