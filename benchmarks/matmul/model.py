#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares mx-select-schedule's time model with measured random shapes (surface.py).

    model.py MX_OPT R.json...    # results of `surface.py run`

Prints for each family: the number of measured schedules, the median ratio of measured to
modelled time (at 1.6 GHz), and the deviation of ratios within a shape (root mean square). For
shapes with several measured schedules, also prints the mean and worst slowdown of the model's
first schedule relative to the fastest. MX_OPT must be the build that selected these schedules."""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import re
import statistics
import subprocess

import cases
import surface
from published import header, row as line

GHZ = 1.6


def modelled(mx_opt, case, schedule):
    """Returns the modelled cycles, or None if mx_opt refuses the schedule."""
    ways = (("mx", ""), ("given", schedule))
    text = dataclasses.replace(case, ways=ways).text("given" if schedule else "mx")
    done = subprocess.run([mx_opt, "-", f"--mx-select-schedule=chip={cases.CHIP} explain", "-o", os.devnull],
                          input=text, capture_output=True, text=True)
    found = re.search(r"modelled: (\d+) cycles", done.stderr)
    return int(found[1]) if found else None


def timings(data):
    """Yields family, case, schedule ("" for the model's choice) and microseconds."""
    for row in surface.ROWS:
        measured = data["rows"].get(row.name, {})
        drawn = {case.name: case for case in row.cases(data["seed"], len(measured))}
        for name, result in measured.items():
            for way, entry in result["implementations"].items():
                if not drawn[name].quantizes and (way == "mx" or way.startswith(surface.NEXT_WAY)):
                    schedule = "" if way == "mx" else way.removeprefix(surface.NEXT_WAY)
                    yield row, drawn[name], schedule, surface.time_of(entry)


def summary(title, shapes):
    """Returns a row of the table; `shapes` holds (measured, modelled) microseconds for each
    shape."""
    every = [pair for shape in shapes for pair in shape]
    within, losses = [], []
    for shape in shapes:
        logs = [math.log(us / model) for us, model in shape]
        if len(shape) > 1:
            within += [(value - statistics.mean(logs)) ** 2 for value in logs]
            first = min(shape, key=lambda pair: pair[1])[0]
            losses.append(first / min(us for us, _ in shape) - 1)
    percent = lambda value: f"{100 * value:.1f} %"
    return [title, len(every), len(shapes), f"{statistics.median(us / model for us, model in every):.2f}",
            *((percent(math.sqrt(statistics.mean(within))), percent(statistics.mean(losses)),
               percent(max(losses))) if losses else ["", "", ""])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("mx_opt")
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path in options.results:
            data = json.loads(path.read_text())
            for row, case, schedule, us in timings(data):
                jobs.append((row, (path, case.name), us, pool.submit(modelled, options.mx_opt, case, schedule)))
    families = collections.defaultdict(lambda: collections.defaultdict(list))
    for row, shape, us, job in jobs:
        if cycles := job.result():
            families[row.title][shape].append((us, cycles / GHZ / 1000))
    print(header("family", "timings", "shapes", "measured to modelled", "within a shape",
                 "the first is slower", "at worst"), end="")
    for title, shapes in families.items():
        print(line(*summary(title, list(shapes.values()))), end="")
    print(line(*summary("all", [shape for of in families.values() for shape in of.values()])), end="")


if __name__ == "__main__":
    main()
