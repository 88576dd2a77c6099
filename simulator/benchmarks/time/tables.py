# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modelled beside measured times, as tables of Markdown."""

import collections
import itertools
import json
import re
import statistics
import sys

WORST = 10


def error(row):
    """Of the modelled time, in percent."""
    return 100 * (row["modelled_us"] / row["measured_us"] - 1)


def spread(errors):
    """Of absolute errors: median, 90th percentile, worst."""
    sizes = sorted(map(abs, errors))
    tenths = statistics.quantiles(sizes * 2, n=10, method="inclusive") if len(sizes) == 1 else \
        statistics.quantiles(sizes, n=10, method="inclusive")
    return statistics.median(sizes), tenths[-1], sizes[-1]


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |\n"


def header(*cells):
    return line(*cells) + "|---" * len(cells) + "|\n"


def modelled(rows):
    return [row for row in rows if row.get("modelled_us")]


def by(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def summary(rows, key, title):
    """A line for each group, and one for all."""
    text = header(title, "programs", "median", "90th percentile", "worst", "mean, with its sign")
    groups = list(by(rows, key).items())
    for name, found in [*groups, ("all", rows)][:None if len(groups) > 1 else 1]:
        errors = [error(row) for row in found]
        median, tenth, worst = spread(errors)
        text += line(name, len(found), f"{median:.1f} %", f"{tenth:.1f} %", f"{worst:.1f} %",
                     f"{statistics.mean(errors):+.1f} %")
    return text


def times(rows, name):
    text = header("program", "measured, µs", "modelled, µs", "error")
    for row in rows:
        text += line(name(row), f"{row['measured_us']:.2f}", f"{row['modelled_us']:.2f}",
                     f"{error(row):+.1f} %")
    return text


def largest_first(rows):
    return sorted(rows, key=lambda row: -abs(error(row)))


def left_out(rows):
    """Why programs have no modelled time."""
    reasons = collections.Counter(row["failed"].splitlines()[0] for row in rows
                                  if row.get("failed"))
    return "".join(f"\nNot modelled: {count}, {reason}.\n" for reason, count in reasons.items())


# --- Products -------------------------------------------------------------------------


def tau(pairs):
    """Kendall's: how many pairs are in the same order, less those that are not."""
    found = [((a - c) * (b - d) > 0) - ((a - c) * (b - d) < 0)
             for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    return sum(found) / len(found)


def ranking(rows):
    """Of cases with several schedules: what the model's best costs, measured, beside the
    fastest one."""
    text = header("case", "schedules", "the model's best to the fastest", "Kendall's tau")
    for case, found in by(rows, lambda row: row["name"].split(", ")[0]).items():
        if len(found) < 3:
            continue
        best = min(found, key=lambda row: row["modelled_us"])["measured_us"]
        fastest = min(row["measured_us"] for row in found)
        order = tau([(row["measured_us"], row["modelled_us"]) for row in found])
        text += line(case, len(found), f"{best / fastest:.3f}", f"{order:.2f}")
    return text


def of_products(data):
    rows = modelled(data["rows"])
    if not rows:
        return "No program was modelled.\n"
    about = data["about"]
    text = f"Model of {about['commit']}, machine code of ptxas {about['ptxas']}.\n\n"
    text += summary(rows, lambda row: row["family"].split()[0], "family") + left_out(data["rows"])
    worst = largest_first(rows)[:WORST]
    text += f"\nThe largest {len(worst)}:\n\n" + times(worst, lambda row: row["name"])
    ranks = ranking(rows)
    return text + ("\nOrder of schedules of one case:\n\n" + ranks if ranks.count("\n") > 2 else "")


# --- Kernels of other projects --------------------------------------------------------


def full_name(row):
    return f"{row['project']}: {row['kernel']}, {row['shape']}"


def difference(row, key, text="{:+.1f}", relative=False):
    found, true = row.get(f"modelled_{key}"), row.get(f"measured_{key}")
    if found is None or true is None:
        return ""
    return text.format(100 * (found / true - 1) if relative else 100 * (found - true))


def memory(rows):
    text = header("kernel", "L2 hits, ncu", "modelled", "points", "HBM, ncu, MB", "modelled",
                  "error")
    for row in rows:
        if row.get("measured_hits") is None or row.get("modelled_hits") is None:
            continue
        text += line(full_name(row), f"{100 * row['measured_hits']:.1f} %",
                     f"{100 * row['modelled_hits']:.1f} %", difference(row, "hits"),
                     f"{row['measured_hbm_bytes'] / 1e6:.1f}",
                     f"{row['modelled_hbm_bytes'] / 1e6:.1f}",
                     difference(row, "hbm_bytes", "{:+.0f} %", relative=True))
    return text


def pair(row, key, form):
    """Measured, modelled and the error, or nothing."""
    found, true = row.get(f"modelled_{key}"), row.get(f"measured_{key}")
    if found is None or true is None:
        return "", "", ""
    return form.format(true), form.format(found), f"{100 * (found / true - 1):+.1f} %"


def clocks(rows):
    """All of them, the largest error first: after a pause and back to back, and the clock."""
    text = header("kernel", "measured, µs", "modelled", "error", "sustained, µs", "modelled",
                  "error", "MHz", "modelled", "error", "MHz, sustained", "modelled", "error")
    for row in largest_first(rows):
        text += line(full_name(row), *pair(row, "us", "{:.2f}"),
                     *pair(row, "sustained_us", "{:.2f}"), *pair(row, "mhz", "{:.0f}"),
                     *pair(row, "sustained_mhz", "{:.0f}"))
    return text


def of_key(rows, key):
    """Rows that have the key, as if it were their time."""
    return [dict(row, measured_us=row[f"measured_{key}"], modelled_us=row[f"modelled_{key}"])
            for row in rows if f"measured_{key}" in row and f"modelled_{key}" in row]


def spreads(rows):
    """A line for each of what was measured."""
    text = header("", "programs", "median", "90th percentile", "worst")
    for key, title in (("us", "after a pause"), ("sustained_us", "sustained"),
                       ("mhz", "clock after a pause"), ("sustained_mhz", "clock, sustained")):
        found = of_key(rows, key)
        if found:
            sizes = [f"{size:.1f} %" for size in spread([error(row) for row in found])]
            text += line(title, len(found), *sizes)
    return text


def of_others(data):
    """All of them, and L2 and HBM where ncu counted them."""
    rows = modelled(data["kernels"])
    about = data["about"]
    text = f"{about['gpu']}, {about['date']}; model of {about['commit']}.\n\n"
    text += summary(rows, lambda row: row["project"], "project") + left_out(data["kernels"])
    text += "\n" + spreads(rows) + "\n" + clocks(rows)
    counted = memory(rows)
    return text + ("\n" + counted if counted.count("\n") > 2 else "")


def write(page, marker, text):
    """Between a marker and the next heading."""
    content = page.read_text()
    begin = f"<!-- {marker} -->\n"
    if begin not in content:
        sys.exit(f"{page}: expected the marker {begin.strip()}")
    found = re.sub(rf"{begin}.*?(?=\n## |\Z)", lambda _: begin + text, content, flags=re.S)
    page.write_text(found)


def read(path):
    return json.loads(path.read_text())
