#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the small cases and compares every byte with the CPU path and with the
formula. Needs NumPy and the directory that `build` wrote, no PyTorch, so that
it runs under compute-sanitizer, and on the simulator.

usage: check.py BUNDLE [--device=cuda|sim|none] [--only=NAME,...] [--formula]

Results are poisoned twice, with different bytes, so that what is not written
cannot be right both times. Without --formula only the CPU path's files are
compared, which takes less time; without a device they are compared with the
formula. What is rounded stochastically is compared with the CPU path only."""

import argparse
import json
import os
import sys

import cases
import expected
import numpy as np
from mx_program import Entry, Runtime, byte_shape

POISON = (0x5A, 0xA5)


def run(runtime, entry, arguments, poison):
    """The results, as bytes."""
    device = [a if a.ndim == 0 else (runtime.upload(a), a.shape)
              for a in arguments]
    results, outputs = [], []
    for shape, dtype in entry.result_shapes(device):
        shape = byte_shape(shape, dtype)
        count = int(np.prod(shape))
        results.append((runtime.alloc(count), shape))
        runtime.fill(results[-1][0], poison, count)
    size = entry.workspace_bytes(device)
    workspace = runtime.alloc(size)
    entry.launch(device, [r[0] for r in results], workspace, size)
    runtime.synchronize()
    for address, shape in results:
        outputs.append(runtime.download(address, shape, np.uint8))
        runtime.free(address)
    for value in device:
        if isinstance(value, tuple):
            runtime.free(value[0])
    runtime.free(workspace)
    return outputs


def written(case, results, offsets):
    """The part of each result that is not slack behind the last group."""
    if not case.groups:
        return results
    end = int(cases.group_starts(offsets)[-1])
    ends = [end * cases.BITS[case.element] // 8, end // case.block // 4]
    return [r[:, :e] for r, e in zip(results, ends)]


def count_unlike_formula(case, arguments, results, offsets):
    if case.seed:
        return 0  # the formula has no random numbers
    with np.errstate(all="ignore"):
        return sum(expected.count_unequal(np, case, arguments[:case.inputs],
                                          results, offsets))


def check(bundle, runtime, case, use_formula):
    directory = os.path.join(bundle, "checks", case.name)
    with open(os.path.join(directory, "arguments.json")) as file:
        arguments = [np.load(os.path.join(bundle, name))
                     for name in json.load(file)]
    offsets = arguments[-1] if case.groups else None
    cpu = [np.atleast_2d(np.load(os.path.join(directory, f"result{i}.npy")))
           .view(np.uint8) for i in range(case.results)]
    size, wrong = sum(r.size for r in cpu), 0
    if not runtime:
        return count_unlike_formula(case, arguments, cpu, offsets), size
    entry = Entry(runtime, directory)
    for poison in POISON:
        results = run(runtime, entry, arguments, poison)
        for found, must in zip(written(case, results, offsets),
                               written(case, cpu, offsets), strict=True):
            wrong += int((found != must).sum())
        if use_formula:
            wrong += count_unlike_formula(case, arguments, results, offsets)
    entry.close()
    return wrong, size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bundle")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--formula", action="store_true")
    options = parser.parse_args()
    library = os.path.join(options.bundle, "libmx_runtime.so")
    runtime = (None if options.device == "none" else
               Runtime(library, options.device))
    with open(os.path.join(options.bundle, "bundle.json")) as file:
        refused = json.load(file)["refused"]
    failures = total = count = 0
    names = [n for n in options.only.split(",") if n]
    for case in cases.find(names, cases.check_cases()):
        if runtime and case.name in refused:
            print(f"{case.name}: not compiled: {refused[case.name]}")
            continue
        try:
            wrong, size = check(options.bundle, runtime, case, options.formula)
        except (RuntimeError, OSError) as error:
            print(f"{case.name}: {error}")
            failures += 1
            continue
        print(f"{case.name}: {wrong} of {size} bytes unequal", flush=True)
        failures += wrong != 0
        total, count = total + size, count + 1
    print(f"{count} cases, {total} bytes, {failures} failures, "
          f"{len(refused)} not compiled")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
