#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the results of speed.py as a table of Markdown, between the markers of
a page that keeps it.

usage: report.py RESULTS.json [docs/ProductSpeed.md]

Without a page the table is printed."""

import json
import sys

BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
NAMES = {"f8E4M3FN": "E4M3", "f8E5M2": "E5M2", "f6E2M3FN": "E2M3", "f6E3M2FN": "E3M2",
         "f4E2M1FN": "E2M1", "bf16": "bf16"}


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def title(result):
    name = " × ".join(NAMES[result[side]] for side in "ab")
    name += ", NVFP4" if result["scale"] == "f8E4M3FN" else ""
    return name + (", packed" if result.get("packed") else "")


def figures(result, key):
    ours, peer = (entry[key] for entry in result["contestants"].values())
    return f"{ours:.0f}", f"{peer:.0f}", f"{ours / peer:.2f}"


def large_table(results):
    text = row("elements", "M × N × K", "wrong", "burst: mx", "cuBLAS", "ratio",
               "sustained: mx", "cuBLAS", "ratio", "MHz: mx", "cuBLAS")
    text += "|---" * 11 + "|\n"
    for result in results:
        clocks = [entry["sm_mhz"] for entry in result["contestants"].values()]
        text += row(title(result), " × ".join(str(result[n]) for n in "mnk"), result["wrong"],
                    *figures(result, "burst_tflops"), *figures(result, "sustained_tflops"), *clocks)
    return text


def few_rows_table(results):
    text = row("elements", "M × N × K", "wrong", "mx, µs", "spread", "cuBLAS, µs", "spread",
               "cuBLAS / mx")
    text += "|---" * 8 + "|\n"
    for result in results:
        ours, peer = result["contestants"].values()
        text += row(title(result), " × ".join(str(result[n]) for n in "mnk"), result["wrong"],
                    *(f"{entry[key]:.1f}" for entry in (ours, peer)
                      for key in ("graph_us", "spread_us")),
                    f"{peer['graph_us'] / ours['graph_us']:.2f}")
    return text


def table(data):
    about = data["about"]
    text = (f"{about['date']} UTC, {about['gpu']}, driver {about['driver']}, power limit "
            f"{float(about['power_limit_w']):.0f} W, PyTorch {about['torch']}, commit "
            f"{about['commit']}.\n\n")
    few = [r for r in data["rows"] if "graph_us" in next(iter(r["contestants"].values()))]
    large = [r for r in data["rows"] if r not in few]
    parts = [make(rows) for make, rows in ((large_table, large), (few_rows_table, few)) if rows]
    return text + "\n".join(parts)


def main(results, page=None):
    with open(results) as file:
        text = table(json.load(file))
    if not page:
        return print(text, end="")
    with open(page) as file:
        old = file.read()
    if BEGIN not in old or END not in old:
        sys.exit(f"{page}: expected the lines {BEGIN.strip()} and {END.strip()}")
    head, rest = old.split(BEGIN)
    with open(page, "w") as file:
        file.write(head + BEGIN + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
