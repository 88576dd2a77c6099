# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mx operations in numpy and ml_dtypes, in float64.

The formulas come from the specification (OCP MX v1.0; PTX ISA, cvt and tcgen05 scale factor layouts); no code of the
compiler is used. Arrays of elements and scales contain codes, one per uint8.
"""

import element_functions
import ml_dtypes
import numpy as np

# Element type: ml_dtypes' type, largest value and its exponent, stored mantissa bits, code of NaN.
ELEMENTS = {
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, 448.0, 8, 3, 0x7F),
    "f8E5M2": (ml_dtypes.float8_e5m2, 57344.0, 15, 2, 0x7F),
    "f6E3M2FN": (ml_dtypes.float6_e3m2fn, 28.0, 4, 2, 0x1F),
    "f6E2M3FN": (ml_dtypes.float6_e2m3fn, 7.5, 2, 3, 0x1F),
    "f4E2M1FN": (ml_dtypes.float4_e2m1fn, 6.0, 2, 1, 0x7),
    "i8": (None, 127 / 64, 0, 6, 0),
}


def f32(x):
    return np.asarray(x, np.float32)


def block_scale(a, element, rounding):
    """Returns the E8M0 scales of blocks with the largest magnitudes `a` (float32)."""
    _, largest, emax, mantissa, _ = ELEMENTS[element]
    a = f32(a)
    finite = np.where(np.isfinite(a), a, 0).astype(np.float64)
    if rounding == "ceil":
        reciprocal = np.float32(1.0) / np.float32(largest)
        t = (f32(finite) * reciprocal).astype(np.float64)
        m, e = np.frexp(t)  # t = m * 2^e with m in [1/2, 1)
        byte = np.where(t == 0, 0, np.where(m > 0.5, e, e - 1) + 127)
    else:
        # The exponent field is 0 below 2^-126.
        tiny = finite < 2.0**-126
        _, e = np.frexp(np.where(tiny, 1.0, finite))
        field = np.where(tiny, 0, e + 126)
        if rounding == "fit" and largest == 448:
            # 464 is the largest number that rounds to 448.
            field += ~tiny & (finite / 2.0 ** (e - 1.0) > 464 / 256)
        elif rounding in ("even", "fit"):
            # Adding half a unit of the element's mantissa may carry into the exponent.
            unit = 2.0 ** np.where(tiny, -126.0, e - 1.0)
            top = np.where(tiny, 1.0, 2.0)
            field += finite / unit + 2.0 ** -(mantissa + 1) >= top
        byte = field - emax
    byte = np.clip(byte, 0, 254)
    return np.where(np.isnan(a), 255, np.where(np.isinf(a), 254, byte)).astype(
        np.uint8)


def encode(y, element):
    """Converts float32 numbers to codes, rounded to nearest even and saturated."""
    dtype, largest, _, _, nan = ELEMENTS[element]
    y = f32(y)
    if element == "i8":
        bounded = np.clip(np.where(np.isnan(y), 0, y), -4.0, 4.0)
        scaled = np.clip(np.rint(bounded * 64), -127, 127)
        return scaled.astype(np.int8).view(np.uint8)
    bounded = np.clip(np.where(np.isnan(y), 0, y), -largest, largest)
    codes = f32(bounded).astype(dtype).view(np.uint8)
    return np.where(np.isnan(y), nan, codes).astype(np.uint8)


def decode(codes, element):
    if element == "i8":
        return codes.view(np.int8).astype(np.float64) / 64
    dtype = ELEMENTS[element][0]
    bits = np.dtype(dtype).itemsize * 8 if element.startswith("f8") else int(
        element[1])
    return (codes & (2**bits - 1)).astype(np.uint8).view(dtype).astype(
        np.float64)


def decode_scale(bytes_, nvfp4=False):
    if nvfp4:
        return (bytes_ & 0x7F).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    return np.where(bytes_ == 255, np.nan,
                    np.exp2(bytes_.astype(np.float64) - 127))


def thread_amax(blocks):
    bits = (blocks.view(np.uint32) & 0x7FFFFFFF).max(axis=-1)
    return bits.astype(np.uint32).view(np.float32)


def share_in_squares(a, size):
    """Returns, for each row, the maximum of `a` over its block of `size` rows."""
    rows, blocks = a.shape
    bits = np.zeros((-(-rows // size) * size, blocks), np.uint32)
    bits[:rows] = a.view(np.uint32)
    largest = bits.reshape(-1, size, blocks).max(axis=1)
    return np.repeat(largest, size, axis=0)[:rows].view(np.float32)


def quantize(x, element, rounding="ceil", nvfp4_encode=None, square=False, size=None):
    """Quantizes float32 `x` to elements and scales, in blocks along the last axis or in square blocks. The last block
    of a row may be short."""
    size = size or (32 if nvfp4_encode is None else 16)
    width = x.shape[-1]
    padded = -(-width // size) * size
    full = np.zeros((*x.shape[:-1], padded), np.float32)
    full[..., :width] = x
    blocks = full.reshape(*x.shape[:-1], padded // size, size)
    a = thread_amax(blocks)
    if square:
        a = share_in_squares(a, size)
    with np.errstate(all="ignore"):
        if nvfp4_encode is None:
            scales = block_scale(a, element, rounding)
            factor = np.where(scales == 255, np.nan,
                              np.exp2(127.0 - scales))[..., None]
            y = f32(blocks.astype(np.float64) * factor)
        else:
            enc = np.float32(nvfp4_encode)
            t = a * (np.float32(1) / np.float32(6)) * enc
            scales = encode(t, "f8E4M3FN")
            value = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
            inverse = np.minimum(enc / value, np.finfo(np.float32).max)
            inverse = np.where(value == 0, np.float32(0), inverse)
            y = blocks * f32(inverse)[..., None]
    elements = encode(y, element).reshape(*x.shape[:-1], padded)
    return elements[..., :width].copy(), scales


def quantize_f32(x, element, rounding="exact", size=128, rows=1):
    """Quantizes float32 `x` to elements and f32 scales of `rows` rows and `size` columns. The last block of a row or
    column may be short. `rounding` may be a function of the exact scales."""
    height, width = x.shape
    full = np.zeros((-(-height // rows) * rows, -(-width // size) * size), np.float32)
    full[:height, :width] = x
    blocks = full.reshape(len(full) // rows, rows, -1, size)
    with np.errstate(all="ignore"):
        a = thread_amax(np.ascontiguousarray(blocks.swapaxes(1, 2)).reshape(len(blocks), -1, rows * size))
        scales = a / np.float32(ELEMENTS[element][1])
        if callable(rounding):
            scales = f32(rounding(scales))
        if rounding == "ceil":
            up = ((scales.view(np.uint32) + 0x7FFFFF) & 0xFF800000).astype(np.uint32).view(np.float32)
            scales = np.where(np.isnan(scales), scales, up)
        scales[np.isnan(scales)] = np.float32(np.nan)
        factor = np.minimum(np.float32(1) / scales, np.finfo(np.float32).max)
        y = blocks * np.where(scales == 0, np.float32(0), factor)[:, None, :, None]
    return encode(y, element).reshape(full.shape)[:height, :width].copy(), scales


def spreads(x, element, rounding, size):
    """Returns the difference of the largest and the smallest scale of the groups of 32 elements in each block, except
    groups of zeros and of NaN."""
    scales = quantize(x, element, rounding)[1].astype(int)
    padded = np.zeros((*scales.shape, 32), np.float32)
    padded.reshape(*x.shape[:-1], -1)[..., :x.shape[-1]] = x
    scales[(scales == 255) | (padded == 0).all(-1)] = -1
    blocks = -(-x.shape[-1] // size)
    wide = np.full((*x.shape[:-1], blocks, -(-size // 32)), -1)
    wide.reshape(*x.shape[:-1], -1)[..., :scales.shape[-1]] = scales
    return (wide.max(-1) - np.where(wide < 0, wide.max(-1, keepdims=True), wide).min(-1)).astype(np.uint8)


def round_to(value, dtype):
    """Rounds float64 once, to nearest even, and returns the bits of the result with the canonical NaN."""
    with np.errstate(all="ignore"):
        rounded = element_functions.round_to(np.asarray(value, np.float64), dtype)
        bits = element_functions.get_bits(rounded, dtype)
    return bits.astype(f"u{element_functions.BITS[dtype] // 8}")


def real(elements, scales, element, nvfp4=False):
    """Returns element * scale in float64."""
    size = 16 if nvfp4 else 32
    width = elements.shape[-1]
    with np.errstate(all="ignore"):
        wide = np.repeat(decode_scale(scales, nvfp4), size, axis=-1)
        return decode(elements, element) * wide[..., :width]


def tile(scales, slack=0):
    """Converts rows x blocks to the sf_128x4 layout."""
    *batch, rows, blocks = scales.shape
    r, c = -(-rows // 128), -(-blocks // 4)
    full = np.full((*batch, r * 128, c * 4), slack, np.uint8)
    full[..., :rows, :blocks] = scales
    # (tile row, r / 32 % 4, r % 32, tile column, c % 4)
    parts = full.reshape(*batch, r, 4, 32, c, 4)
    n = len(batch)
    order = [*range(n), n, n + 3, n + 2, n + 1, n + 4]
    return np.ascontiguousarray(parts.transpose(order))


def untile(tiles, rows, blocks):
    """Reads rows x blocks scales from the sf_128x4 layout."""
    flat = np.moveaxis(tiles, -2, -4).swapaxes(-3, -2)
    flat = flat.reshape(*tiles.shape[:-5], tiles.shape[-5] * 128, tiles.shape[-4] * 4)
    return flat[..., :rows, :blocks]


def tile_rows(scales, ends, slack=0):
    """Converts scales of ragged rows to the sf_128x4 layout: group g starts at tile row begin/128 + g."""
    rows, blocks = scales.shape
    out = np.full((rows // 128 + len(ends), -(-blocks // 4), 32, 4, 4), slack, np.uint8)
    begin = 0
    for g, end in enumerate(ends):
        tiles = tile(scales[begin:end], slack)
        first = begin // 128 + g
        out[first:first + len(tiles)] = tiles
        begin = end
    return out


def defined_tiles(ends):
    """Returns the indices of the tiles that contain rows of groups."""
    return np.concatenate([
        np.arange(b // 128 + g, b // 128 + g + -(-(e - b) // 128), dtype=int)
        for g, (b, e) in enumerate(zip([0, *ends[:-1]], ends))])


def quantize_groups(x, ends, quantize, block=32):
    """Quantizes the columns of each group of rows, in segments of whole tiles."""
    columns, width = x.shape[1], capacity(len(x), len(ends))
    parts = [quantize(np.ascontiguousarray(x[begin:end].T)) for begin, end in zip([0, *ends[:-1]], ends)]
    elements, scales = np.zeros((columns, width), np.uint8), np.zeros((columns, width // block), parts[0][1].dtype)
    for start, (q, s) in zip(group_starts(ends), parts):
        elements[:, start:start + q.shape[1]] = q
        scales[:, start // block:start // block + s.shape[1]] = s
    return elements, scales


def gather(x, index):
    """Gathers rows by index. Negative indices select zeros."""
    return np.where(index[:, None] < 0, x.dtype.type(0), x[np.maximum(index, 0)])


def largest(x):
    """Returns the bits of the largest magnitude of float32 numbers. A NaN is larger than any number."""
    bits = (np.ascontiguousarray(x).view(np.uint32) & 0x7FFFFFFF).max(initial=0)
    return np.array(0x7FFFFFFF if bits > 0x7F800000 else bits, np.uint32)


def group_starts(ends):
    """Returns the starts of the groups of a ragged reduction."""
    sizes = np.diff([0, *ends])
    return np.cumsum([0, *(-(-sizes // 128) * 128)])


def capacity(total, groups):
    return -(-(total + 127 * groups) // 128) * 128


def pack(codes, element):
    """Packs element codes as arrays store them: two f4 codes per byte, and i8 codes as signed bytes."""
    if element == "i8":
        return codes.view(np.int8)
    if element != "f4E2M1FN":
        return codes
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack(data, element):
    """Unpacks element codes."""
    data = data.view(np.uint8)
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1) if element == "f4E2M1FN" else data
