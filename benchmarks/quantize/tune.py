#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules are compared, and which are best: the source of the table in
lib/Conversion/MXToMXGPU/QuantizeSchedule.cpp.

    build OUT --tune --keep-going        # here: every case in every schedule
    speed.py OUT --tune --results=R.json # on the GPU
    tune.py R.json                       # prints them by case, best first

A case that is tuned is named CASE@N. Schedules that do not fit a case or the
target are refused by the compiler, and left out."""

import dataclasses
import json
import sys

import cases


def along_rows():
    for threads, vector, ctas in [(512, 16, 2), (512, 8, 2), (256, 16, 4),
                                  (256, 16, 5), (256, 32, 4), (128, 16, 8)]:
        yield (f"tile = [128, 128], threads = {threads}, vector = {vector}, "
               f"ctas = {ctas}")


def tile(rows, columns, unit, stages, threads, ctas, raster, tickets=False):
    return (f"tile = [{rows}, {columns}], threads = {threads}, vector = 32, "
            f"unit = {unit}, stages = {stages}, ctas = {ctas}, "
            f"raster = {raster}" + (", tickets = true" if tickets else ""))


def along_columns():
    """One tile a CTA, as a whole or in parts; then tickets."""
    yield tile(128, 128, 128, 1, 256, 4, "columns")
    yield tile(128, 128, 128, 1, 128, 4, "columns")
    yield tile(256, 128, 64, 2, 128, 3, "columns")
    yield tile(256, 128, 64, 3, 128, 2, "columns", tickets=True)
    yield tile(256, 256, 32, 3, 128, 2, "columns")


def both_axes():
    for threads, ctas in [(256, 3), (128, 3), (512, 2)]:
        yield tile(128, 128, 128, 1, threads, ctas, "linear")
    yield tile(128, 128, 64, 1, 128, 5, "linear")
    yield tile(128, 256, 32, 2, 256, 3, "linear")
    yield tile(256, 128, 64, 2, 128, 3, "linear")
    for raster in ["linear", "columns", "supergroup(2)"]:
        yield tile(256, 256, 32, 2, 256, 2, raster)
        yield tile(256, 256, 64, 3, 512, 1, raster, tickets=True)


def computed():
    for raster in ["linear", "columns"]:
        yield tile(256, 256, 64, 2, 256, 1, raster, tickets=True)
    yield tile(256, 256, 32, 2, 128, 2, "linear", tickets=True)
    yield tile(128, 256, 64, 2, 256, 1, "linear", tickets=True)
    yield tile(128, 128, 128, 2, 256, 1, "linear", tickets=True)
    yield tile(128, 128, 128, 1, 128, 2, "linear")


SCHEDULES = {
    "k": list(along_rows()),
    "e2m1": list(along_rows()),
    "nvfp4": list(along_rows()),
    "m": list(along_columns()),
    "both": list(both_axes()),
    "swiglu": list(computed()),
}


def variants():
    """Every timed case in every schedule of its kind."""
    return [dataclasses.replace(case, name=f"{case.name}@{i}", schedule=schedule)
            for case in cases.speed_cases()
            for i, schedule in enumerate(SCHEDULES.get(case.name.split("-")[0],
                                                       []))]


def main(path):
    with open(path) as file:
        results = json.load(file)["results"]
    schedules = {case.name: case.schedule for case in variants()}
    by_case = {}
    for result in results:
        by_case.setdefault(result["case"].split("@")[0], []).append(result)
    for name, found in by_case.items():
        print(name)
        for r in sorted(found, key=lambda r: -r["rate"]):
            wrong = f", {r['wrong']} bytes wrong" if r["wrong"] else ""
            print(f"  {r['rate'] / r['ceiling_rate']:.3f} {r['times']['mx']:8.1f} "
                  f"us  {schedules[r['case']]}{wrong}")


if __name__ == "__main__":
    main(sys.argv[1])
