#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares quantizer schedules, and writes the best ones to the table in
lib/Conversion/MXToMXGPU/Quantize/QuantizeSchedules.def.

    build OUT --tune --keep-going        # on the build machine, for --chip: all candidates
    speed.py OUT --tune --results=R.json # on the GPU
    tune.py R.json                       # print candidates by case, best first
    tune.py R.json --write               # also write the table, on the build machine

Each case is measured with every schedule of its kind, under the name CASE@N. Schedules that do
not fit a case or target are refused by the compiler and skipped.

--write replaces the schedules in the table rows used by the cases in R.json, for the target of
their programs. The best schedule is correct in all of these cases and reaches the largest
median fraction of the ceiling; the current schedule is kept unless the gain exceeds the variation
between runs. Other rows are unchanged. A target without rows first gets the rows of sm_90a, and
its row in lib/Target/TargetInfo.cpp must then name it in quantizersMeasuredOn."""

import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import sys

import cases

TABLE = (pathlib.Path(__file__).resolve().parents[2] /
         "lib/Conversion/MXToMXGPU/Quantize/QuantizeSchedules.def")
MEASURED_CHIP = "sm_90a"
SPREAD = 0.004  # variation of a schedule's fraction between runs


def along_rows():
    for threads, vector, ctas in [(512, 16, 2), (512, 8, 2), (256, 16, 4),
                                  (256, 16, 5), (256, 32, 4), (128, 16, 8)]:
        yield (f"tile = [128, 128], threads = {threads}, vector = {vector}, ctas = {ctas}")


def tile(rows, columns, unit, stages, threads, ctas, raster, atomic_counter=False,
         input_stages=0):
    return (f"tile = [{rows}, {columns}], threads = {threads}, vector = 32, "
            f"stage_rows = {unit}, stages = {stages}, ctas = {ctas}, "
            f"raster = {raster}" + (", atomic_counter = true" if atomic_counter else "") +
            (f", input_stages = {input_stages}" if input_stages else ""))


def along_columns():
    """Yields schedules with one tile per CTA, in one or several stages, then with atomic counters."""
    yield tile(128, 128, 128, 1, 256, 4, "columns")
    yield tile(128, 128, 128, 1, 128, 4, "columns")
    yield tile(256, 128, 64, 2, 128, 3, "columns")
    yield tile(256, 128, 64, 3, 128, 2, "columns", atomic_counter=True)
    yield tile(256, 256, 32, 3, 128, 2, "columns")
    yield tile(128, 128, 128, 1, 256, 4, "linear")
    yield tile(128, 256, 64, 2, 128, 3, "columns")
    yield tile(256, 128, 64, 2, 128, 3, "linear")


def both_axes():
    for threads, ctas in [(256, 3), (128, 3), (512, 2)]:
        yield tile(128, 128, 128, 1, threads, ctas, "linear")
    yield tile(128, 128, 64, 1, 128, 5, "linear")
    yield tile(128, 256, 32, 2, 256, 3, "linear")
    yield tile(256, 128, 64, 2, 128, 3, "linear")
    for raster in ["linear", "columns", "group_m(2)"]:
        yield tile(256, 256, 32, 2, 256, 2, raster)
        yield tile(256, 256, 64, 3, 512, 1, raster, atomic_counter=True)


def computed():
    for raster in ["linear", "columns"]:
        yield tile(256, 256, 64, 2, 256, 1, raster, atomic_counter=True)
    yield tile(256, 256, 32, 2, 128, 2, "linear", atomic_counter=True)
    yield tile(128, 256, 64, 2, 256, 1, "linear", atomic_counter=True)
    yield tile(128, 128, 128, 2, 256, 1, "linear", atomic_counter=True)
    yield tile(128, 128, 128, 1, 128, 2, "linear")
    yield tile(256, 128, 128, 2, 256, 1, "linear", atomic_counter=True)
    yield tile(256, 128, 64, 2, 128, 2, "linear", atomic_counter=True)
    yield tile(256, 128, 64, 3, 128, 1, "linear", atomic_counter=True)
    # Bulk copies load the inputs for the computing threads.
    for raster in ["linear", "columns"]:
        yield tile(256, 128, 64, 2, 256, 1, raster, True, input_stages=3)
    yield tile(256, 128, 64, 2, 256, 1, "linear", True, input_stages=2)
    yield tile(256, 128, 32, 2, 256, 1, "linear", True, input_stages=6)
    yield tile(256, 128, 128, 1, 256, 1, "linear", True, input_stages=2)
    yield tile(256, 256, 32, 2, 256, 1, "linear", True, input_stages=3)
    yield tile(256, 256, 32, 2, 256, 1, "linear", True, input_stages=2)
    yield tile(256, 128, 32, 2, 128, 2, "linear", True, input_stages=2)
    yield tile(128, 128, 32, 2, 128, 2, "linear", True, input_stages=3)
    yield tile(128, 128, 64, 1, 128, 2, "linear", True, input_stages=2)
    yield tile(128, 256, 32, 2, 256, 1, "linear", True, input_stages=4)


# Schedules and table rows by prefix of the case's name.
KINDS = {
    "k": (along_rows, "ALONG_ROWS", "BF16, Bytes"),
    "e2m1": (along_rows, "ALONG_ROWS", "BF16, E2M1"),
    "nvfp4": (along_rows, "ALONG_ROWS", "BF16, NVFP4"),
    "m": (along_columns, "TILE", "Columns, Packed16"),
    "both": (both_axes, "TILE", "Both, Packed16"),
    "swiglu": (computed, "PRODUCED", "Both, Packed16, 16"),
}


def kind(case):
    return KINDS.get(case.name.split("-")[0])


def variants():
    """Returns every measured case in every schedule of its kind."""
    return [dataclasses.replace(case, name=f"{case.name}@{i}", schedule=schedule)
            for case in cases.speed_cases() if kind(case)
            for i, schedule in enumerate(kind(case)[0]())]


@dataclasses.dataclass
class Row:
    """Line of the table: MACRO(chip, keys, "schedule") // note."""
    macro: str
    chip: str
    keys: str  # the last key, except along rows, is the minimum number of elements
    schedule: str
    note: str

    PATTERN = re.compile(r'([A-Z_]+)\((\w+), (.*), "(.*)"\)(?: // (.*))?')

    def __str__(self):
        note = f" // {self.note}" if self.note else ""
        return (f'{self.macro}({self.chip}, {self.keys}, "{self.schedule}")'
                f"{note}")

    def fits(self, case):
        _, macro, keys = kind(case)
        if macro == "ALONG_ROWS" or macro != self.macro:
            return (self.macro, self.keys) == (macro, keys)
        # Same rule as in QuantizeSchedule.cpp.
        width = int(re.search(r"tile = \[\d+, (\d+)", self.schedule)[1])
        behind = -case.columns % width
        if macro == "PRODUCED" and width > 128 and behind * 20 > case.columns:
            return False
        mine, least = self.keys.rsplit(", ", 1)
        factor, _, shift = least.partition(" << ")
        least = int(factor) << int(shift or 0)
        return mine == keys and least <= case.rows * case.columns


