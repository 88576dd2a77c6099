#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints Markdown tables from results of speed.py.

usage: report.py FILE

FILE is raw JSON, or CSV as in benchmarks/results/matmul.csv. The first table compares each row
with targets.py."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import cases
import targets
from published import by_case, header, load, row

CASES = {case.name: case for case in cases.CASES}
NAMES = {"f8E4M3FN": "E4M3", "f8E5M2": "E5M2", "f6E2M3FN": "E2M3", "f6E3M2FN": "E3M2",
         "f4E2M1FN": "E2M1", "bf16": "bf16"}
VALUES = {"wide": ", 40 binades", "grid": " on the grid of MXFP8"}
PEERS = (*targets.CUBLAS, *targets.GROUPED)


def title(case, way="mx"):
    name = " × ".join(NAMES[operand] for operand in (case.a, case.b))
    name += ", NVFP4" if case.scale == "f8E4M3FN" else ""
    name += VALUES.get(case.values, "") + (", packed" if case.packed else "")
    if case.groups:
        kind = "gradient" if case.gradient else "groups"
        name += f", {kind}, G = {case.groups}"
    return name + way.removeprefix("mx")


def shape(case):
    return f"{case.m} × {case.n} × {case.k}"


def split(result):
    """Returns ((name, entry) of each way of mx, the baseline on the same values, other
    baselines)."""
    entries = result["implementations"]
    ours = [(name, entry) for name, entry in entries.items() if targets.is_ours(name)]
    peer = next(entry for name, entry in entries.items() if name in PEERS)
    others = [(name, entry) for name, entry in entries.items()
              if not targets.is_ours(name) and name not in PEERS]
    return ours, peer, others


def ratio(mx, peer, key):
    """Returns the baseline's time divided by that of mx, and its spread."""
    value = peer[f"{key}_us"] / mx[f"{key}_us"]
    spread = value * sum(entry[f"{key}_spread_us"] / entry[f"{key}_us"] for entry in (mx, peer))
    return f"{value:.2f}", f"{spread:.2f}"


def rate(case, entry, key):
    """Returns TFLOP/s."""
    return f"{case.flops / entry[f'{key}_us'] * 1e-6:.0f}" if f"{key}_us" in entry else "–"


def wanted(target, value):
    """Returns whether a ratio meets the target."""
    verdict = ("aim" if value >= target.aim else "met" if value >= target.least else "missed")
    return f"{verdict} (at least {target.least}, aim {target.aim})"


def ratio_table(results):
    text = header("row", "what", "case", "peer / mx", "spread", "mx, µs", "peer, µs", "wanted")
    for target in targets.TARGETS:
        for names, found in zip(target.cases, targets.reached(target, results)):
            begin = target.number, target.title
            if not found:
                name = names if isinstance(names, str) else names[0]
                text += row(*begin, name, "not measured", *[""] * 4)
                continue
            name, (value, spread, ours, peer, _, _) = found
            text += row(*begin, name, f"{value:.2f}", f"{spread:.2f}", f"{ours:.1f}", f"{peer:.1f}",
                        wanted(target, value))
    return text


def large_table(results):
    text = header("operands", "M × N × K", "sustained: mx", "peer", "peer / mx", "spread", "burst: mx",
                  "peer", "peer / mx")
    for result in results:
        case = CASES[result["name"]]
        ours, peer, _ = split(result)
        for way, entry in ours:
            text += row(title(case, way), shape(case), rate(case, entry, "sustained"),
                        rate(case, peer, "sustained"), *ratio(entry, peer, "sustained"),
                        rate(case, entry, "burst"), rate(case, peer, "burst"),
                        f"{peer['burst_us'] / entry['burst_us']:.2f}")
    return text


def other_table(results):
    text = header("operands", "M × N × K", "other kernel", "sustained", "burst", "mx, fastest: sustained",
                  "burst")
    for result in results:
        case = CASES[result["name"]]
        ours, _, others = split(result)
        fastest = [min((entry for _, entry in ours), key=lambda entry: entry[f"{key}_us"])
                   for key in ("sustained", "burst")]
        for name, entry in others:
            text += row(title(case), shape(case), name, rate(case, entry, "sustained"),
                        rate(case, entry, "burst"), rate(case, fastest[0], "sustained"),
                        rate(case, fastest[1], "burst"))
    return text


def few_rows_table(results):
    text = header("operands", "M × N × K", "mx, µs", "peer, µs", "peer / mx", "spread",
                  "sustained: peer / mx")
    for result in results:
        case = CASES[result["name"]]
        ours, peer, _ = split(result)
        for way, entry in ours:
            sustained = ratio(entry, peer, "sustained")[0] if "sustained_us" in entry else "–"
            text += row(title(case, way), shape(case), f"{entry['graph_us']:.1f}", f"{peer['graph_us']:.1f}",
                        *ratio(entry, peer, "graph"), sustained)
    return text


def layer_table(results):
    names = ["mx", *targets.LAYERS]
    text = header("layer", "rows", *(f"{name}, ms" for name in names), "faster / mx", "spread")
    for result in results:
        case = CASES[result["name"]]
        entries = [result["implementations"][name] for name in names]
        fastest = min(entries[1:], key=lambda entry: entry["sustained_us"])
        order = ", in order" * case.in_order
        text += row(f"top {case.top} of {case.experts}{order}", case.tokens * case.top,
                    *(f"{entry['sustained_us'] / 1000:.2f}" for entry in entries),
                    *ratio(entries[0], fastest, "sustained"))
    return text


def tables(rows):
    results = by_case(rows)
    timed = [r for r in results if r["name"] in CASES]
    layers = [r for r in timed if isinstance(CASES[r["name"]], cases.Layer)]
    matmuls = [r for r in timed if r not in layers]
    few = [r for r in matmuls if "graph_us" in r["implementations"]["mx"]]
    large = [r for r in matmuls if r not in few]
    more = [r for r in large if split(r)[2]]
    parts = [ratio_table(results)] + [make(found) for make, found in (
        (large_table, large), (other_table, more), (few_rows_table, few), (layer_table, layers)) if found]
    return "\n".join(parts) + f"\nWrong elements: {sum(r['wrong'] for r in timed)}.\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(tables(load("matmul", sys.argv[1:])[1]), end="")
