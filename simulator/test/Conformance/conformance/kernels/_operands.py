"""Operands of matrix instructions. Sums of small integers are exact in any order.
Sums of random numbers over a range of exponents depend on how the chip adds.
Random codes of a type include special values."""

import struct

from ..base import pack, random_bytes, random_words


def small(form, count, seed):
    """Returns random integers: all values of 8-bit integer types, or -8 to 7."""
    raw = random_bytes(seed, count)
    if form == "f16":
        return struct.pack(f"<{count}e", *((b & 15) - 8 for b in raw))
    if form == "bf16":
        return b"".join(struct.pack("<f", (b & 15) - 8)[2:] for b in raw)
    if form == "tf32":
        return struct.pack(f"<{count}f", *((b & 15) - 8 for b in raw))
    if form == "s8":
        return bytes((b - 128) & 255 for b in raw)
    if form == "u8":
        return raw
    codes = [0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    return bytes(eight_bits(form, codes[b & 7]) | (b & 8) << 4 for b in raw)


def eight_bits(form, value):
    """Returns the code of a small integer in e4m3 or e5m2."""
    if value == 0:
        return 0
    mantissa_bits, bias = (3, 7) if form == "e4m3" else (2, 15)
    exponent = value.hex().split("p")[1]
    exponent = int(exponent)
    fraction = value / 2**exponent - 1
    return (exponent + bias) << mantissa_bits | int(fraction * (1 << mantissa_bits))


def wild(form, count, seed):
    """Returns random numbers over a range of exponents, without infinities and NaNs."""
    size = {"f16": 2, "bf16": 2, "tf32": 4}.get(form, 1)
    words = random_words(seed, size, count)
    if form == "f16":
        words = [w & 0x83FF | (8 + (w >> 10) % 15) << 10 for w in words]
    elif form == "bf16":
        words = [w & 0x807F | (118 + (w >> 7) % 18) << 7 for w in words]
    elif form == "tf32":
        words = [w & 0x807FFFFF | (118 + (w >> 23) % 18) << 23 for w in words]
    elif form == "e4m3":
        words = [w ^ 1 if w & 0x7F == 0x7F else w for w in words]
    elif form == "e5m2":
        words = [w & 0x83 | (6 + (w >> 2) % 18) << 2 for w in words]
    return pack(size, words)


def codes(form, count, seed):
    """Returns random codes, which include infinities, NaNs and denormals."""
    return random_bytes(seed, count * {"f16": 2, "bf16": 2, "tf32": 4}.get(form, 1))
