#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the results of speed.py as tables of Markdown, between the markers of
a page that keeps them.

usage: report.py RESULTS.json [docs/performance/Results.md]

Without a page the tables are printed, the first with what targets.py wants of each row."""

import json
import sys

import targets

BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
NAMES = {"f8E4M3FN": "E4M3", "f8E5M2": "E5M2", "f6E2M3FN": "E2M3", "f6E3M2FN": "E3M2",
         "f4E2M1FN": "E2M1", "bf16": "bf16"}
VALUES = {"wide": ", 40 binades", "grid": " on the grid of MXFP8"}
PEERS = (*targets.CUBLAS, *targets.GROUPED)


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def header(*cells):
    return row(*cells) + "|---" * len(cells) + "|\n"


def title(result, way="mx"):
    name = " × ".join(NAMES[result[side]] for side in "ab")
    name += ", NVFP4" if result["scale"] == "f8E4M3FN" else ""
    name += VALUES.get(result.get("values"), "") + (", packed" if result.get("packed") else "")
    if result.get("groups"):
        kind = "gradient" if result.get("gradient") else "groups"
        name += f", {kind}, G = {result['groups']}"
    return name + way.removeprefix("mx")


def shape(result):
    return " × ".join(str(result[n]) for n in "mnk")


def split(result):
    """((name, entry) of each way of mx, the peer on the same values, others)"""
    entries = targets.implementations(result)
    ours = [(name, entry) for name, entry in entries.items() if targets.is_ours(name)]
    peer = next(entry for name, entry in entries.items() if name in PEERS)
    others = [(name, entry) for name, entry in entries.items()
              if not targets.is_ours(name) and name not in PEERS]
    return ours, peer, others


def percent(entry, key):
    """The spread of the rounds."""
    spread = entry.get(f"{key}_spread_us")
    return "–" if spread is None else f"{100 * spread / entry[f'{key}_us']:.1f}"


def wanted(target, value):
    """Whether a ratio is what the target wants."""
    verdict = ("aim" if value >= target.aim else "met" if value >= target.least else "missed")
    return f"{verdict} (at least {target.least}, aim {target.aim})"


def ratio_table(results, verdicts):
    text = header("row", "what", "case", "peer / mx", "spread", "mx, µs", "peer, µs",
                  *["wanted"] * verdicts)
    for target in targets.TARGETS:
        for names, found in zip(target.cases, targets.reached(target, results)):
            begin = target.number, target.title
            if not found:
                name = names if isinstance(names, str) else names[0]
                text += row(*begin, name, "not measured", *[""] * (3 + verdicts))
                continue
            name, (value, spread, ours, peer, _, _) = found
            text += row(*begin, name, f"{value:.2f}", f"{spread:.2f}", f"{ours:.1f}", f"{peer:.1f}",
                        *[wanted(target, value)] * verdicts)
    return text


def large_table(results):
    text = header("elements", "M × N × K", "wrong", "burst: mx", "peer", "ratio",
                  "sustained: mx", "spread, %", "peer", "spread, %", "ratio", "MHz: mx", "peer")
    for result in results:
        ours, peer, _ = split(result)
        for way, entry in ours:
            burst, sustained = ((e["burst_us"], e["sustained_us"]) for e in (entry, peer))
            text += row(title(result, way), shape(result), result["wrong"],
                        *(f"{e['burst_tflops']:.0f}" for e in (entry, peer)),
                        f"{sustained[0] / burst[0]:.2f}",
                        *(cell for e in (entry, peer)
                          for cell in (f"{e['sustained_tflops']:.0f}", percent(e, "sustained"))),
                        f"{sustained[1] / burst[1]:.2f}", entry["sm_mhz"], peer["sm_mhz"])
    return text


def other_table(results):
    text = header("elements", "M × N × K", "peer", "burst", "sustained", "spread, %",
                  "mx, fastest: burst", "sustained")
    for result in results:
        ours, _, others = split(result)
        fastest = [f"{max(e[f'{key}_tflops'] for _, e in ours):.0f}" for key in
                   ("burst", "sustained")]
        for name, entry in others:
            sustained = entry.get("sustained_tflops")
            text += row(title(result), shape(result), name, f"{entry['burst_tflops']:.0f}",
                        f"{sustained:.0f}" if sustained else "–", percent(entry, "sustained"),
                        *fastest)
    return text


def few_rows_table(results):
    text = header("elements", "M × N × K", "wrong", "mx, µs", "spread, %", "peer, µs", "spread, %",
                  "peer / mx", "sustained: mx, µs", "peer, µs", "peer / mx")
    for result in results:
        ours, peer, _ = split(result)
        for way, entry in ours:
            text += row(title(result, way), shape(result), result["wrong"],
                        *(cell for e in (entry, peer)
                          for cell in (f"{e['graph_us']:.1f}", percent(e, "graph"))),
                        f"{peer['graph_us'] / entry['graph_us']:.2f}",
                        *sustained_cells(entry, peer))
    return text


def sustained_cells(entry, peer):
    """Of few rows, where older results have none."""
    if "sustained_us" not in entry:
        return ["–"] * 3
    return [f"{e['sustained_us']:.1f}" for e in (entry, peer)] + [
        f"{peer['sustained_us'] / entry['sustained_us']:.2f}"]


def layer_table(results):
    names = ["mx", *targets.LAYERS]
    text = header("layer", "rows", *(cell for name in names for cell in (f"{name}, ms", "spread, %")),
                  "faster / mx", "dB: y", "dx", "dw1", "dw2", "dprobs")
    for result in results:
        entries = [targets.implementations(result)[name] for name in names]
        ratio = min(e["sustained_us"] for e in entries[1:]) / entries[0]["sustained_us"]
        order = ", in order" * ("in-order" in result["name"])
        text += row(f"top {result['top']} of {result['experts']}{order}", result["tokens"] * result["top"],
                    *(cell for e in entries
                      for cell in (f"{e['sustained_us'] / 1000:.2f}", percent(e, "sustained"))),
                    f"{ratio:.2f}", *(f"{ratio:.1f}" for ratio in result["decibels"].values()))
    return text


def about_text(data):
    about, rows = data["about"], data["rows"]
    text = (f"{about['date']} UTC, {about['gpu']}, driver {about['driver']}, power limit "
            f"{float(about['power_limit_w']):.0f} W, PyTorch {about['torch']}, commit "
            f"{about['commit']}.\n\n")
    others = {}
    for result in rows:
        commit = result.get("commit", about["commit"])
        if commit != about["commit"]:
            others.setdefault((commit, result["date"]), []).append(result["name"])
    return text + "".join(f"Of commit {commit}, {date} UTC: {', '.join(names)}.\n\n"
                          for (commit, date), names in others.items())


def table(data, verdicts=False):
    rows = data["rows"]
    layers = [r for r in rows if "experts" in r]
    products = [r for r in rows if "experts" not in r]
    few = [r for r in products if "graph_us" in targets.implementations(r)["mx"]]
    large = [r for r in products if r not in few]
    more = [r for r in large if split(r)[2]]
    parts = [ratio_table(rows, verdicts)] + [make(found) for make, found in (
        (large_table, large), (other_table, more), (few_rows_table, few), (layer_table, layers)) if found]
    return about_text(data) + "\n".join(parts)


def write_page(page, text):
    """In place of what is between the page's marks."""
    with open(page) as file:
        old = file.read()
    if BEGIN not in old or END not in old:
        sys.exit(f"{page}: expected the lines {BEGIN.strip()} and {END.strip()}")
    head, rest = old.split(BEGIN)
    with open(page, "w") as file:
        file.write(head + BEGIN + text + END + rest.split(END)[1])


def main(results, page=None):
    with open(results) as file:
        data = json.load(file)
    if page:
        write_page(page, table(data))
    else:
        print(table(data, verdicts=True), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
