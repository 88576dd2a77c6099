#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the logs of train_moe_torch.py as an SVG: losses, the differences of recipes,
step times and memory side by side; and writes a table in Markdown.

    python3 examples/plot_moe_training.py runs/*.jsonl -o moe.svg --table=moe.md"""

import argparse
import json
import statistics
import sys

import numpy as np

from plot_losses import Plot, smooth

WIDTH = 720
CURVES, GAPS = (40, 300), (344, 444)  # top and bottom of the plots
BARS, BAR = 500, 26  # top of the first, and from one to the next
COLORS = ("#1f5fa8", "#d1551b", "#3a8a3a", "#7a4fa0")
WINDOW = 50  # steps of a mean


def read(path):
    """What a run is, its steps as columns, and its result or None."""
    with open(path) as file:
        head, *rows = [json.loads(line) for line in file]
    if "run" not in head:
        raise ValueError(f"{path}: expected a log of train_moe_torch.py, found {head}")
    result = rows.pop()["result"] if rows and "result" in rows[-1] else None
    columns = {name: [row[name] for row in rows] for name in ("loss", "ms", "peak_mib")}
    return {"about": head, "result": result, **head["run"], **columns}


def by_recipe(runs):
    """Runs of each recipe by seed; bf16 first, for others are compared with it."""
    recipes = sorted({run["recipe"] for run in runs}, key=lambda name: (name != "bf16",
                                                                        name))
    return {recipe: {run["seed"]: run for run in sorted(
        (run for run in runs if run["recipe"] == recipe), key=lambda run: run["seed"])}
        for recipe in recipes}


def step_time(run):
    """Milliseconds: the median, which neither compilation nor files change."""
    return statistics.median(run["ms"])


def per_cent(value, base):
    return 100 * (value / base - 1)


# --- The table -------------------------------------------------------------------


def table(groups):
    base = groups.get("bf16", {})
    lines = ["| recipe | seed | validation loss | against bf16, % | training loss, last "
             "100 steps | against bf16, % | ms a step | tokens/s | peak memory, MiB |",
             "|---|---|---|---|---|---|---|---|---|"]
    for recipe, runs in groups.items():
        for seed, run in runs.items():
            if run["result"] is None:
                lines.append(f"| {recipe} | {seed} | stopped after {len(run['loss'])} "
                             "steps | | | | | | |")
                continue
            other = base.get(seed)
            cells = [recipe, str(seed)]
            for name in ("validation_loss", "training_loss"):
                cells.append(f"{run['result'][name]:.4f}")
                cells.append("" if recipe == "bf16" or not (other and other["result"])
                             else format(per_cent(run["result"][name],
                                                  other["result"][name]), "+.2f"))
            ms = step_time(run)
            cells += [f"{ms:.2f}", f"{run['batch_tokens'] / ms * 1e3:,.0f}",
                      f"{run['result']['peak_mib']:,.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


# --- The picture -----------------------------------------------------------------


def draw(groups):
    steps = max(len(run["loss"]) for runs in groups.values() for run in runs.values())
    curves = [(color, recipe, smooth(run["loss"], WINDOW))
              for color, (recipe, runs) in zip(COLORS, groups.items())
              for run in runs.values()]
    floor = min(curve.min() for _, _, curve in curves)
    upper = Plot(steps, floor * 0.97, max(c.max() for _, _, c in curves) * 1.01, *CURVES)
    upper.axes(f"training loss (cross entropy), means of {WINDOW} steps; a line a seed")
    for i, (color, recipe, curve) in enumerate(curves):
        upper.curve(curve, color, 1.0, dashes="none" if recipe == "bf16" else "6 4")
    for i, (color, recipe) in enumerate(zip(COLORS, groups)):
        upper.text(WIDTH - 150, CURVES[0] + 16 + 18 * i, recipe, fill=color)
    lines = upper.lines + gap_lines(groups, steps)
    lines += bar_lines(groups, 0, "ms a step, median", step_time)
    lines += bar_lines(groups, 1, "peak memory, MiB", lambda run: max(run["peak_mib"]))
    height = BARS + BAR * len(groups) + 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">\n'
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' +
            "\n".join(lines) + "\n</svg>\n")


def gap_lines(groups, steps):
    """Losses of the others less that of bf16, in percent, seed by seed."""
    gaps = []
    for color, (recipe, runs) in zip(COLORS, groups.items()):
        for seed, run in runs.items():
            other = groups.get("bf16", {}).get(seed)
            if recipe != "bf16" and other:
                n = min(len(run["loss"]), len(other["loss"]))
                gaps.append((color, per_cent(smooth(run["loss"][:n], WINDOW),
                                             smooth(other["loss"][:n], WINDOW))))
    if not gaps:
        return []
    most = max(max(np.abs(gap).max() for _, gap in gaps) * 1.1, 1e-6)
    lower = Plot(steps, -most, most, *GAPS)
    lower.axes("difference from bf16, % of the loss")
    for color, gap in gaps:
        lower.curve(gap, color, 1.0)
    lower.text(WIDTH - 16, GAPS[1] + 30, "step", text_anchor="end")
    return lower.lines


def bar_lines(groups, column, title, value):
    """A bar a recipe: the mean over seeds."""
    left, width = 64 + column * (WIDTH - 64) // 2, (WIDTH - 64) // 2 - 30
    means = {recipe: statistics.mean(value(run) for run in runs.values())
             for recipe, runs in groups.items()}
    most = max(*means.values(), 1e-9)
    lines = [f'<text x="{left}" y="{BARS - 8}" font-weight="bold">{title}</text>']
    for i, (color, (recipe, mean)) in enumerate(zip(COLORS, means.items())):
        y = BARS + BAR * i
        lines += [f'<rect x="{left}" y="{y}" width="{width * 0.6 * mean / most:.1f}" '
                  f'height="18" fill="{color}"/>',
                  f'<text x="{left + width * 0.6 * mean / most + 6:.1f}" y="{y + 13}">'
                  f"{recipe}: {mean:,.4g}</text>"]
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+")
    parser.add_argument("-o", dest="out", help="the SVG")
    parser.add_argument("--table", help="the table; without it, it is printed")
    args = parser.parse_args()
    groups = by_recipe([run for run in map(read, args.logs) if run["loss"]])
    if not groups:
        raise SystemExit("logs: expected steps, found none")
    if args.out:
        with open(args.out, "w") as file:
            file.write(draw(groups))
    if args.table:
        with open(args.table, "w") as file:
            file.write(table(groups))
    else:
        sys.stdout.write(table(groups))


if __name__ == "__main__":
    main()
