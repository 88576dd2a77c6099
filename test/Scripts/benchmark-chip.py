"""Compares the tables of simulator/docs/ChipSpeed.md with chip.csv.

RUN: %python %s %mx_src
RUN: not %python %mx_src/simulator/benchmarks/chip/run.py --only=none 2>&1 | FileCheck %s
CHECK: error: expected some of wgmma, {{.*}}, found none
"""

import csv
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
with open(root / "simulator/benchmarks/results/chip.csv", newline="", encoding="utf-8") as file:
    rows = [(row["name"], row["value"], row["unit"]) for row in csv.DictReader(file)]
page = (root / "simulator/docs/ChipSpeed.md").read_text()
lines = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in re.findall(r"^\|.*\|$", page, re.M)
         if not re.fullmatch(r"[| -]+", line)]
assert sorted(lines) == sorted(rows), (set(lines) ^ set(rows), len(lines), len(rows))
