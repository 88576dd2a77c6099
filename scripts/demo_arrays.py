#!/usr/bin/env python3
"""Arrays of the demo: inputs with outliers as in a language model, and the quality of the
matmul. Shares no code with the compiler."""

import argparse
import sys

import ml_dtypes
import numpy as np


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def make(args):
    """Writes activations with a few much larger channels, and weights with a few large entries,
    the case that block scales are made for."""
    rng = np.random.default_rng(args.seed)
    x = rng.standard_normal((args.m, args.k))
    channels = rng.choice(args.k, size=max(1, args.k // 64), replace=False)
    x[:, channels] *= rng.uniform(10, 60, size=channels.size)
    w = rng.standard_normal((args.n, args.k)) / np.sqrt(args.k)
    w[rng.random(w.shape) < 1e-3] *= 12
    for path, array in ((args.x, x), (args.w, w)):
        np.save(path, array.astype(ml_dtypes.bfloat16).view(np.uint16))


def load_float(path):
    """Loads a matrix from a .npy file as float64: bf16 bits, f16, f32 or f64."""
    try:
        array = np.load(path)
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")
    if array.ndim != 2:
        fail(f"{path}: expected a matrix, found {array.ndim} dimensions")
    if array.dtype == np.uint16 or array.dtype.str == "|V2":
        return array.view(ml_dtypes.bfloat16).astype(np.float64)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    fail(f"{path}: expected bf16 bits (u2), f16, f32 or f64, found {array.dtype}")


def snr(args):
    """Prints the signal-to-noise ratio against the matmul of the unquantized inputs."""
    x, w, y = (load_float(path) for path in (args.x, args.w, args.y))
    with np.errstate(invalid="ignore", over="ignore"):
        exact = x @ w.T
    if y.shape != exact.shape:
        fail(f"{args.y}: expected shape {exact.shape}, found {y.shape}")
    if not exact.size:
        print("SNR against the unquantized matmul: none, the matmul is empty")
        return
    finite = np.isfinite(exact) & np.isfinite(y)
    if not finite.any():
        print("SNR against the unquantized matmul: none, nothing in it is finite")
        return
    signal = np.square(exact[finite]).sum()
    noise = np.square(exact[finite] - y[finite]).sum()
    ratio = 10 * np.log10(signal / noise) if noise and signal else float("inf")
    skipped = exact.size - finite.sum()
    note = f" ({skipped} entries that are not finite left out)" if skipped else ""
    print(f"SNR against the unquantized matmul (float64): {ratio:.1f} dB{note}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make", help="write random inputs")
    command.add_argument("x")
    command.add_argument("w")
    for name, size in (("m", 512), ("n", 768), ("k", 1024), ("seed", 0)):
        command.add_argument(f"--{name}", type=int, default=size)
    command.set_defaults(run=make)
    command = commands.add_parser("snr", help="print the quality of a matmul")
    for name in ("x", "w", "y"):
        command.add_argument(name)
    command.set_defaults(run=snr)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
