"""Matmuls with scales at and beyond the borders of what bf16 holds exactly, compared
with numpy.

usage: borders.py MX_RUN DEVICE DIRECTORY [--count=N] [--first=N]

A's values are tiny or huge, B's the other way round, so that sums are of the order of 1:
the operands are RN_bf16(element * scale) (docs/reference/Spec.md), among them subnormal ones,
infinities, and NaN of scales. Case number i is the same whenever it runs."""

import argparse
import os
import subprocess
import sys

import numpy as np
from matmul_formats import (FORMATS, OUTS, PROGRAM, compare, make_codes, reduction_multiple,
                            tile_scales)

NAN = 0xFF
# Scale bytes of A: those that make bf16 subnormal, those that make it overflow, and
# the whole range; B's mirror them.
RANGES = [(0, 9), (244, 254), (0, 40), (214, 254), (90, 164)]


def round_bf16(x):
    """Rounded once to nearest even; beyond the largest bf16 infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - 1, -126) - 7)
        rounded = np.where(np.isfinite(x), np.round(x / unit) * unit, x)
        return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, x), rounded)


def make_operand(rng, rows, k, element, low, high, specials):
    codes, values = make_codes(rng, rows, k, element, specials)
    scales = rng.integers(low, high + 1, (rows, k // 32)).astype(np.uint8)
    if specials:
        scales[rng.random(scales.shape) < 0.02] = NAN
    factors = np.where(scales == NAN, np.nan, np.ldexp(1.0, scales.astype(np.int64) - 127))
    with np.errstate(invalid="ignore"):
        values = round_bf16(values * factors.repeat(32, axis=1))
    return [codes, tile_scales(scales, "f8E8M0FNU")], values


def run_case(args, index):
    rng = np.random.default_rng(4000 + index)
    a, b = list(FORMATS)[index % 5], list(FORMATS)[index // 5 % 5]
    m, n = (int(rng.choice([1, 64, 129, rng.integers(1, 200)])) for _ in range(2))
    k = int(rng.choice([1, 2, 3])) * reduction_multiple(a, b)
    low, high = RANGES[(index + index // 5) % len(RANGES)]
    specials = index % 3 == 1
    left, x = make_operand(rng, m, k, a, low, high, specials)
    right, w = make_operand(rng, n, k, b, 254 - high, 254 - low, specials)
    out = list(OUTS)[index % 2]
    path = lambda name: os.path.join(args.directory, name)
    with open(path("case.mlir"), "w") as file:
        file.write(PROGRAM.format(a=a, b=b, s="f8E8M0FNU", out=out, m=m, n=n, k=k,
                                  blocks=k // 32, empty="%init = tensor.empty() : !out",
                                  block="", schedule=""))
    command = [args.mx_run, path("case.mlir"), f"--device={args.device}",
               "--result", path("y.npy")]
    for i, array in enumerate(left + right):
        np.save(path(f"{i}.npy"), array)
        command += ["--arg", path(f"{i}.npy")]
    done = subprocess.run(command, capture_output=True, text=True)
    what = f"{index}: {a} x {b}, scales {low} to {high}, {m} x {n} x {k} to {out}"
    if done.returncode:
        print(f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return False
    y = np.load(path("y.npy"))
    y = ((y.astype("u4") << 16).view("f4") if out == "bf16" else y).astype(np.float64)
    # Each step of 16 products truncates them, and rounds the sum.
    wrong, ratio = compare(y, x, w, 3 * -(-k // 16), OUTS[out])
    print(f"{what}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mx_run")
    parser.add_argument("device")
    parser.add_argument("directory")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    failures = sum(not run_case(args, i) for i in range(args.first, args.first + args.count))
    print(f"{args.count} matmuls, {failures} failures")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
