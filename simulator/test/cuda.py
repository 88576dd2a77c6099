#!/usr/bin/env python3
"""Compiles CUDA programs for sm_100a with default options and with -G, runs them on
the simulator, and compares the results with the host.

RUN: %python %s %t
REQUIRES: nvcc, numpy
"""

import json
import math
import os
import subprocess
import sys

import ml_dtypes
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.setrecursionlimit(10000)


def run(directory, name, flags, buffers, launches):
    """Compiles, launches, and returns the final contents of the buffers and
    the output of the kernels. A buffer is an array, or its dtype and length."""
    ptx = os.path.join(directory, name + ".ptx")
    subprocess.run(["nvcc", "-ptx", "-std=c++17", "-arch=sm_100a", *flags, "-o", ptx,
                    os.path.join(HERE, "Inputs", "cuda", name + ".cu")],
                   check=True, stderr=subprocess.DEVNULL)
    described, outputs = {}, {}
    for key, value in buffers.items():
        if isinstance(value, np.ndarray):
            np.save(os.path.join(directory, key + ".npy"), value)
            described[key] = {"file": key + ".npy"}
        else:
            kind, count = value
            described[key] = {"bytes": count * int(kind[1:]) // 8}
            outputs[key] = {"file": key + ".npy", "dtype": kind}
    launch = os.path.join(directory, name + ".json")
    with open(launch, "w") as f:
        json.dump({"buffers": described, "outputs": outputs, "launches": [
            {"kernel": kernel, "grid": [grid], "block": [block],
             "args": [{"buffer": a} if isinstance(a, str) else {"i32": a} for a in args],
             **{key: True for key in keys}}
            for kernel, grid, block, args, *keys in launches]}, f)
    done = subprocess.run(["mx-sim", ptx, launch], check=True, stdout=subprocess.PIPE, text=True)
    return {key: np.load(os.path.join(directory, key + ".npy")) for key in outputs}, done.stdout


def s32(x):
    return (x + 2**31) % 2**32 - 2**31


def expect(what, found, wanted):
    if not np.array_equal(found, wanted):
        k = np.argwhere(np.asarray(found) != np.asarray(wanted))[0]
        sys.exit(f"{what}{k}: {found[tuple(k)]}, expected {np.asarray(wanted)[tuple(k)]}")


def calls(directory, flags):
    out, _ = run(directory, "calls", flags, {"o": ("i32", 192 * 16)}, [("k", 3, 64, ["o", 3])])

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def ackermann(m, n):
        return n + 1 if not m else ackermann(m - 1, 1 if not n else ackermann(m, n - 1))

    rows = []
    for t in range(192):
        digest = 0
        for x in sorted((i * 7 + t * 13) % 31 for i in range(20)):
            digest = digest * 3 + x
        big = list(range(10))
        for d in range(t % 6, 0, -1):
            big = [big[i] + d * i for i in range(10)]
        rows.append([fib(t % 13), ackermann(2, t % 5), s32(digest), [t + 5, t * 5, t - 5][t % 3],
                     t * t + 7 if t & 1 else t * (t + 1) - 7, int(t % 17 % 2 == 0),
                     big[9], big[3], 21 if t % 7 == 3 else -1])
    expect("calls", out["o"].reshape(192, 16)[:, :9], rows)


FUNCTIONS = [
    math.sin, math.cos, math.tan, math.exp, lambda v: math.log(abs(v)),
    lambda v: abs(v) ** 1.7, lambda v: math.sqrt(abs(v)),
    lambda v: math.copysign(abs(v) ** (1 / 3), v), lambda v: math.atan2(v, 2),
    lambda v: math.asin(v * 0.01), math.erf, lambda v: math.gamma(abs(v) * 0.1 + 1),
    lambda v: math.lgamma(abs(v) + 1), lambda v: math.fmod(v, 3),
    lambda v: math.remainder(v, 3), math.floor, round, lambda v: math.log1p(abs(v)),
    math.expm1, lambda v: math.sinh(v * 0.1), lambda v: 2.0**v, lambda v: 10.0 ** (v * 0.1),
    lambda v: math.hypot(v, 3), lambda v: 1 / math.sqrt(abs(v))]
FUNCTIONS_F64 = [
    math.sin, math.cos, math.exp, lambda v: math.log(abs(v)), lambda v: abs(v) ** 1.7,
    lambda v: math.sqrt(abs(v)), lambda v: v / 3, lambda v: 1 / v, math.tan, math.atan, math.erf,
    lambda v: math.fmod(v, 3), lambda v: math.copysign(abs(v) ** (1 / 3), v),
    lambda v: math.sinh(v * 0.1), lambda v: math.lgamma(abs(v) + 1), lambda v: 2.0**v]


def library(directory, flags):
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(256) * 20).astype("f4")
    xd = rng.standard_normal(256) * 20
    data = rng.integers(0, 1000, 512).astype("i4")
    out, text = run(
        directory, "library", flags,
        {"x": x, "xd": xd, "in": data, "o": ("f32", 256 * 24), "od": ("f64", 256 * 16),
         "scan": ("i32", 128), "keys": ("i32", 512), "places": ("i32", 512), "sum": ("f32", 1),
         "groups": ("i32", 640), "heap": ("i32", 64)},
        [("math", 2, 128, ["x", "xd", "o", "od", 256]),
         ("scan", 1, 128, ["in", "scan", "keys", "places", "sum"]),
         ("coop", 1, 128, ["groups"]), ("heap", 1, 32, ["heap"])])
    for values, found, functions, bound in ((x, out["o"], FUNCTIONS, 2e-6),
                                            (xd, out["od"], FUNCTIONS_F64, 2e-13)):
        for k, f in enumerate(functions):
            wanted = np.array([f(float(v)) for v in values])
            error = np.abs(found.reshape(256, -1)[:, k] - wanted) / np.maximum(np.abs(wanted), 1e-30)
            if not error.max() <= bound:
                sys.exit(f"function {k}: relative error {error.max()}")
    expect("scan", out["scan"], np.concatenate([[0], np.cumsum(data[:127])]))
    expect("keys", out["keys"], np.sort(data))
    expect("places", data[out["places"]], np.sort(data))
    expect("sum", out["sum"], [data[:128].sum()])
    groups, t = out["groups"].reshape(5, 128), np.arange(128)
    expect("reduce", groups[0], t.reshape(-1, 16).sum(1).repeat(16))
    expect("coalesced", groups[2], np.where(t % 2, 16, -1))
    expect("optional", groups[3], np.where(t > 5, t, 1 + t % 4))
    expect("atomic", groups[4], np.full(128, t.sum()))
    expect("malloc", out["heap"], np.concatenate([120 * np.arange(32), np.arange(32)]))
    lines = [f"thread {t} of block: {t * 0.5:5.2f} {t << 33} {chr(97 + t % 26)} {t * 17:x}%"
             for t in range(32)]
    if text.splitlines() != lines:
        sys.exit("printf: " + text)


