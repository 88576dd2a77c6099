#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the small cases and compares every byte with the CPU path and the formula. Needs NumPy
and the directory written by `build`, but not PyTorch, so it runs under compute-sanitizer and on
the simulator.

usage: check.py BUNDLE [--device=cuda|sim|none] [--only=NAME,...] [--formula]

Result memory is poisoned twice, with different bytes, so unwritten bytes cannot match both times.
Without --formula results are compared only with the CPU path, which is faster; without a device,
results of the CPU path are compared with the formula. Stochastic rounding is compared with the
CPU path only."""

import argparse
import json
import os
import sys

import cases
import expected
import mx_compiler as mx
import numpy as np

POISON = (0x5A, 0xA5)


def run(entry, arguments, poison):
    """Returns the results as bytes."""
    given = [a if a.ndim == 0 else mx.array(a) for a in arguments]
    results = entry.make_results(*given)
    for result in results:
        result.fill(poison)
    entry.launch(given, results, entry.make_workspace(*given))
    return [as_bytes(result.numpy()) for result in results]


def as_bytes(array):
    return np.atleast_2d(array).view(np.uint8)


def written(case, results, offsets):
    """Returns the part of each result without slack after the last group."""
    if not case.groups:
        return results
    end = int(cases.group_starts(offsets)[-1])
    ends = [end * cases.BITS[case.element] // 8, end // case.block // 4]
    return [r[:, :e] for r, e in zip(results, ends)]


def count_unlike_formula(case, arguments, results, offsets):
    if case.seed:
        return 0  # the formula does not cover stochastic rounding
    with np.errstate(all="ignore"):
        return sum(expected.count_unequal(np, case, arguments[:case.inputs],
                                          results, offsets))


def check(bundle, has_device, case, use_formula):
    directory = os.path.join(bundle, "checks", case.name)
    with open(os.path.join(directory, "arguments.json")) as file:
        arguments = [np.load(os.path.join(bundle, name))
                     for name in json.load(file)]
    offsets = arguments[-1] if case.groups else None
    cpu = [as_bytes(np.load(os.path.join(directory, f"result{i}.npy")))
           for i in range(case.results)]
    size, wrong = sum(r.size for r in cpu), 0
    if not has_device:
        return count_unlike_formula(case, arguments, cpu, offsets), size
    entry = mx.Program(directory)["main"]
    for poison in POISON:
        results = run(entry, arguments, poison)
        for found, must in zip(written(case, results, offsets),
                               written(case, cpu, offsets), strict=True):
            wrong += int((found != must).sum())
        if use_formula:
            wrong += count_unlike_formula(case, arguments, results, offsets)
    return wrong, size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bundle")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--formula", action="store_true")
    options = parser.parse_args()
    has_device = options.device != "none"
    if has_device:
        mx.set_device(options.device)
    with open(os.path.join(options.bundle, "bundle.json")) as file:
        refused = json.load(file)["refused"]
    failures = total = count = 0
    for case in cases.find(options.only, cases.check_cases()):
        if has_device and case.name in refused:
            print(f"{case.name}: not compiled: {refused[case.name]}")
            continue
        try:
            wrong, size = check(options.bundle, has_device, case, options.formula)
        except (RuntimeError, OSError, ValueError) as error:
            print(f"{case.name}: {error}")
            failures += 1
            continue
        print(f"{case.name}: {wrong} of {size} bytes unequal", flush=True)
        failures += wrong != 0
        total, count = total + size, count + 1
    print(f"{count} cases, {total} bytes, {failures} failures, {len(refused)} not compiled")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
