# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What codes stand for, bit by bit."""

# Exponent bits, mantissa bits, bias.
FORMATS = {"f8E4M3FN": (4, 3, 7), "f8E5M2": (5, 2, 15), "f6E2M3FN": (2, 3, 1),
           "f6E3M2FN": (3, 2, 3), "f4E2M1FN": (2, 1, 1)}


def decode(name, code):
    """NaN and infinities where the format has them."""
    exponent_bits, mantissa_bits, bias = FORMATS[name]
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    if name == "f8E4M3FN" and code & 0x7F == 0x7F:
        return float("nan")
    if exponent == 0:
        value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
    else:
        value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
    if name == "f8E5M2" and exponent == 31:
        value = float("nan") if mantissa else float("inf")
    return -value if code >> (exponent_bits + mantissa_bits) else value


def values(name):
    """Of each code, in order."""
    exponent_bits, mantissa_bits, _ = FORMATS[name]
    return [decode(name, code) for code in range(2 << exponent_bits + mantissa_bits)]
