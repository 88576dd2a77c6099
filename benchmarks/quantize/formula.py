# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quantizers' recipe in integers, on whole NumPy arrays or PyTorch tensors.

Written from the specification (docs/reference/Spec.md: recipes, scale layout) without code of
the compiler; both libraries run the same lines. Types unknown to NumPy are arrays of bits. `xp`
is the module, numpy or torch."""

# Exponent of the largest element, mantissa above which `ceil` rounds up, mantissa bits,
# smallest normal exponent, code of the largest element, code of NaN.
FORMATS = {
    "f8E4M3FN": (8, 0x600000, 3, -6, 0x7E, 0x7F),
    "f8E5M2": (15, 0x600000, 2, -14, 0x7B, 0x7F),
    "f6E3M2FN": (4, 0x600000, 2, -2, 0x1F, 0x1F),
    "f6E2M3FN": (2, 0x700000, 3, 0, 0x1F, 0x1F),
    "f4E2M1FN": (2, 0x400000, 1, 0, 0x7, 0x7),
}
SIGN_BIT = {"f8E4M3FN": 7, "f8E5M2": 7, "f6E3M2FN": 5, "f6E2M3FN": 5,
            "f4E2M1FN": 3}
INF = 0x7F800000


def cast(x, dtype):
    return x.astype(dtype) if hasattr(x, "astype") else x.to(dtype)


def full(xp, like, shape, value, dtype):
    if hasattr(like, "device") and xp.__name__ == "torch":
        return xp.full(shape, value, dtype=dtype, device=like.device)
    return xp.full(shape, value, dtype=dtype)


def widen(xp, codes, dtype):
    """Converts bits in 16- or 32-bit integers to float32."""
    if dtype == "f32":
        return codes.view(xp.float32)
    if dtype == "f16":
        return cast(codes.view(xp.float16), xp.float32)
    return (cast(codes, xp.int32) << 16).view(xp.float32)


def scale_bytes(xp, largest, element):
    """Returns E8M0 scales with `ceil` rounding, from the bits of the largest magnitudes."""
    # Only MXINT8 has scales of subnormal values, which lack the leading 1.
    emax, above = FORMATS[element][:2] if element != "i8" else (
        0, xp.where(largest >> 23 == 0, 0x7F0000, 0x7E0000))
    byte = (largest >> 23) - emax + cast((largest & 0x7FFFFF) > above, xp.int32)
    byte = xp.clip(byte, 0, 254)
    byte = xp.where(largest == INF, 254, byte)
    return cast(xp.where(largest > INF, 255, byte), xp.int32)


def power(xp, byte):
    """Returns 2^(127 - byte) from bits; NaN for 255."""
    bits = xp.where(byte == 254, 0x00400000, (254 - byte) << 23)
    return cast(xp.where(byte == 255, 0x7FC00000, bits), xp.int32).view(
        xp.float32)


def encode(xp, y, element):
    """Encodes float32 values, rounding to nearest even and saturating."""
    bits = y.view(xp.int32)
    magnitude = bits & 0x7FFFFFFF
    if element == "i8":
        bounded = xp.clip(xp.where(magnitude > INF, 0.0, y), -4.0, 4.0)
        code = xp.clip(xp.round(cast(bounded, xp.float32) * 64), -127, 127)
        return cast(cast(code, xp.int32) & 255, xp.uint8)
    _, _, mantissa, low, largest, nan = FORMATS[element]
    # Normal results: the bits, rounded at the end of the mantissa.
    drop = 23 - mantissa
    rounded = (magnitude + (1 << drop - 1) - 1 + (magnitude >> drop & 1)) >> drop
    normal = rounded - ((low + 126) << mantissa)
    # Subnormal results: multiples of the smallest subnormal.
    small = cast(xp.where(magnitude < (low + 127) << 23, magnitude, 0), xp.int32)
    unit = small.view(xp.float32) * float(2.0**(mantissa - low))
    subnormal = cast(xp.round(unit), xp.int32)
    code = xp.where(magnitude < (low + 127) << 23, subnormal, normal)
    code = xp.clip(cast(code, xp.int32), 0, largest)
    sign = ((bits >> 31) & 1) << SIGN_BIT[element]
    code = xp.where(magnitude > INF, nan, code | sign)
    return cast(code, xp.uint8)


def decode_e4m3(xp, code):
    """Decodes positive E4M3 codes to float32."""
    code = cast(code, xp.int32)
    normal = (code << 20) + (120 << 23)
    number = xp.where(code < 8, cast(code, xp.float32) * 2.0**-9,
                      cast(normal, xp.int32).view(xp.float32))
    return cast(xp.where(code == 127, float("nan"), number), xp.float32)


def nvfp4_factor(xp, largest, factor):
    """Returns the codes of the scales, and the factors of the elements."""
    a = largest.view(xp.float32)
    sixth = full(xp, a, (), 6.0, xp.float32)
    factor = full(xp, a, (), float(factor), xp.float32)
    code = encode(xp, a * (1 / sixth) * factor, "f8E4M3FN")
    scale = decode_e4m3(xp, code)
    inverse = factor / xp.where(code == 0, cast(scale * 0 + 1, xp.float32), scale)
    inverse = xp.where(inverse > 3.4028234663852886e38, 3.4028234663852886e38,
                       inverse)
    return code, cast(xp.where(code == 0, 0.0, inverse), xp.float32)


def pack(xp, codes, element):
    """Packs two 4-bit codes per byte."""
    if element != "f4E2M1FN":
        return codes
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def largest_of_squares(xp, largest, rows):
    """Returns for each block the largest magnitude in its square of `rows` rows."""
    count, blocks = largest.shape
    padded = full(xp, largest, (-(-count // rows) * rows, blocks), 0, xp.int32)
    padded[:count] = largest
    padded = padded.reshape(-1, rows, blocks)
    squares = xp.broadcast_to(xp.amax(padded, 1)[:, None], padded.shape)
    return squares.reshape(-1, blocks)[:count]


def quantize(xp, x, element, nvfp4=None, width=None, square=False, size=32):
    """Returns (elements, scale bytes) of float32 `x` with blocks of `size` along the last axis. Elements
    at index `width` and above are slack and 0, even in a block with NaN."""
    blocks = x.reshape(x.shape[0], -1, size)
    largest = xp.amax(blocks.view(xp.int32) & 0x7FFFFFFF, -1)
    if square:
        largest = largest_of_squares(xp, largest, size)
    if nvfp4 is None:
        scales = scale_bytes(xp, largest, element)
        factor = power(xp, scales)
    else:
        scales, factor = nvfp4_factor(xp, largest, nvfp4)
    codes = encode(xp, blocks * factor[..., None], element).reshape(x.shape)
    if width is not None:
        codes[:, width:] = 0
    return pack(xp, codes, element), cast(scales, xp.uint8)


MAXIMA = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}


def quantize_f32(xp, x, element, rows, size):
    """Returns (elements, f32 scales) of float32 `x` with blocks of `rows` whole rows and `size` columns."""
    blocks = x.reshape(x.shape[0] // rows, rows, -1, size)
    number = lambda value: full(xp, x, (1,), value, xp.float32)
    # Division by a tensor is exact, division by a number may multiply by its reciprocal.
    scales = xp.amax(blocks.view(xp.int32) & 0x7FFFFFFF, (1, 3)).view(xp.float32) / number(MAXIMA[element])
    scales = xp.where(xp.isnan(scales), number(float("nan")), scales)
    inverse = xp.minimum(number(1) / scales, number(3.4028234663852886e38))
    factor = xp.where(scales == 0, number(0), inverse)
    return encode(xp, (blocks * factor[:, None, :, None]).reshape(x.shape), element), scales


def lay_out_f32(xp, scales, rows):
    """Returns the bytes of f32 scales: row-major for blocks of several `rows`, otherwise in layout mn_major."""
    if rows > 1:
        return scales.view(xp.uint8)
    count, blocks = scales.shape
    padded = full(xp, scales, (blocks, -(-count // 4) * 4), 0, xp.float32)
    padded[:, :count] = scales.T
    return padded.view(xp.uint8).reshape(blocks, -1, 16)


def tile(xp, scales):
    """Returns scales in layout sf_128x4: scale (r, c) is in tile (r / 128, c / 4) at
    [r % 32, r / 32 % 4, c % 4]. Padding is 0."""
    rows, blocks = scales.shape
    tall, wide = -(-rows // 128), -(-blocks // 4)
    padded = full(xp, scales, (tall * 128, wide * 4), 0, xp.uint8)
    padded[:rows, :blocks] = scales
    parts = padded.reshape(tall, 4, 32, wide, 4)
    order = (0, 3, 2, 1, 4)
    return (parts.permute(order).contiguous() if hasattr(parts, "permute")
            else parts.transpose(order).copy())


def fma(xp, a, b, c):
    """Returns a * b + c in float32, rounded once: the multiplication is exact in float64, and
    the sum is rounded to odd before the final rounding."""
    wide = lambda v: cast(v, xp.float64) if hasattr(v, "dtype") else v
    product, c = wide(a) * wide(b), wide(c)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    bits = total.view(xp.int64)
    away = cast((error > 0) == (total > 0), xp.int64) * 2 - 1
    odd = xp.where((error != 0) & (bits & 1 == 0), bits + away, bits)
    total = xp.where(xp.isfinite(total), odd.view(xp.float64), total)
    return cast(total, xp.float32)


# docs/reference/Math.md: coefficients of 2^f, highest degree first.
POWER = ("0x1.5bb8dp-10", "0x1.3cea6p-7", "0x1.c6b754p-5", "0x1.ebf9c8p-3",
         "0x1.62e42ap-1", "0x1p0")


def swiglu(xp, gate, up):
    """Returns silu(gate) * up in float32, with the operations of docs/reference/Math.md."""
    number = float.fromhex
    x = xp.clip(gate, -87.0, 87.0)
    rounded = fma(xp, x, -number("0x1.715476p+0"), 12582912.0)
    fraction = fma(xp, x, -number("0x1.715476p+0"), 12582912.0 - rounded)
    fraction = fma(xp, x, -number("0x1.4ae0cp-26"), fraction)
    power = number(POWER[0])
    for term in POWER[1:]:
        power = fma(xp, fraction, power, number(term))
    two = ((rounded.view(xp.int32) << 23) + 0x3F800000).view(xp.float32)
    sigmoid = 1.0 / fma(xp, power, two, 1.0) - number("0x1.666d0ep-126")
    return gate * sigmoid * up


def to_bf16(xp, x):
    """Rounds float32 to bf16 and widens again; NaN stays NaN."""
    bits = x.view(xp.int32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000
    is_nan = (bits & 0x7FFFFFFF) > INF
    return cast(xp.where(is_nan, 0x7FFF0000, rounded), xp.int32).view(xp.float32)
