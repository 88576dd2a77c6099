"""Checks the computed tables of docs/performance/Results.md against their formulas.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1], "docs/performance/Results.md").read_text()
T, H, K = 8192, 7168, 8
OUT, BACK = H + H / 32 + 8 * K, 2 * H


def owners(ranks, choices=K):
    """Returns, for each rank, the probability that none of the choices is on that rank."""
    return sum(1 - (1 - 1 / ranks) ** choices for _ in range(int(ranks)))


def rows(first):
    """Returns the table rows whose first cell is a number, as lists of numbers."""
    table = text[text.index(first):].split("\n\n")[0]
    return [[float(x) for x in re.findall(r"\d+(?:\.\d+)?", line)] for line in table.splitlines()
            if re.match(r"\| \d", line)]


def close(found, want, digits):
    assert abs(found - want) <= 0.5001 * 10 ** -digits, (found, want)


found = rows("| R | owners E")
assert [int(row[0]) for row in found] == [2, 4, 8, 16, 64]
for ranks, e, d, exact, everyone, back, back_all, windows, choices in found:
    want = owners(ranks)
    close(e, want, 2)
    close(d, want * (1 - 1 / ranks), 2)
    close(exact, T * want * (1 - 1 / ranks) * OUT / 1e6, 0)
    close(everyone, T * (ranks - 1) * OUT / 1e6, 0)
    close(back, T * want * (1 - 1 / ranks) * BACK / 1e6, 0)
    close(back_all, T * (ranks - 1) * BACK / 1e6, 0)
    close(windows, ranks * T * (OUT + BACK) / 1e9, 2)
    close(choices, 2 * T * K * (1 - 1 / ranks) * 2 * H / 1e6, 0)
for nodes, chosen, others, out_mb, rate, out, back, narrow in rows("| nodes m |"):
    want = nodes * (1 - (1 - 1 / nodes) ** K)
    close(chosen, want, 2)
    close(others, want * 7 / 8, 2)
    for milliseconds, size in (out, OUT), (back, BACK), (narrow, H + H / 32):
        close(milliseconds, T * want * 7 / 8 * size / rate / 1e6, 1)
    close(out_mb, T * want * 7 / 8 * OUT / 1e6, 0)
