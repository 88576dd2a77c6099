# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured times: rows of the raw results of surface.py and tune.py."""

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
    """A program and the time of a launch after a pause. The launch is timed alone ("burst") or
    in a graph with a working set larger than L2."""
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
    """Returns the Timed of `entry`, or None if only the host measured the time, because a launch
    from the host takes longer than a short kernel."""
    found = entry.get("graph_us") or (about.get("launch") == cases.LAUNCH and entry.get("burst_us"))
    return found and Timed(family, case, way, found, entry.get("sustained_us"), entry.get("sm_mhz"))


def of_surface(data, name):
    """Yields the timed schedules of each case: the compiler's choice and the schedules
    after it in the ranking. The seed determines the shapes, as in surface.py."""
    for row in surface.ROWS:
        measured = data["rows"].get(row.name, {})
        drawn = {case.name: case for case in row.cases(data["seed"], len(measured))}
        for name, result in measured.items():
            if drawn[name].quantizes:
                continue
            found = result["implementations"]
            yield timed(row.name, drawn[name], "mx", found["mx"], data["about"])
            nexts = {way.removeprefix(surface.NEXT_WAY): entry for way, entry in found.items()
                     if way.startswith(surface.NEXT_WAY)}
            case = dataclasses.replace(drawn[name], ways=(("mx", ""), *((w, w) for w in nexts)))
            for way, entry in nexts.items():
                yield timed(f"next {name}", case, way, entry, data["about"])


def of_tuning(data, name):
    """Yields each schedule with a correct result, except the compiler's choice, which may have
    changed since."""
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
    """Returns programs that match `only` by family and name, with a fixed sample of at most
    `sample` per family."""
    families = collections.defaultdict(list)
    for one in programs:
        if re.search(only, f"{one.family}/{one.name}"):
            families[one.family].append(one)
    for family, found in families.items():
        if sample and len(found) > sample:
            families[family] = random.Random(family).sample(found, sample)
    return [one for found in families.values() for one in found]
