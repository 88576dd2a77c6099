"""Block scaling of tensors with test/python/mx_reference.py, which does not call mx. The tensors are on the device
MX_TORCH_DEVICE."""

import os

import mx_reference as ref
import numpy as np
import torch

DEVICE = os.environ.get("MX_TORCH_DEVICE", "cpu")
ELEMENTS = {"mxfp8": "f8E4M3FN", "mxfp8_e5m2": "f8E5M2", "mxfp4": "f4E2M1FN",
            "nvfp4": "f4E2M1FN", "mxfp6_e3m2": "f6E3M2FN", "mxfp6_e2m3": "f6E2M3FN"}
E2M1 = ref.decode(np.arange(16, dtype=np.uint8), "f4E2M1FN")


def tensor(shape, seed=0, dtype=torch.bfloat16, spread=6):
    """Draws normal numbers with a magnitude that changes every 16 columns."""
    rng = np.random.default_rng(seed)
    sizes = 2.0 ** rng.integers(-spread, spread + 1, (*shape[:-1], -(-shape[-1] // 16)))
    sizes = np.repeat(sizes, 16, axis=-1)[..., :shape[-1]]
    x = torch.from_numpy(rng.standard_normal(shape) * sizes)
    return x.to(dtype).to(DEVICE)


def ends(*numbers):
    return torch.tensor(numbers, dtype=torch.int32, device=DEVICE)


def exact(x):
    """Converts a tensor to a NumPy float64 array."""
    return x.detach().to("cpu").to(torch.float64).numpy()


def turn(x):
    return np.swapaxes(x, -1, -2)


def blocked(x, format="mxfp8", rounding="ceil", groups=None):
    """Quantizes the NumPy array x along its last dimension and dequantizes the result. `groups` contains the first
    column of each group; blocks do not cross groups."""
    element = ELEMENTS[format]
    parts = [x] if groups is None else np.split(x, groups, axis=-1)
    quantized = [ref.quantize(part, element, rounding) for part in parts]
    return np.concatenate([ref.real(*part, element) for part in quantized], -1)


def to_bytes(found):
    return found.contiguous().view(torch.uint8).cpu().numpy()


def codes(elements, format):
    """Decodes the elements of an operator's result."""
    return ref.decode(ref.unpack(to_bytes(elements), ELEMENTS[format]), ELEMENTS[format])


def blocked_bytes(found, rows, blocks):
    """Returns the bytes of blocked scales as a matrix of `rows`, a slice or their numbers."""
    raw = to_bytes(found)
    tiles = raw.reshape(*raw.shape[:-2], raw.shape[-2] // 128, raw.shape[-1] // 4, 32, 4, 4)
    return ref.untile(tiles, raw.shape[-2], blocks)[..., rows, :]


def scales(found, rows, blocks, is_blocked, starts=None):
    """Decodes the scale of each block. `starts` maps each row to the row of its scales."""
    rows = slice(rows) if starts is None else starts
    raw = blocked_bytes(found, rows, blocks) if is_blocked else to_bytes(found)
    assert found.dtype in (torch.float8_e4m3fn, torch.float8_e8m0fnu), found.dtype
    return ref.decode_scale(raw, found.dtype == torch.float8_e4m3fn)


def group_rows(offsets):
    """Returns the scale row of each matrix row if rows are grouped."""
    offsets, found = [int(e) for e in offsets.cpu()], []
    for g, (begin, end) in enumerate(zip([0, *offsets], offsets)):
        found += [(begin // 128 + g) * 128 + r for r in range(end - begin)]
    return np.array(found, dtype=np.int64)


def near(found, expected, terms, dtype=torch.bfloat16, sums=8, what=""):
    """Checks that `found` equals `expected` (float64) within the error of f32 sums and one rounding. `terms` is the
    same matmul on magnitudes. `sums` is the number of times that a tensor core truncates terms to 2^-22 of the largest
    term (docs/guide/Run.md)."""
    rounding = {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11,
                torch.float32: 2.0 ** -23}[dtype]
    bound = sums * 2.0 ** -21 * terms + np.abs(expected) * rounding * 1.01 + 1e-30
    miss = np.abs(exact(found) - expected)
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert (miss <= bound).all(), (what, float((miss - bound).max()),
                                   int((~(miss <= bound)).sum()), miss.size)


def near_product(found, a, b, dtype, what=""):
    """Checks that `found` is near a * b^T in float64."""
    near(found, a @ turn(b), np.abs(a) @ turn(np.abs(b)), dtype,
         sums=max(8, a.shape[-1] // 16), what=what)
