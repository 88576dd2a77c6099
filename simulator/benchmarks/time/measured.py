# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times that were measured before: rows of the raw results of surface.py and tune.py."""

import collections
import dataclasses
import json
import pathlib
import random
import re
import sys

MATMULS = pathlib.Path(__file__).resolve().parents[3] / "benchmarks/matmul"
sys.path.append(str(MATMULS))
import cases
import surface


@dataclasses.dataclass(frozen=True)
class Timed:
    """A program, and what a launch of it took after a pause: "burst", or in a graph that
    goes through more memory than the L2 has."""
    family: str
    case: object
    way: str
    us: float
    sustained_us: float | None
    mhz: int | None

    @property
    def name(self):
        return self.case.name + ("" if self.way == "mx" else f", {self.way}")


def timed(family, case, way, entry, about):
    """None where it was timed from the host, which takes longer than a short launch."""
    found = entry.get("graph_us") or (about.get("launch") == cases.LAUNCH and entry.get("burst_us"))
    return found and Timed(family, case, way, found, entry.get("sustained_us"), entry.get("sm_mhz"))


def of_surface(data, name):
    """What the compiler chose, and the schedules that it ranked next, where they were timed: the
    shapes come from the seed, as surface.py draws them."""
    for row in surface.ROWS:
        measured = data["rows"].get(row.name, {})
        drawn = {case.name: case for case in row.cases(data["seed"], len(measured))}
        for name, result in measured.items():
            found = result["implementations"]
            yield timed(row.name, drawn[name], "mx", found["mx"], data["about"])
            nexts = {way.removeprefix(surface.NEXT_WAY): entry for way, entry in found.items()
                     if way.startswith(surface.NEXT_WAY)}
            case = dataclasses.replace(drawn[name], ways=(("mx", ""), *((w, w) for w in nexts)))
            for way, entry in nexts.items():
                yield timed(f"next {name}", case, way, entry, data["about"])


def of_tuning(data, name):
    """Each schedule that gave the right result, but for the compiler's choice, which may be
    another one by now."""
    known = {case.name: case for case in cases.CASES}
    for name, result in data["cases"].items():
        ways = {way: way for way in result["found"] if way.startswith("tile")}
        case = dataclasses.replace(known[name], ways=tuple(ways.items()))
        for way in ways:
            yield timed(f"tuning {name}", case, way, result["found"][way], data["about"])


def load(paths):
    found = []
    for path in paths:
        try:
            data = json.loads(pathlib.Path(path).read_text())
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}")
        except json.JSONDecodeError as error:
            sys.exit(f"{path}: expected JSON: {error}")
        read = of_surface if "rows" in data else of_tuning if "cases" in data else None
        if not read:
            sys.exit(f"{path}: expected results of surface.py or tune.py, with \"rows\" or "
                     "\"cases\"")
        found += [one for one in read(data, path) if one]
    return found


def chosen(programs, only, sample):
    """Those whose family or name has `only`; of each family at most `sample`, the same
    ones every time."""
    families = collections.defaultdict(list)
    for one in programs:
        if re.search(only, f"{one.family}/{one.name}"):
            families[one.family].append(one)
    for family, found in families.items():
        if sample and len(found) > sample:
            families[family] = random.Random(family).sample(found, sample)
    return [one for found in families.values() for one in found]
