#!/usr/bin/env python3
"""Runs recorded cases on a device and compares results with the recorded bits.

usage: replay.py DIRECTORY [--device cuda] [--match TEXT] [--repeat N]

A NaN equals any other NaN. Where threads add in any order, a result may differ by
a part in 2^16 of the largest of its column."""

import argparse
import collections
import json
import pathlib
import sys

import numpy as np

import mx

NANS = {"bf16": (0x7F80, 0x7FFF), "f16": (0x7C00, 0x7FFF), "f32": (0x7F800000, 0x7FFFFFFF)}


def is_nan(bits, element):
    infinity, mask = NANS[element]
    return (bits & mask) > infinity


def count_wrong(found, expected, element, unordered):
    if found.shape != expected.shape or found.dtype.itemsize != expected.dtype.itemsize:
        return max(found.size, 1)
    bits = [np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") for x in (found, expected)]
    wrong = bits[0] != bits[1]
    if element in NANS:
        wrong &= ~(is_nan(bits[0], element) & is_nan(bits[1], element))
    if unordered and found.dtype == np.float32:
        scale = np.nanmax(np.abs(np.where(np.isfinite(expected), expected, 0)), axis=0)
        wrong &= ~(np.abs(found - expected) <= scale * 2.0**-16)
    return int(wrong.sum())


def load(case, name):
    return np.load(case / name) if name.endswith(".npy") else float(name)


def run(case, info, programs, root):
    if info["program"] not in programs:
        programs.clear()  # one is loaded at a time
        programs[info["program"]] = mx.Program(str(root / "programs" / info["program"]))
    entry = programs[info["program"]][info["entry"]]
    arguments = [load(case, name) for name in info["args"]]
    arguments = [value.dtype.type(given) if value.is_number else given.view(value.dtype)
                 for given, value in zip(arguments, entry.arguments)]
    results = entry(*arguments)
    wrong = elements = 0
    for result, value, name in zip(results, entry.results, info["results"]):
        expected = np.load(case / name)
        element = value._element()
        wrong += count_wrong(np.asarray(result), expected, element, info["unordered"])
        elements += expected.size
    return wrong, elements


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    mx.set_device(options.device)
    cases = sorted(options.directory.glob("cases/*/case.json"))
    programs, total = {}, collections.Counter()
    infos = sorted(((json.loads(path.read_text()), path.parent) for path in cases),
                   key=lambda pair: (pair[0]["program"], pair[1]))
    for info, case in infos:
        if options.match not in info["program"]:
            continue
        try:
            wrong, elements = run(case, info, programs, options.directory)
        except Exception as error:  # the next case may still run
            print(f"{case.name} {info['program']}: {error}")
            wrong, elements = 1, 0
        total.update(cases=1, elements=elements, wrong=wrong, bad=wrong != 0)
        if wrong:
            print(f"{case.name} {info['program']}: {wrong} of {elements} wrong")
    print(f"{options.device}: {total['cases']} cases, {total['elements']} elements, "
          f"{total['wrong']} wrong in {total['bad']} cases")
    return total["bad"] != 0


if __name__ == "__main__":
    sys.exit(main())
