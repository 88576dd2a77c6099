"""Largest errors, in units in the last place, that docs/reference/Math.md states for functions."""

import os
import re

ROW = re.compile(r"^\| `(\w+)` \|(?:\\\||[^|])*\| *([\d.]+) *\| *([\d.]+) *\|", re.M)


def read_bounds(dtype):
    """Returns the bound of each function for results of this type."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    with open(os.path.join(root, "docs", "reference", "Math.md"), encoding="utf-8") as page:
        rows = ROW.findall(page.read())
    column = {"f32": 1, "bf16": 2, "f16": 2}[dtype]
    return {row[0]: float(row[column]) for row in rows}
