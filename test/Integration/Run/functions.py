"""Tests every function that mx-expand-math expands. The simulator returns the bits of the CPU path, and errors are
within the bounds in docs/reference/Math.md.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

Inputs are f32 values with every exponent, at random and at edges, and all values of bf16 and f16. MX_MATH_ROUNDS sets
the number of additional rounds with random inputs.
"""

import os
import sys

import numpy as np
from chips import adapt_schedule
from harness import Harness
from math_bounds import read_bounds
from math_oracle import FUNCTIONS, LONG, TYPES, check_oracle, measure

test = Harness("mx_run", "folder", "*names")
only = test.names
ROUNDS = int(os.environ.get("MX_MATH_ROUNDS", "1"))
SIZE = 256  # rows and columns: all 16-bit values
BINARY = {"atan2": "f", "powf": "f", "fpowi": "i"}
NAMES = [name for name in sorted(FUNCTIONS) if not only or name in only]

MATMUL = """
  %{name} = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%none : !z)
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !z
  epilogue {{
  ^bb0(%acc: f32, %row: index, %col: index):
    %e = tensor.extract %x[%row, %col] : !x
    %f = tensor.extract %y[%row, %col] : !x
    %i = tensor.extract %n[%row, %col] : !n
    %v = math.{name} %e{more} : {type}{types}
    {widened}
    mx.yield %w : f32
  }}"""
PROGRAM = """
!x = tensor<256x256x{type}>
!z = tensor<256x256xf32>
!n = tensor<256x256xi32>
!a = tensor<256x32xf8E4M3FN>
!s = tensor<256x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x: !x, %y: !x, %n: !n, %a: !a, %s: !s) -> ({zs}) {{
  %none = tensor.empty() : !z
{matmuls}
  return {results} : {zs}
}}
"""


def make_program(dtype, names):
    matmuls = ""
    for name in names:
        kind = BINARY.get(name)
        matmuls += MATMUL.format(
            name=name, type=dtype, schedule=adapt_schedule("tile = [128, 128, 128], stages = 2, epilogue = direct"), more={None: "", "f": ", %f", "i": ", %i"}[kind],
            types=", i32" if kind == "i" else "",
            widened="%w = arith.bitcast %v : f32 to f32" if dtype == "f32" else f"%w = arith.extf %v : {dtype} to f32")
    return PROGRAM.format(type=dtype, matmuls=matmuls, zs=", ".join(["!z"] * len(names)),
                          results=", ".join("%" + name for name in names))


