#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the logs of train_moe_torch.py as an SVG: losses, differences between recipes, step
times and memory. Also writes a Markdown table.

    python3 examples/plot_moe_training.py runs/*.jsonl -o moe.svg --table=moe.md

The options of all logs must be equal, except for the recipe and the seed."""

import argparse
import itertools
import json
import re
import statistics
import sys

import numpy as np

from field_rules import OBJECT, check
from plot_losses import Plot, smooth

WIDTH = 720
CURVES, GAPS = (40, 300), (344, 444)  # top and bottom of the plots
BARS, BAR = 500, 26  # top of the first bar, and distance between bars
COLORS = ("#1f5fa8", "#d1551b", "#3a8a3a", "#7a4fa0",
          "#b8860b", "#008b8b", "#c2327a", "#555555")
WINDOW = 50  # averaged steps


# --- Logs ------------------------------------------------------------------------


def is_number(x):
    """Returns True if `x` is a number. NaN is accepted, because a loss may be NaN."""
    return type(x) is float or type(x) is int and abs(x) < 2**63


NAME = "a name", lambda x, _: type(x) is str and re.fullmatch(r"[\w.+-]+", x)
WHOLE = "a whole number", lambda x, _: type(x) is int
NUMBER = "a number", lambda x, _: is_number(x)
ABOVE_0 = "a number above 0", lambda x, _: is_number(x) and 0 < x < 1e30
AT_LEAST_0 = "a number of at least 0", lambda x, _: is_number(x) and 0 <= x < 1e30
RUN = {"recipe": NAME, "seed": WHOLE, "batch_tokens": ABOVE_0}
STEP = {"loss": NUMBER, "ms": ABOVE_0, "peak_mib": AT_LEAST_0}
RESULT = {"validation_loss": NUMBER, "training_loss": NUMBER, "peak_mib": AT_LEAST_0}


def read_rows(path):
    """Returns the JSON objects of a file, each with its location. Blank lines are skipped."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected a log of train_moe_torch.py, found none that "
                         f"can be read ({getattr(error, 'strerror', error)})") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{path}, line {number}"
            rows.append((where, read_object(line, where)))
    return rows


def read_object(line, where):
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if type(found) is not dict:
        raise ValueError(f"{where}: expected an object in JSON, as train_moe_torch.py "
                         f"writes them, found {line[:40]!r}")
    return found


def read(path):
    """Returns the description of a run, its steps as columns, and its result or None."""
    rows = read_rows(path)
    if not rows:
        raise ValueError(f"{path}: expected a log of train_moe_torch.py, found no lines")
    (where, head), *rows = rows
    check(head, {"run": OBJECT}, f"{where}: ")
    check(head["run"], RUN, f"{where}: ")
    result = None
    if len(rows) > 1 and "result" in rows[-1][1]:  # runs without steps have none
        where, last = rows.pop()
        check(last, {"result": OBJECT}, f"{where}: ")
        result = last["result"]
        check(result, RESULT, f"{where}: ")
    for where, row in rows:
        check(row, STEP, f"{where}: ")
    columns = {name: [row[name] for _, row in rows] for name in STEP}
    return {"path": path, "options": head["run"], "result": result, **head["run"],
            **columns}


def compare_options(runs):
    """Raises ValueError if two runs have the same recipe and seed, or differ in another option."""
    for run, other in itertools.combinations(runs, 2):
        if (run["recipe"], run["seed"]) == (other["recipe"], other["seed"]):
            raise ValueError(f"{other['path']}: expected another recipe or seed than in "
                             f"{run['path']}, found {run['recipe']} and seed {run['seed']} in both")
    first, *others = runs
    for run in others:
        for name in sorted({*first["options"], *run["options"]} - {"recipe", "seed"}):
            wanted, found = (json.dumps(x["options"][name]) if name in x["options"]
                             else "none" for x in (first, run))
            if wanted != found:
                raise ValueError(f"{run['path']}: {name}: expected {wanted}, as in "
                                 f"{first['path']}, found {found}")


def by_recipe(runs):
    """Returns a dictionary from recipes to runs by seed. The reference, bf16, is first."""
    recipes = sorted({run["recipe"] for run in runs}, key=lambda name: (name != "bf16",
                                                                        name))
    return {recipe: {run["seed"]: run for run in sorted(
        (run for run in runs if run["recipe"] == recipe), key=lambda run: run["seed"])}
        for recipe in recipes}


def step_time(run):
    """Returns the median duration of a step in milliseconds. Unlike the mean, the median is not
    affected by compilation and file access."""
    return statistics.median(run["ms"])


def per_cent(value, base):
    with np.errstate(all="ignore"):
        return 100 * (np.divide(value, base) - 1)


def finite(curves):
    """Returns the finite values of all curves."""
    values = np.concatenate([[], *curves])
    return values[np.isfinite(values)]


# --- Table -----------------------------------------------------------------------


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


# --- Drawing ---------------------------------------------------------------------


def with_steps(groups):
    """Returns the recipes with the runs that contain steps. Raises ValueError if no loss is finite
    or there are more recipes than colors."""
    groups = {recipe: {seed: run for seed, run in runs.items() if run["loss"]}
              for recipe, runs in groups.items()}
    groups = {recipe: runs for recipe, runs in groups.items() if runs}
    if not finite(run["loss"] for runs in groups.values() for run in runs.values()).size:
        raise ValueError("-o: expected steps with a loss to draw, found none in all logs")
    if len(groups) > len(COLORS):
        raise ValueError(f"-o: expected at most {len(COLORS)} recipes to draw, found "
                         f"{len(groups)}: {', '.join(groups)}")
    return groups


def draw(groups):
    groups = with_steps(groups)
    steps = max(len(run["loss"]) for runs in groups.values() for run in runs.values())
    curves = [(color, recipe, smooth(run["loss"], WINDOW))
              for color, (recipe, runs) in zip(COLORS, groups.items())
              for run in runs.values()]
    losses = finite(curve for _, _, curve in curves)
    low = losses.min() * 0.97
    upper = Plot(steps, low, max(losses.max() * 1.01, low + 1e-6), *CURVES)
    upper.axes(f"training loss (cross entropy), means of {WINDOW} steps; a line a seed")
    for color, recipe, curve in curves:
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
    """Returns SVG lines that plot the loss of each run relative to the bf16 run with the same seed,
    in percent."""
    gaps = []
    for color, (recipe, runs) in zip(COLORS, groups.items()):
        for seed, run in runs.items():
            other = groups.get("bf16", {}).get(seed)
            if recipe != "bf16" and other:
                n = min(len(run["loss"]), len(other["loss"]))
                gaps.append((color, per_cent(smooth(run["loss"][:n], WINDOW),
                                             smooth(other["loss"][:n], WINDOW))))
    values = finite(gap for _, gap in gaps)
    if not values.size:
        return []
    most = max(np.abs(values).max() * 1.1, 1e-6)
    lower = Plot(steps, -most, most, *GAPS)
    lower.axes("difference from bf16, % of the loss")
    for color, gap in gaps:
        lower.curve(gap, color, 1.0)
    lower.text(WIDTH - 16, GAPS[1] + 30, "step", text_anchor="end")
    return lower.lines


def bar_lines(groups, column, title, value):
    """Returns SVG lines for a bar chart with the mean over seeds of each recipe."""
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


def write(option, path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise ValueError(f"{option}: expected a file that can be written, found {path}: "
                         f"{error.strerror}") from None


def plot(args):
    runs = [read(path) for path in args.logs]
    compare_options(runs)
    groups = by_recipe(runs)
    if args.out:
        write("-o", args.out, draw(groups))
    if args.table:
        write("--table", args.table, table(groups))
    else:
        sys.stdout.write(table(groups))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+")
    parser.add_argument("-o", dest="out", help="path of the SVG")
    parser.add_argument("--table", help="path of the table (default: print the table)")
    try:
        plot(parser.parse_args())
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
