"""Compares the host codecs with numpy and ml_dtypes for every code, every bf16 value, values near every rounding
boundary and random binary32 values.

ml_dtypes does not saturate in casts to narrow floats, so values are clipped to the format's range first."""
# REQUIRES: numpy
# RUN: %python %s %mx_obj/unittests/mx-codec-dump

import subprocess
import sys

import ml_dtypes
import numpy as np

DUMP = sys.argv[1]
np.seterr(all="ignore")

FORMATS = {  # name: (type, largest value, NaN code, mantissa bits)
    "e4m3": (ml_dtypes.float8_e4m3fn, 448.0, 0x7F, 3),
    "e5m2": (ml_dtypes.float8_e5m2, 57344.0, 0x7F, 2),
    "e3m2": (ml_dtypes.float6_e3m2fn, 28.0, 0x1F, 2),
    "e2m3": (ml_dtypes.float6_e2m3fn, 7.5, 0x1F, 3),
    "e2m1": (ml_dtypes.float4_e2m1fn, 6.0, 0x07, 1),
}
IEEE = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}


def dump(dtype, *args, data=np.empty(0, np.float32)):
    done = subprocess.run([DUMP, *args], input=data.tobytes(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, dtype)


def expect_equal(what, inputs, found, expected):
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        i = wrong[0]
        sys.exit(
            f"{what}: {len(wrong)} of {len(found)} differ, first for "
            f"{inputs.reshape(len(found), -1)[i]}: expected {expected[i]}, "
            f"found {found[i]}"
        )
    print(f"{what}: {len(found)} equal")


def bits(x):
    return np.ascontiguousarray(x, np.float32).view(np.uint32)


def narrow(name, x):
    """Returns the codes of float32 values, rounded to nearest even and saturated."""
    dtype, top, nan, _ = FORMATS[name]
    clipped = np.clip(np.nan_to_num(x, nan=0, posinf=top, neginf=-top), -top, top)
    codes = clipped.astype(dtype).view(np.uint8)
    return np.where(np.isnan(x), np.uint8(nan), codes)


def inputs():
    """Returns all bf16 values, all values near a code or near the midpoint of two
    adjacent codes, and random bits."""
    rng = np.random.default_rng(0)
    every_bf16 = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)
    parts = [every_bf16]
    for name in [*FORMATS, *IEEE]:
        values = np.unique(dump(np.float32, "decode", name))
        values = values[np.isfinite(values)].astype(np.float64)
        middles = (values[1:] + values[:-1]) / 2
        centers = bits(np.concatenate([values, middles]).astype(np.float32))
        for step in range(-3, 4):
            parts.append((centers + np.uint32(step % 2**32)).view(np.float32))
    parts.append(rng.integers(0, 2**32, 2_000_000, np.uint32).view(np.float32))
    return np.concatenate(parts)


def check_codecs(x):
    for name, (dtype, top, nan, _) in FORMATS.items():
        codes = dump(np.float32, "decode", name)
        expected = np.arange(len(codes), dtype=np.uint8).view(dtype).astype(np.float32)
        same = (codes == expected) & (np.signbit(codes) == np.signbit(expected))
        assert np.all(same | (np.isnan(codes) & np.isnan(expected))), name
        expect_equal(
            f"encode {name}", x, dump(np.uint16, "encode", name, data=x), narrow(name, x)
        )
    for name, dtype in IEEE.items():
        expected = x.astype(dtype).view(np.uint16)
        expected = np.where(np.isnan(x), np.uint16(0x7FFF), expected)
        expect_equal(
            f"encode {name}", x, dump(np.uint16, "encode", name, data=x), expected
        )
        codes = dump(np.float32, "decode", name)
        expected = np.arange(65536, dtype=np.uint16).view(dtype).astype(np.float32)
        nan = np.isnan(codes) & np.isnan(expected)
        assert np.all((bits(codes) == bits(expected)) | nan), name
    e8m0 = dump(np.float32, "decode", "ue8m0")
    expected = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu)
    assert np.array_equal(e8m0, expected.astype(np.float32), equal_nan=True)
    scaled = np.clip(np.rint(np.nan_to_num(x.astype(np.float64) * 64)), -127, 127)
    expect_equal("encode int8", x, dump(np.int8, "int8", data=x), scaled)
    for mode, up in (("up", True), ("down", False)):
        expect_equal(
            f"encode ue8m0 {mode}", x, dump(np.uint8, "e8m0", mode, data=x), e8m0_of(x, up)
        )


def e8m0_of(x, up):
    """Returns the E8M0 code of |x| rounded down or up to a power of two."""
    a = np.abs(x.astype(np.float64))
    mantissa, exponent = np.frexp(np.where(np.isfinite(a) & (a > 0), a, 1.0))
    exact = mantissa == 0.5
    code = exponent - 1 + 127 + np.where(up & ~exact, 1, 0)
    code = np.clip(code, 0, 254)
    code = np.where(a == 0, 0, np.where(np.isinf(a), 254, code))
    return np.where(np.isnan(a), 255, code)


def main():
    x = inputs()
    check_codecs(x)


main()