class Table:
    """Lines of the file: rows and other text."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        for line in path.read_text().splitlines():
            match = Row.PATTERN.fullmatch(line)
            self.lines.append(Row(*match.groups()) if match else line)

    def rows(self, chip):
        return [l for l in self.lines if isinstance(l, Row) and l.chip == chip]

    def add_target(self, chip):
        """Adds rows for a target after the existing rows of each kind."""
        rows = [dataclasses.replace(row, chip=chip, note="")
                for row in self.rows(MEASURED_CHIP)]
        for macro in {row.macro for row in rows}:
            end = 1 + max(i for i, line in enumerate(self.lines)
                          if isinstance(line, Row) and line.macro == macro)
            self.lines[end:end] = [r for r in rows if r.macro == macro]

    def write(self):
        self.path.write_text("".join(f"{line}\n" for line in self.lines))


def name_of(result):
    return result["case"].split("@")[0]


def parts(schedule):
    """Returns the fields of a schedule without defaults."""
    found = dict(re.findall(r"(\w+) = (\[[^]]*\]|[^, ]+)", schedule))
    rows = re.match(r"\[(\d+)", found["tile"])[1]
    default = {"stage_rows": rows, "stages": "1", "ctas": "1", "raster": "linear",
               "atomic_counter": "false"}
    return {k: v for k, v in found.items() if default.get(k) != v}


def best_schedule(results, current):
    """Returns (median fraction, schedule) of the best schedule for all cases of the results, or
    None if no schedule is correct in all of them."""
    fractions, names = {}, {name_of(r) for r in results}
    for r in results:
        if not r["wrong"]:
            of_schedule = fractions.setdefault(r["schedule"], {})
            of_schedule[name_of(r)] = r["rate"] / r["ceiling_rate"]
    medians = {schedule: statistics.median(found.values())
               for schedule, found in fractions.items() if set(found) == names}
    if not medians:
        return None
    best = max(medians, key=medians.get)
    for schedule, fraction in medians.items():
        if (parts(schedule) == parts(current) and
                fraction >= medians[best] - SPREAD):
            return fraction, current
    return medians[best], best


def write(table, about, results):
    """Replaces rows and prints them."""
    chip = about["chip"]
    gpu = about["gpu"].split(",")[0]
    note = f"{gpu}, {about['date'].split(' ')[0]}"
    if not table.rows(chip):
        print(f"{chip} had the rows of {MEASURED_CHIP}: name it in quantizersMeasuredOn "
              "(lib/Target/TargetInfo.cpp)")
        table.add_target(chip)
    by_name = {case.name: case for case in cases.speed_cases()}
    rows = table.rows(chip)
    of_row = [[] for _ in rows]
    for r in results:
        case = by_name[name_of(r)]
        first = next(i for i, row in enumerate(rows) if row.fits(case))
        of_row[first].append(r)
    for row, found in zip(rows, of_row):
        best = best_schedule(found, row.schedule)
        if not best:
            continue
        fraction, schedule = best
        print(f"{row.macro}({row.chip}, {row.keys})")
        if row.schedule != schedule:
            print(f"  before: {row.schedule}")
        print(f"  {fraction:.3f}: {schedule}")
        row.schedule, row.note = schedule, f"{fraction:.3f}, {note}"
    table.write()


def print_by_case(results):
    by_case = {}
    for result in results:
        by_case.setdefault(name_of(result), []).append(result)
    for name, found in by_case.items():
        print(name)
        for r in sorted(found, key=lambda r: -r["rate"]):
            wrong = f", {r['wrong']} bytes wrong" if r["wrong"] else ""
            print(f"  {r['rate'] / r['ceiling_rate']:.3f} {r['times']['mx']:8.1f} "
                  f"us  {r['schedule']}{wrong}")


def load(path):
    """Returns the results of speed.py and their description."""
    try:
        measured = json.loads(path.read_text())
        about, results = measured["about"], measured["results"]
        about["chip"], about["gpu"], about["date"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{path}: expected results of speed.py --tune: {error!r}")
    tuned = {case.name for case in cases.speed_cases() if kind(case)}
    for r in results:
        if name_of(r) not in tuned or not r.get("schedule"):
            sys.exit(f"{path}: expected cases of speed.py --tune with their "
                     f"schedules, found {r['case']}")
    return about, results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    options = parser.parse_args()
    about, results = load(options.results)
    if options.write:
        if not options.table.is_file():
            sys.exit(f"{options.table}: expected the table of schedules, found none")
        write(Table(options.table), about, results)
    else:
        print_by_case(results)


if __name__ == "__main__":
    main()