def run(device, dtype, names, x, y, n):
    zeros = np.zeros((SIZE, 32), np.uint8), np.zeros((SIZE // 128, 1, 32, 4, 4), np.uint8)
    arrays = [array.reshape(SIZE, SIZE) for array in (x, y, n)] + [*zeros]
    found = test.run(make_program(dtype, names), arrays, len(names), device=device, sms=2)
    return {name: array.ravel() for name, array in zip(names, found)}


EDGES = [0, 1, 2, 3, 0.5, 0.25, 1 / 3, 0.75, 1.5, 2.5, 10, 87, 88, 88.72283, 88.72284, 89, 89.41599, 89.5, 100, 103.97,
         104, 105, 126, 127, 128, 149, 149.5, 150, 150.5, 151, 3.9, 4, 9.19, 10.05, 10.06, 11, 12, 1000, 4846.6, 1e5, 1e9, 1e20,
         np.pi / 4, np.pi / 2, np.pi, 2 * np.pi, 5.8e-8, 1e-40, 2.0**-149, 2.0**-148, 2.0**-127, 2.0**-126, 2.0**-24, 2.0**-20,
         2.0**-12, 2.0**23, 2.0**24, 2.0**31, 2.0**127, 3.4028234e38, np.sqrt(0.5), np.sqrt(2), 16367173 * 2.0**72,
         np.inf, np.nan]


def make_floats(rng, count):
    """Returns edge cases and adjacent numbers, several significands for each exponent, and random bits."""
    edges = np.float32(EDGES)
    edges = np.concatenate([edges, np.nextafter(edges, np.float32(0)), np.nextafter(edges, np.float32(np.inf))])
    few = np.uint32([0, 1, 2, 0x3504F3, 0x3504F4, 0x490FDB, 0x400000, 0x7FFFFE, 0x7FFFFF])
    significands = np.concatenate([few, rng.integers(0, 1 << 23, 16, np.uint32)])
    by_exponent = (np.arange(255, dtype=np.uint32)[:, None] << 23 | significands).ravel().view(np.float32)
    listed = np.concatenate([edges, by_exponent])
    listed = np.concatenate([listed, -listed])
    rest = count - listed.size
    bits = rng.integers(0, 1 << 32, rest // 2, np.uint32).view(np.float32)
    near = np.float32(rng.choice([1, 4, 20, 110, 160], rest - rest // 2) * rng.uniform(-1, 1, rest - rest // 2))
    return np.concatenate([listed, bits, near])


def make_others(rng, x):
    """Draws second operands: mostly exponents with finite powers, some arbitrary numbers, and edge cases."""
    count = x.size
    fits = np.float32(rng.uniform(-150, 130, count) / np.log2(abs(x.astype(np.float32))))
    whole = np.float32(rng.integers(-12, 13, count))
    edge = np.float32(rng.choice(EDGES, count) * rng.choice([-1, 1], count))
    like = np.float32(x.astype(np.float32) * rng.uniform(-2, 2, count))
    which = rng.integers(0, 4, count)
    y = np.select([which == 0, which == 1, which == 2], [fits, whole, edge], like)
    few = rng.permutation(count)[: count // 8]
    x[few] = rng.choice(np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -2]), few.size).astype(x.dtype)
    n = np.where(rng.integers(0, 2, count) == 0, rng.integers(-20, 21, count), np.nan_to_num(fits, posinf=0, neginf=0))
    n = np.where(rng.integers(0, 16, count) == 0, rng.integers(-(2**31), 2**31, count), n)
    return y.astype(x.dtype), np.clip(n, -(2**31), 2**31 - 1).astype(np.int32)


def make_inputs(dtype, rng):
    if dtype == "f32":
        x = make_floats(rng, SIZE * SIZE)
    else:
        x = np.arange(SIZE * SIZE, dtype=np.uint16).view(TYPES[dtype])
    pairs = x.copy()
    y, n = make_others(rng, pairs)
    return x, pairs, y, n


def get_bits(x):
    """Returns the bits of numbers. Every NaN gets the same bits, because NaN payloads are unspecified."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


failures = 0


def compare(dtype, name, operands, results, bound):
    global failures
    exact = FUNCTIONS[name](*(LONG(x) for x in operands))
    found = results["cpu"]
    for device, other in results.items():
        wrong = np.flatnonzero(get_bits(other) != get_bits(found))
        failures += bool(wrong.size)
        for i in wrong[:1]:
            print(f"{dtype}: {name}({', '.join(str(x[i]) for x in operands)}): {wrong.size} results differ: "
                  f"{found[i].item().hex()} on the cpu, {other[i].item().hex()} on {device}")
    error, i = measure(dtype, exact, found)
    verdict = "" if error <= bound else f", expected at most {bound}"
    failures += not error <= bound
    print(f"{dtype}: {name} is off by {error:.4f} ulp at {', '.join(str(x[i]) for x in operands)}: "
          f"{found[i]}{verdict}", flush=True)


np.seterr(all="ignore")
rng = np.random.default_rng(16)
# Verify the oracle with a more precise oracle.
sample = np.concatenate([make_floats(rng, 1 << 14)[::31], np.float32([16367173 * 2.0**72, 1e-8, -0.99999994])])
second, integers = make_others(rng, sample)
for name in NAMES:
    others = {None: [], "f": [second], "i": [integers]}[BINARY.get(name)]
    difference = check_oracle(name, sample, *others) if name != "round" else 0
    failures += not difference <= 2.0**-34
    if not difference <= 2.0**-34:
        print(f"{name}: the oracle differs from mpmath by {difference} of the result")
for dtype, devices in {"f32": ["cpu", "sim"], "bf16": ["cpu"], "f16": ["cpu"]}.items():
    bounds = read_bounds(dtype)
    for _ in range(ROUNDS):
        x, pairs, y, n = make_inputs(dtype, rng)
        unary = [name for name in NAMES if name not in BINARY]
        binary = [name for name in NAMES if name in BINARY]
        for names, first in ((unary, x), (binary, pairs)):
            if not names:
                continue
            found = {device: run(device, dtype, names, first, y, n) for device in devices}
            for name in names:
                operands = [first] + {None: [], "f": [y], "i": [n]}[BINARY.get(name)]
                compare(dtype, name, operands, {d: f[name] for d, f in found.items()}, bounds.get(name, 0))
sys.exit(failures != 0)
