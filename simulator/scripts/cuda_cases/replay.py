#!/usr/bin/env python3
"""Runs recorded cases on a device and compares results with the recorded bits.

usage: replay.py DIRECTORY [--device cuda] [--match REGEX] [--jobs N] [--repeat N]

All NaNs are equal, and results of approximate functions may differ in the last places. All
other results must be equal bit by bit. With --repeat each case runs N times."""

import argparse
import collections
import concurrent.futures
import multiprocessing
import pathlib
import re
import sys

import cases
import mx_compiler as mx


def run_program(program, directories, options):
    """Runs the cases of a program. Returns counts of cases, elements and failures, and lines
    about the failures."""
    total, lines = collections.Counter(), []
    mx.set_device(options.device)
    if options.device == "sim":
        mx.set_simulator_option("tensor-sums", "truncated")
    try:
        loaded = mx.Program(str(options.directory / "programs" / program))
    except mx.Error as error:
        return collections.Counter(cases=len(directories), wrong=len(directories),
                                   bad=len(directories)), [f"{program}: {error}"]
    for case in map(cases.Case, directories):
        expected, wrong, elements = case.load("results"), 0, 0
        entry = loaded[case.info["entry"]]
        try:
            for _ in range(options.repeat):
                found = cases.run(entry, case.load("arguments"))
                for x, y, value in zip(found, expected, entry.results, strict=True):
                    wrong += cases.count_wrong(x, y, cases.element_of(value),
                                               case.info["approximate"])
                    elements += y.size
        except Exception as error:  # the next case may still run
            lines.append(f"{case.name} {program}: {error}")
            wrong += 1
        if wrong:
            lines.append(f"{case.name} {program}: {wrong} of {elements} wrong")
        total.update(cases=1, elements=elements, wrong=wrong, bad=wrong != 0)
    return total, lines


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--match", default="", help="regular expression for the beginning of case names")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    programs = collections.defaultdict(list)
    for path in sorted(options.directory.glob("cases/*/case.json")):
        if re.match(options.match, path.parent.name):
            programs[cases.Case(path.parent).program].append(path.parent)
    if not programs:
        parser.error(f"expected cases in {options.directory}, found none")
    total = collections.Counter()
    # Each program runs in its own process, so that a faulting kernel does not end other programs.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, spawn) as pool:
        waiting = {pool.submit(run_program, program, directories, options): program
                   for program, directories in programs.items()}
        for done in concurrent.futures.as_completed(waiting):
            found, lines = done.result()
            total.update(found)
            for line in lines:
                print(line, flush=True)
    print(f"{options.device}: {total['cases']} cases, {total['elements']} elements, "
          f"{total['wrong']} wrong")
    return total["bad"] != 0


if __name__ == "__main__":
    sys.exit(main())
