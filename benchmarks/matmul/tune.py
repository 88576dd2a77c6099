#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times matmul schedules on a GPU, and compares the fastest with the model's choice.

    tune.py build MX_COMPILE OUT [CASE...]     # with the compiler: compiles the schedules listed by --mx-explain
    tune.py run OUT --results=R.json [--only=REGEX] [--seconds=S]    # on the GPU
    tune.py show R.json                        # a table, the fastest first

Candidates for a case are the model's choice (selected by mx-select-schedule), the other schedules
listed by --mx-explain, and the schedules in `MORE` below. `run` drops candidates with wrong results
and times all others in turn. It has the same requirements as speed.py, and keeps the results of
earlier runs in R.json."""

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys

import cases

SHOWN = 8  # rows of the table for each case
DEFAULT = ("mxfp8-8192", "mxfp8-4096", "bf16xmxfp4-4096x4096x7168",
           "bf16xmxfp4-packed-16x4096x7168", "bf16xmxfp4-packed-64x4096x7168",
           "bf16xmxfp4-packed-256x4096x7168", "grouped-mxfp8-131072", "gradient-mxfp8-131072",
           "grouped-bf16xmxfp4-packed-1024")
# Additional candidates. A key is the beginning of the names of cases.
MORE = {
    "mxfp8": ["tile = [256, 128, 64], raster = group_m(8), epilogue = tma_store",
              "tile = [128, 256, 64], raster = group_m(8), epilogue = tma_store",
              "tile = [128, 128, 64], raster = group_m(8), epilogue = tma_store"],
    "bf16xmxfp4-packed": ["tile = [64, 128, 128], strategy = #mxgpu.wgmma_swap_ab, split_k = 4",
                          "tile = [128, 128, 128], strategy = #mxgpu.wgmma_swap_ab, split_k = 2",
                          "tile = [128, 128, 128], strategy = #mxgpu.wgmma_swap_ab<cluster_split = true>, split_k = 2, pdl"],
    "grouped-mxfp8-packed": ["tile = [48, 256, 128], strategy = #mxgpu.wgmma_swap_ab",
                             "tile = [48, 256, 128], strategy = #mxgpu.wgmma_swap_ab, pdl, l2 = [evict_last, evict_first]"],
    "grouped-bf16xmxfp4-packed": ["tile = [48, 256, 128], strategy = #mxgpu.wgmma_swap_ab"],
    "gradient": [cases.IN_F16, cases.WORKSPACE],
    "grouped-mxfp8-131072": [cases.IN_F16, cases.WORKSPACE],
}
WORDS = [(r"s(\d+)", "stages = {}"), (r"k/(\d+)c?", "split_k = {}"),
         (r"(group_m\(\d+\)|hilbert|columns)", "raster = {}"), (r"w-(\w+)", "workspace = {}"),
         (r"tma(\d+)", "epilogue = tma_store, staging = {}"),
         (r"l2", "l2 = [evict_last, evict_first]"), (r"pdl", "pdl"),
         (r"swap|upcast_a|f16|permuted|permuted_b", "")]
# For each word about the strategy: the pattern of the word, the name of the strategy (None if the
# word does not determine the strategy), and a field of the strategy or None.
OWN_WORDS = [(r"swap", "wgmma_swap_ab", None),
             (r"f16", "wgmma_upcast_b", "f16_scale_range = true, operand_stages = 4"),
             (r"upcast_a", "wgmma_upcast_a", None),
             (r"permuted", None, "permuted_a = true"),
             (r"permuted_b", None, "permuted_b = true"),
             (r"k/\d+c", None, "cluster_split = true")]


def schedule(text):
    """Converts a line of --mx-explain's table to a schedule attribute. Returns None if the line
    contains unknown words."""
    tile, *words = text.split()
    fields = [f"tile = [{', '.join(tile.split('x'))}]"]
    for word in words:
        found = next(((form, match) for pattern, form in WORDS
                      if (match := re.fullmatch(pattern, word))), None)
        if not found:
            return None
        fields.append(found[0].format(*found[1].groups()))
    found = [own for word in words for own in OWN_WORDS if re.fullmatch(own[0], word)]
    if found:
        name = next((own[1] for own in found if own[1]), "wgmma_upcast_b")
        own = ", ".join(own[2] for own in found if own[2])
        fields.append(f"strategy = #mxgpu.{name}" + f"<{own}>" * bool(own))
    return ", ".join(field for field in fields if field)


def listed(explanation):
    """Returns the schedules in the table. The table does not show CTA pairs. If the selected
    schedule uses pairs, other schedules of its strategy are returned without and with pairs."""
    found = []
    pairs = re.search(r"^  schedule: .*(#mxgpu.wgmma_\w+<ctas = 2>)", explanation, re.MULTILINE)
    for line in explanation.splitlines():
        match = re.match(r"\d+ +(\d+x\d+x\d+(?: [^ ]+)*?)  +\d", line)
        if match and (text := schedule(match[1])):
            found.append(text)
            if pairs and "strategy" not in text:
                found.append(f"{text}, strategy = {pairs[1]}")
    return found


def build(mx_compile, out, names):
    out.mkdir(parents=True, exist_ok=True)
    ways = {}
    for case in cases.CASES:
        if case.name not in (names or DEFAULT):
            continue
        source = out / f"{case.name}.mlir"
        source.write_text(case.text())
        done = subprocess.run([mx_compile, source, f"--chip={cases.CHIP}", "--mx-explain", "-o",
                               out / case.name], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        more = next((found for begin, found in MORE.items() if case.name.startswith(begin)), [])
        tried = {"mx": ""} | {text: text for text in [*listed(done.stderr), *more]}
        case = dataclasses.replace(case, ways=tuple(tried.items()))
        # The number of a program is the index of its schedule.
        ways[case.name] = {way: cases.compile_way(mx_compile, case, way, out)
                           for way, _ in case.ways}
    (out / "ways.json").write_text(json.dumps(ways, indent=1))


def measure(out, results, only, seconds):
    import implementations
    import problems
    import speed
    import timing
    speed.begin()
    ways = json.loads((out / "ways.json").read_text())
    data = json.loads(results.read_text()) if results.exists() else dict(cases={})
    data["about"] = speed.describe_machine()
    for case in cases.CASES:
        if case.name not in ways or not re.search(only, case.name):
            continue
        tried = ways[case.name]
        case = dataclasses.replace(case, ways=tuple((way, "") for way in tried))
        problem = problems.make(case)
        ours = [implementations.MxProgram(way, case, out, problem)
                for way, is_compiled in tried.items() if is_compiled]
        right = [c for c in ours if not problem.wrong(c)]
        everyone = right + problem.peers()[:1]
        found = timing.measure_one_way(everyone, seconds, case.few_rows)
        data["cases"][case.name] = dict(found=found, wrong=[c.name for c in ours if c not in right])
        results.write_text(json.dumps(data, indent=1) + "\n")
        print(table(dict(data, cases={case.name: data["cases"][case.name]})), flush=True)
        del problem, ours, right
        speed.release()


def table(data):
    about = data["about"]
    text = f"{about['date']} UTC, {about['gpu']}, PyTorch {about['torch']}.\n"
    for name, case in data["cases"].items():
        text += f"\n| {name} | µs | spread, µs |\n|---|---|---|\n"
        key = "graph" if any("graph_us" in e for e in case["found"].values()) else "sustained"
        entries = sorted(case["found"].items(), key=lambda item: item[1][f"{key}_us"])
        # Omit the slowest schedules, but keep the model's choice and the baseline.
        others = [n for n, _ in entries if n.startswith("tile")][SHOWN:]
        for way, entry in entries:
            if way not in others:
                way = "the model's choice" if way == "mx" else way
                text += f"| {way} | {entry[f'{key}_us']:.2f} | {entry[f'{key}_spread_us']:.2f} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build")
    command.add_argument("mx_compile")
    command.add_argument("out", type=pathlib.Path)
    command.add_argument("cases", nargs="*")
    command = commands.add_parser("run")
    command.add_argument("out", type=pathlib.Path)
    command.add_argument("--results", type=pathlib.Path, required=True)
    command.add_argument("--only", default="")
    command.add_argument("--seconds", type=float, default=0.4)
    command = commands.add_parser("show")
    command.add_argument("results", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "build":
        build(options.mx_compile, options.out, options.cases)
    elif options.command == "run":
        measure(options.out, options.results, options.only, options.seconds)
    else:
        print(table(json.loads(options.results.read_text())), end="")


if __name__ == "__main__":
    main()
