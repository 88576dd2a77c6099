#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints Markdown tables from results of speed.py.

usage: report.py FILE

FILE is raw JSON, or CSV as in benchmarks/results/quantizers.csv."""

import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from published import header, load, row

NAMES = {"k": "along K", "m": "along M", "both": "both", "ragged": "along M, 32 "
         "groups", "swiglu": "SwiGLU, both", "e2m1": "E2M1 along K",
         "nvfp4": "NVFP4 along K", "amax": "along K, with amax", "swiglu_k": "SwiGLU, along K",
         "swiglu_m": "SwiGLU, along M"}


def title(result):
    kind, shape = result["case"].split("-")
    return NAMES[kind], shape.replace("x", " × ")


def bits(result):
    return "equal" if not result["wrong"] else f"{result['wrong']} wrong"


def tables(results):
    text = header("case", "shape", "bits", "mx, GB/s", "ceiling", "of ceiling", "copy", "of copy",
                  "torch.compile")
    for r in (r for r in results if "mx_gb_s" in r):
        text += row(*title(r), bits(r), r["mx_gb_s"], r["ceiling_gb_s"], f"{r['mx_gb_s'] / r['ceiling_gb_s']:.3f}",
                    r["copy_gb_s"], f"{r['mx_gb_s'] / r['copy_gb_s']:.3f}", r.get("compile_gb_s", "–"))
    text += "\n" + header("case", "shape", "bits", "mx, µs", "copy, µs", "time over copy", "torch.compile, µs")
    for r in (r for r in results if "copy_us" in r):
        text += row(*title(r), bits(r), f"{r['mx_us']:.2f}", f"{r['copy_us']:.2f}",
                    f"{r['mx_us'] / r['copy_us']:.3f}",
                    f"{r['compile_us']:.1f}" if "compile_us" in r else "–")
    return text + folded_table([r for r in results if "unfolded_us" in r])


def folded_table(results):
    """Returns a table of folding quantizers by kind and block."""
    groups = {}
    for r in results:
        kind, _, fold = r["case"].split("-")
        groups.setdefault((kind, fold), []).append(r)
    text = "\n" + header("quantizer", "block", "shapes", "wrong bytes", "to MX: median", "worst", "to bf16: median", "worst")
    for (kind, fold), rows in groups.items():
        cells = []
        for peer in ("unfolded_us", "widened_us"):
            ratios = [r[peer] / r["mx_us"] for r in rows if peer in r]
            cells += [f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}"] if ratios else ["–", "–"]
        text += row(NAMES[kind], fold, len(rows), sum(r["wrong"] for r in rows), *cells)
    return text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(tables(load("quantizers", sys.argv[1:])[1]), end="")
