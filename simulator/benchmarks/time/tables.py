# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markdown tables of modelled and measured times."""

import collections
import itertools
import statistics

from published import header, row as line

WORST = 10


def error(row):
    """Returns the error of the modelled time in percent."""
    return 100 * (row["modelled_us"] / row["measured_us"] - 1)


def spread(errors):
    """Returns median, 90th percentile and maximum of the absolute errors."""
    sizes = sorted(map(abs, errors))
    tenths = statistics.quantiles(sizes * 2, n=10, method="inclusive") if len(sizes) == 1 else \
        statistics.quantiles(sizes, n=10, method="inclusive")
    return statistics.median(sizes), tenths[-1], sizes[-1]


def modelled(rows):
    return [row for row in rows if row.get("modelled_us")]


def by(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def summary(rows, key, title):
    """Returns a table with a row for each group and for all rows."""
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


# --- Matmuls --------------------------------------------------------------------------


def tau(pairs):
    """Returns Kendall's tau: the share of concordant pairs minus the share of discordant pairs."""
    found = [((a - c) * (b - d) > 0) - ((a - c) * (b - d) < 0)
             for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    return sum(found) / len(found)


def ranking(rows):
    """Returns a table of the cases with several schedules. It gives the measured time of the
    model's first schedule, relative to the fastest schedule."""
    text = header("case", "schedules", "the model's best to the fastest", "Kendall's tau")
    for case, found in by(rows, lambda row: row["name"].split(", ")[0]).items():
        if len(found) < 3:
            continue
        best = min(found, key=lambda row: row["modelled_us"])["measured_us"]
        fastest = min(row["measured_us"] for row in found)
        order = tau([(row["measured_us"], row["modelled_us"]) for row in found])
        text += line(case, len(found), f"{best / fastest:.3f}", f"{order:.2f}")
    return text


def of_matmul(programs):
    rows = modelled(programs)
    if not rows:
        return "No program was modelled.\n"
    text = summary(rows, lambda row: row["family"].split()[0], "family")
    if len(rows) < len(programs):
        text += f"\nNot modelled: {len(programs) - len(rows)}.\n"
    worst = largest_first(rows)[:WORST]
    text += f"\nThe largest {len(worst)}:\n\n" + times(worst, lambda row: row["name"])
    ranks = ranking(rows)
    return text + ("\nOrder of schedules of one case:\n\n" + ranks if ranks.count("\n") > 2 else "")


# --- Kernels of other projects --------------------------------------------------------


def full_name(row):
    return f"{row['project']}: {row['kernel']}, {row['shape']}"


def pair(row, key, form):
    """Returns measured value, modelled value and error, or empty cells."""
    found, true = row.get(f"modelled_{key}"), row.get(f"measured_{key}")
    if found is None or true is None:
        return "", "", ""
    return form.format(true), form.format(found), f"{100 * (found / true - 1):+.1f} %"


def clocks(rows):
    """Returns a table of times after a pause, times back to back, and clocks, sorted by
    descending error."""
    text = header("kernel", "measured, µs", "modelled", "error", "sustained, µs", "modelled",
                  "error", "MHz", "modelled", "error", "MHz, sustained", "modelled", "error")
    for row in largest_first(rows):
        text += line(full_name(row), *pair(row, "us", "{:.2f}"),
                     *pair(row, "sustained_us", "{:.2f}"), *pair(row, "mhz", "{:.0f}"),
                     *pair(row, "sustained_mhz", "{:.0f}"))
    return text


def of_key(rows, key):
    """Returns the rows that contain the key, with its values as times."""
    return [dict(row, measured_us=row[f"measured_{key}"], modelled_us=row[f"modelled_{key}"])
            for row in rows if f"measured_{key}" in row and f"modelled_{key}" in row]


def spreads(rows):
    """Returns a table with a row for each measured quantity."""
    text = header("", "programs", "median", "90th percentile", "worst")
    for key, title in (("us", "after a pause"), ("sustained_us", "sustained"),
                       ("mhz", "clock after a pause"), ("sustained_mhz", "clock, sustained")):
        found = of_key(rows, key)
        if found:
            sizes = [f"{size:.1f} %" for size in spread([error(row) for row in found])]
            text += line(title, len(found), *sizes)
    return text


def of_kernels(kernels):
    rows = modelled(kernels)
    return summary(rows, lambda row: row["project"], "project") + "\n" + spreads(rows) + "\n" + clocks(rows)
