#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares every byte with the formula on a GPU, for all bf16 values in all positions of a
block and all pairs of exponents within a block.

usage: exhaustive.py BUNDLE [--only=NAME,...]

Needs PyTorch. In row c, block b (of 32) has value c at position b; the other values are random,
and in half of the rows no larger than c. The last block of a row has one value with one
exponent and 31 values with another."""

import argparse
import os
import sys

import cases
import expected
import implementations
import mx_compiler as mx
import torch

POISON = (0x5A, 0xA5)


def below(numbers, bound):
    """Returns random values with magnitudes of at most `bound`."""
    magnitude = numbers & 0x7FFF
    return (numbers & 0x8000) | (magnitude % ((bound & 0x7FFF) + 1))


def all_numbers():
    """Returns an int16 matrix of 65536 rows with 33 blocks each."""
    random = lambda *shape: torch.randint(0, 1 << 16, shape, dtype=torch.int32,
                                          device="cuda")
    code = torch.arange(1 << 16, dtype=torch.int32, device="cuda")
    x = random(1 << 16, 33, 32)
    small = torch.rand(1 << 16, device="cuda") < 0.5
    x[:, :32] = torch.where(small[:, None, None],
                            below(x[:, :32], code[:, None, None]), x[:, :32])
    place = torch.arange(32, device="cuda")
    x[:, place, place] = code[:, None]
    # Signs and mantissas stay random.
    first, others = code >> 8, code & 0xFF
    x[:, 32] = (x[:, 32] & 0x807F) | (others << 7)[:, None]
    x[:, 32, 0] = (x[:, 32, 0] & 0x807F) | (first << 7)
    return x.reshape(1 << 16, -1).to(torch.int16)


def count_wrong(case, directory, numbers):
    entry = mx.Program(directory)["main"]
    inputs = numbers if case.rows == 1 << 16 else numbers.t().contiguous()
    buffers = implementations.BufferSet(case, entry, [inputs], None)
    launch, wrong = implementations.quantizer(entry), 0
    for poison in POISON:
        for result in buffers.results:
            result.fill_(poison)
        launch(buffers)
        torch.cuda.synchronize()
        wrong += sum(expected.count_unequal(torch, case, buffers.arrays,
                                            buffers.results))
    return wrong, sum(r.numel() for r in buffers.results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bundle")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.manual_seed(17)
    mx.set_device("cuda")
    numbers = all_numbers()
    failures = total = count = 0
    for case in cases.find(options.only, cases.exhaustive_cases()):
        directory = os.path.join(options.bundle, "exhaustive", case.name)
        wrong, size = count_wrong(case, directory, numbers)
        print(f"{case.name}: {wrong} of {size} bytes unequal", flush=True)
        failures += wrong != 0
        total, count = total + size, count + 1
    print(f"{count} cases, {total} bytes, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
