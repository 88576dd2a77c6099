"""What the operators are checked against: block scaling by its definition (OCP MX 1.0,
table of E2M1; RCEIL), in float64, from ml_dtypes' roundings of numbers. Nothing of mx
is called. MX_TORCH_DEVICE names the device of the tensors."""

import os

import ml_dtypes
import numpy as np
import torch

DEVICE = os.environ.get("MX_TORCH_DEVICE", "cpu")
TYPES = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2,
         "mxfp4": ml_dtypes.float4_e2m1fn, "nvfp4": ml_dtypes.float4_e2m1fn,
         "mxfp6_e3m2": ml_dtypes.float6_e3m2fn, "mxfp6_e2m3": ml_dtypes.float6_e2m3fn}
LARGEST = {name: float(ml_dtypes.finfo(kind).max) for name, kind in TYPES.items()}
EMAX = {"mxfp8_e4m3": 8, "mxfp8_e5m2": 15, "mxfp4": 2, "mxfp6_e3m2": 4, "mxfp6_e2m3": 2}
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
E2M1 = np.concatenate([E2M1, -E2M1])


def tensor(shape, seed=0, dtype=torch.bfloat16, spread=6):
    """Normal numbers, whose size changes from 16 columns to the next."""
    rng = np.random.default_rng(seed)
    sizes = 2.0 ** rng.integers(-spread, spread + 1, (*shape[:-1], -(-shape[-1] // 16)))
    sizes = np.repeat(sizes, 16, axis=-1)[..., :shape[-1]]
    x = torch.from_numpy(rng.standard_normal(shape) * sizes)
    return x.to(dtype).to(DEVICE)


def ends(*numbers):
    return torch.tensor(numbers, dtype=torch.int32, device=DEVICE)


def exact(x):
    """As float64 of NumPy."""
    return x.detach().to("cpu").to(torch.float64).numpy()


def rounded(values, format):
    """To the nearest number of a format's elements, none larger than the largest."""
    most = LARGEST[format]
    return np.clip(values, -most, most).astype(np.float32).astype(
        TYPES[format]).astype(np.float64)


def exponents(largest, format, rounding):
    """Of the scales of blocks with such largest magnitudes."""
    if rounding == "ceil":
        mantissa, exponent = np.frexp(largest / LARGEST[format])
        found = exponent - (mantissa == 0.5)
    else:
        found = np.frexp(largest)[1] - 1 - EMAX[format]
    return np.clip(np.where(largest > 0, found, -127), -127, 127)


def blocked(x, format="mxfp8_e4m3", rounding="ceil", groups=None):
    """The numbers that x, of NumPy, stands for when it is quantized along its last
    dimension; `groups` are the first columns of groups with blocks of their own."""
    if groups is not None:
        parts = np.split(x, groups, axis=-1)
        return np.concatenate([blocked_part(p, format, rounding) for p in parts], -1)
    return blocked_part(x, format, rounding)


def blocked_part(x, format, rounding):
    columns = x.shape[-1]
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -columns % 32)])
    parts = x.reshape(*x.shape[:-1], x.shape[-1] // 32, 32)
    scale = np.exp2(exponents(np.abs(parts).max(-1, keepdims=True), format,
                              rounding).astype(np.float64))
    return (rounded(parts / scale, format) * scale).reshape(x.shape)[..., :columns]


def codes(elements, format):
    """The numbers of elements, as an operator gives them."""
    if format in ("mxfp4", "nvfp4"):
        raw = elements.view(torch.uint8).cpu().numpy()
        return E2M1[np.stack([raw & 15, raw >> 4], -1).reshape(*raw.shape[:-1], -1)]
    raw = elements.contiguous().view(torch.uint8).cpu().numpy()
    return raw.view(TYPES[format]).astype(np.float64)


def scales(found, rows, blocks, is_blocked, starts=None):
    """Of each block; `starts` is the row of the result where each row's scales lie."""
    raw = found.contiguous().view(torch.uint8).cpu().numpy()
    if is_blocked:
        r, c = np.arange(rows)[:, None], np.arange(blocks)[None, :]
        if starts is not None:
            r = starts[:, None]
        tiles = raw.reshape(*raw.shape[:-2], raw.shape[-2] // 128, raw.shape[-1] // 4,
                            32, 4, 4)
        raw = tiles[..., r // 128, c // 4, r % 32, r % 128 // 32, c % 4]
    if found.dtype == torch.float8_e4m3fn:
        return raw.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    assert found.dtype == torch.float8_e8m0fnu, found.dtype
    return np.exp2(raw.astype(np.float64) - 127)


def group_rows(offsets):
    """Where the scales of each row lie, with groups of rows."""
    offsets, found = [int(e) for e in offsets.cpu()], []
    for g, (begin, end) in enumerate(zip([0, *offsets], offsets)):
        found += [(begin // 128 + g) * 128 + r for r in range(end - begin)]
    return np.array(found, dtype=np.int64)


def near(found, expected, terms, dtype=torch.bfloat16, sums=8, what=""):
    """That `found` is `expected`, in float64, but for sums in f32 and a rounding.
    `terms` is the same matmul of magnitudes; a tensor core cuts terms off to 2^-22 of
    the largest (docs/guide/Run.md), `sums` times."""
    rounding = {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11,
                torch.float32: 2.0 ** -23}[dtype]
    bound = sums * 2.0 ** -21 * terms + np.abs(expected) * rounding * 1.01 + 1e-30
    miss = np.abs(exact(found) - expected)
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert (miss <= bound).all(), (what, float((miss - bound).max()),
                                   int((~(miss <= bound)).sum()), miss.size)