def formats(directory, flags):
    data = np.random.default_rng(1).integers(0, 1000, 512).astype("i4")
    out, _ = run(directory, "formats", flags,
                 {"in": data, "o": ("i32", 512), "f": ("f32", 512), "copied": ("i32", 256),
                  "cluster": ("i32", 128), "block": ("i32", 160)},
                 [("e1", 1, 64, ["o", "f", "in"]), ("e2", 1, 128, ["in", "copied"]),
                  ("e3", 4, 32, ["cluster"]), ("e5", 1, 64, ["in", "block"])])

    def to(kind, v):
        return float(np.float32(v).astype(kind))

    rows, floats = [], []
    for t in range(64):
        h = np.float16(t * 0.25)
        b = to(ml_dtypes.bfloat16, np.float32(t) * np.float32(1.1))
        floats.append([float(h * np.float16(1.5)) + float(np.sqrt(h)),
                       to(ml_dtypes.bfloat16, 2 * b),
                       to(ml_dtypes.float8_e4m3fn, np.float32(t) * np.float32(0.3)),
                       t * t - 1.0, t * t + 1.0])
        digest = 0
        for v in sorted(int(data[(t * 16 + i) % 512]) for i in range(16)):
            digest = digest * 5 + v
        packed = t * 0x01010101
        signed = [((packed >> 8 * i & 255) ^ 128) - 128 for i in range(4)]
        bits = (bin(t * 12345).count("1") + 32 - t.bit_length() + int(f"{t:032b}"[::-1], 2) % 7
                + (t & -t).bit_length() + (t | (t * 77 & 0xFFFF) << 16) % 101)
        rows.append([s32(digest), sum(i * t + 1 for i in range(5)) + sum(v ^ t for v in range(4)),
                     (t & 7) + 6, sum(map(ord, ["a", "bc", "def"][t % 3])), bits,
                     t + sum(a * b for a, b in zip(signed, (4, 3, 2, 1))),
                     [11, 22, t * 3, -t, t << 2, 99, t ^ 5, 7, 0][t % 9],
                     t * 1000003 // 7 % 1000 + t * 1000003 % 13])
    expect("integers", out["o"].reshape(64, 8), rows)
    found = out["f"].reshape(64, 8)[:, [0, 1, 2, 5, 6]]
    if not np.allclose(found, floats, rtol=1e-5, atol=1e-5):
        sys.exit(f"floats: {found - np.array(floats)}")
    expect("pipeline", out["copied"][:128], data[127::-1] + data[255:127:-1])
    expect("memcpy_async", out["copied"][128:], np.roll(data[256:384], -1))
    expect("cluster", out["cluster"].reshape(4, 32),
           [[100 + (b & 1 ^ 1) + t for t in range(32)] for b in range(4)])
    block, v = out["block"], data[:256]
    expect("histogram", block[:16], np.bincount(v & 15, minlength=16))
    expect("warp scan", block[16:80],
           np.concatenate([np.cumsum(v[0:128:4]), np.cumsum(v[128:256:4])]))
    expect("warp reduce", block[80:82], [v[1:128:4].max(), v[129:256:4].max()])
    heads = np.concatenate([[1], (v[1:] != v[:-1]).astype(int)]).reshape(64, 4)
    expect("heads", block[82:146], (heads * [1, 2, 4, 8]).sum(1))


def wmma(directory, flags):
    """Computes 3 * (2 A) @ B + C. All elements and sums are exact."""
    m, n, k = 64, 32, 48
    draw = np.random.default_rng(2)
    whole = {"A": draw.integers(-8, 8, (m, k)), "B": draw.integers(-8, 8, (k, n)),
             "C": draw.integers(-1000, 1000, (m, n))}
    wanted = 6 * whole["A"].astype("f8") @ whole["B"] + whole["C"]
    for kernel, tile, factor, result in (
            ("half_rc", (16, 16), "f2", "f4"), ("half_cr", (8, 32), "f2", "f4"),
            ("bfloat_rr", (32, 8), ml_dtypes.bfloat16, "f4"), ("tf32_cc", (16, 16), "f4", "f4"),
            ("double_rc", (8, 8), "f8", "f8"), ("bytes_cc", (32, 8), "i1", "i4")):
        a, b = whole["A"].astype(factor), whole["B"].astype(factor)
        layouts = kernel.split("_")[1]
        inputs = {"A": a.T if layouts[0] == "c" else a, "B": b.T if layouts[1] == "c" else b,
                  "C": whole["C"].astype(result)}
        inputs = {key: np.frombuffer(v.tobytes(), "u1") for key, v in inputs.items()}
        bits = {"f4": "f32", "f8": "f64", "i4": "i32"}[result]
        out, _ = run(directory, "wmma", flags, {**inputs, "D": (bits, m * n)},
                     [(kernel, m // tile[0] * (n // tile[1]), 32, ["A", "B", "C", "D", m, n, k])])
        expect(kernel, out["D"].reshape(m, n), wanted)


def grid(directory, flags):
    data = np.random.default_rng(3).integers(0, 1000, 500).astype("i4")
    work = {key: ("i32", 500) for key in ("a", "b", "o")}
    out, _ = run(directory, "grid", flags, {"in": data, **work},
                 [("scan", 8, 64, ["in", "a", "b", "o", 500], "cooperative")])
    expect("scan", out["o"], np.cumsum(data))


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    for program in (calls, library, formats, wmma, grid):
        for flags in ([], ["-G"]):
            program(directory, flags)


if __name__ == "__main__":
    main()
