#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the matmuls of two compilers, to measure the cost or gain of a change.

    versions.py build OLD_MX_COMPILE NEW_MX_COMPILE OUT [--only=REGEX]   # here
    versions.py run OUT [--seconds=S] --results=R.json [--only=REGEX]  # on the GPU
    versions.py show R.json

The cases come from speed.py. Equal kernels are not measured and have ratio 1. Otherwise both
programs are checked against float64 and measured in turn, sustained, or in a graph for small M.
A ratio is the old time divided by the new time."""

import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import cases
from published import header, row, time_of

VERSIONS = ("old", "new")


def kernels(directory):
    """Returns the kernels, without file and line information, and the launches."""
    ptx = (directory / "kernels.ptx").read_text()
    manifest = (directory / "manifest.json").read_text().replace(str(directory.parent), "")
    return re.sub(r"^\s*(\.loc|\.file|//).*\n", "", ptx, flags=re.M), json.loads(manifest)["entries"]


def measure_matmuls(case, out, seconds):
    """Returns the number of wrong results of each program, and the times."""
    import implementations
    import problems
    import timing
    problem = problems.make(case)
    both = [implementations.MxProgram(case.ways[0][0], case, out / version, problem)
            for version in VERSIONS]
    for version, one in zip(VERSIONS, both):
        one.name = version
    return [problem.wrong(one) for one in both], timing.measure_one_way(both, seconds, case.few_rows)


def measure_layers(case, out, seconds):
    import layer
    import timing
    data = layer.Data(case)
    both = [layer.MxLayer(out / version, data) for version in VERSIONS]
    for version, one in zip(VERSIONS, both):
        one.name = version
    peer = layer.TorchLayer(layer.EAGER, data)
    return [layer.compare(one, peer)[0] for one in both], timing.measure_launches(both, seconds)


def build(options):
    options.out.mkdir(parents=True, exist_ok=True)
    same, differ, left_out = [], [], []
    for case in cases.CASES:
        if not re.search(options.only, case.name):
            continue
        alone = dataclasses.replace(case, ways=case.ways[:1])
        is_taken = {}
        for version, compiler in zip(VERSIONS, (options.old, options.new)):
            folder = options.out / version
            folder.mkdir(exist_ok=True)
            is_taken[version] = cases.compile_way(compiler, alone, alone.ways[0][0], folder,
                                                  quiet=version == "old")
        if not is_taken["new"]:
            sys.exit(f"{case.name}: the new compiler refuses the case")
        if not is_taken["old"]:
            left_out.append(case.name)
            continue
        found = [kernels(options.out / version / alone.program(alone.ways[0][0])) for version in VERSIONS]
        (same if found[0] == found[1] else differ).append(case.name)
    (options.out / "versions.json").write_text(json.dumps(dict(same=same, differ=differ), indent=1))
    print(f"{len(same)} cases have the same kernels, {len(differ)} others: {' '.join(differ)}")
    print(f"The old compiler refuses: {' '.join(left_out) or 'none'}")


def run(options):
    import speed
    speed.begin()
    known = json.loads((options.out / "versions.json").read_text())
    data = json.loads(options.results.read_text()) if options.results.exists() else dict(cases={})
    data |= dict(about=speed.describe_machine())
    data["cases"] |= {name: dict(same=True) for name in known["same"]}
    for case in cases.CASES:
        if case.name not in known["differ"] or not re.search(options.only, case.name):
            continue
        alone = dataclasses.replace(case, ways=case.ways[:1])
        measure = measure_layers if isinstance(case, cases.Layer) else measure_matmuls
        wrong, times = measure(alone, options.out, options.seconds)
        data["cases"][case.name] = dict(wrong=wrong, implementations=times)
        options.results.write_text(json.dumps(data, indent=1) + "\n")
        print(case.name, wrong, f"{ratio(data['cases'][case.name]):.3f}", flush=True)
        speed.release()
    options.results.write_text(json.dumps(data, indent=1) + "\n")


def ratio(result):
    if result.get("same"):
        return 1.0
    old, new = (time_of(result["implementations"][version]) for version in VERSIONS)
    return old / new


def show(options):
    data = json.loads(options.results.read_text())
    found = {name: ratio(result) for name, result in data["cases"].items()}
    about = data["about"]
    text = f"{about['gpu']}, {about['date']} UTC, PyTorch {about['torch']}\n\n"
    text += header("case", "old to new", "wrong: old, new")
    for name, value in sorted(found.items(), key=lambda pair: pair[1]):
        result = data["cases"][name]
        text += row(name, f"{value:.3f}", *(["the same kernels"] if result.get("same") else
                                                   [", ".join(map(str, result["wrong"]))]))
    same = sum(result.get("same", False) for result in data["cases"].values())
    print(text + f"\n{len(found)} cases, {same} with the same kernels: mean {statistics.mean(found.values()):.3f}, "
          f"worst {min(found.values()):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build")
    for name in VERSIONS:
        command.add_argument(name)
    command.add_argument("out", type=pathlib.Path)
    command.add_argument("--only", default="")
    command = commands.add_parser("run")
    command.add_argument("out", type=pathlib.Path)
    command.add_argument("--only", default="")
    command.add_argument("--seconds", type=float, default=0.3)
    command.add_argument("--results", type=pathlib.Path, required=True)
    command = commands.add_parser("show")
    command.add_argument("results", type=pathlib.Path)
    options = parser.parse_args()
    {"build": build, "run": run, "show": show}[options.command](options)


if __name__ == "__main__":
    main()
