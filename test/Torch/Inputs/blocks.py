"""Random block-scaled matrices, their float64 values, and their scales in PyTorch's layouts. Everything follows the
definitions and does not call mx."""

import ml_dtypes
import mx_reference as ref
import numpy as np
import torch

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
E2M1 = ml_dtypes.float4_e2m1fn


class Format:
    def __init__(self, element, tensor_dtype, scale_dtype, block, per_byte):
        self.element, self.tensor_dtype = element, tensor_dtype
        self.scale_dtype, self.block, self.per_byte = scale_dtype, block, per_byte
        self.is_e8m0 = scale_dtype == torch.float8_e8m0fnu


FORMATS = {
    "mxfp8": Format(E4M3, torch.float8_e4m3fn, torch.float8_e8m0fnu, 32, 1),
    "mxfp8_e5m2": Format(E5M2, torch.float8_e5m2, torch.float8_e8m0fnu, 32, 1),
    "mxfp4": Format(E2M1, torch.float4_e2m1fn_x2, torch.float8_e8m0fnu, 32, 2),
    "nvfp4": Format(E2M1, torch.float4_e2m1fn_x2, torch.float8_e4m3fn, 16, 2),
}


class Matrix:
    """Draws a [rows, k] matrix with random bits: the tensors `elements` and `scales` (plain layout), and
    float64 `values`."""

    def __init__(self, rng, rows, k, format, device):
        self.format = f = FORMATS[format]
        self.rows, self.k, self.device = rows, k, device
        codes = rng.integers(0, 16 if f.per_byte == 2 else 256, (rows, k), np.uint8)
        values = codes.view(f.element).astype(np.float64)
        codes[~np.isfinite(values)] = 0         # NaN and infinities are tested elsewhere
        values = codes.view(f.element).astype(np.float64)
        packed = codes[:, ::2] | codes[:, 1::2] << 4 if f.per_byte == 2 else codes
        blocks = k // f.block
        if f.is_e8m0:
            self.scale_bits = rng.integers(118, 134, (rows, blocks), np.uint8)
            factors = 2.0 ** (self.scale_bits.astype(np.float64) - 127)
        else:
            self.scale_bits = rng.integers(0x20, 0x50, (rows, blocks), np.uint8)
            factors = self.scale_bits.view(E4M3).astype(np.float64)
        self.values = values * np.repeat(factors, f.block, axis=1)
        self.elements = tensor(np.ascontiguousarray(packed), f.tensor_dtype, device)
        self.scales = self.scale_tensor(self.scale_bits)
        self.blocked = self.scale_tensor(to_blocked(self.scale_bits))

    def scale_tensor(self, bits):
        return tensor(bits, self.format.scale_dtype, self.device)


def tensor(bits, dtype, device):
    return torch.from_numpy(np.ascontiguousarray(bits)).to(device).view(dtype)


def to_blocked(bits, fill=0xFF):
    """Swizzles a matrix of scales to 32_4_4: tiles of 128 x 4 with scale (r, c) at [r % 32, r // 32, c]. Padding is
    `fill`, which is NaN as a scale."""
    return ref.tile(bits, fill).reshape(-1)


def of_row_groups(bits, ends):
    """Returns the scale tiles of each row group in sequence, plus the largest possible padding: callers that do not
    know the group ends allocate this size."""
    parts = [to_blocked(part) for part in np.split(bits, ends[:-1])[:len(ends)]
             if len(part)]
    room = (bits.shape[0] + 128 * len(ends)) * -(-bits.shape[1] // 4) * 4
    flat = np.full(room, 0xFF, np.uint8)
    used = np.concatenate(parts) if parts else flat[:0]
    flat[:len(used)] = used
    return flat.reshape(-1, -(-bits.shape[1] // 4) * 4)


def of_column_groups(bits, ends, block):
    """Same for column groups. `ends` counts elements."""
    rows, padded = bits.shape[0], -(-bits.shape[0] // 128) * 128
    starts = [0, *ends[:-1]]
    parts = [to_blocked(bits[:, s // block:e // block]) for s, e in zip(starts, ends)
             if e > s]
    columns = bits.shape[1] + 4 * len(ends)
    flat = np.full(padded * columns, 0xFF, np.uint8)
    used = np.concatenate(parts)
    flat[:len(used)] = used
    return flat.reshape(padded, columns)


def matmul(a, b):
    """Returns a * b^T in float64, and the error bound for its sums (docs/reference/Spec.md, The bound)."""
    steps = 4 * -(-a.shape[1] // 64)
    return a @ b.T, steps * 5 * 2.0 ** -23 * (np.abs(a) @ np.abs(b).T)


ROUNDINGS = {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11,
             torch.float32: 2.0 ** -24}


def check(name, found, wanted, bound):
    """Checks that a tensor equals `wanted` within the bound and the rounding to its dtype."""
    assert found.shape == wanted.shape, (name, found.shape, wanted.shape)
    y = found.detach().cpu().double().numpy()
    allowed = bound + ROUNDINGS[found.dtype] * (np.abs(wanted) + bound) + 1e-30
    worst = np.max(np.abs(y - wanted) / allowed) if y.size else 0
    assert worst <= 1, f"{name}: {worst} times what sums and rounding may lose"
