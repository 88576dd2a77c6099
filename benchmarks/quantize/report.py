#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the results of speed.py as tables of Markdown, between the markers of
a page that keeps them.

usage: report.py RESULTS.json [docs/performance/Method.md]

Without a page the tables are printed."""

import json
import sys

import cases

BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
NAMES = {"k": "along K", "m": "along M", "both": "both", "ragged": "along M, 32 "
         "groups", "swiglu": "SwiGLU, both", "e2m1": "E2M1 along K",
         "nvfp4": "NVFP4 along K", "amax": "along K, with amax"}
PEERS = ("compiled", "torchao")


def title(result):
    kind, shape = result["case"].split("-")
    return NAMES[kind], shape.replace("x", " × ")


def peer_rates(result):
    return [f"{result[p + '_rate']:.0f}" if p + "_rate" in result else "–"
            for p in PEERS]


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |\n"


def large(results):
    yield row("case", "shape", "bits", "mx, GB/s", "ceiling", "of ceiling",
              "copy", "of copy", "torch.compile", "torchao")
    yield "|---|---|---|---|---|---|---|---|---|---|\n"
    for r in results:
        if not r["limit"]:
            continue
        yield row(*title(r), "equal" if not r["wrong"] else f"{r['wrong']} wrong",
                  f"{r['rate']:.0f}", f"{r['ceiling_rate']:.0f}",
                  f"{r['rate'] / r['ceiling_rate']:.3f}",
                  f"{r['copy_rate']:.0f}", f"{r['rate'] / r['copy_rate']:.3f}",
                  *peer_rates(r))


def small(results):
    yield row("case", "shape", "bits", "mx, µs", "copy, µs", "time over copy",
              "torch.compile, µs", "torchao, µs")
    yield "|---|---|---|---|---|---|---|---|\n"
    for r in results:
        if not r["slowdown"]:
            continue
        mx, copy = r["times"]["mx"], r["times"][r["copy"]]
        peers = [f"{r['times'][p]:.1f}" if p in r["times"] else "–"
                 for p in PEERS]
        yield row(*title(r), "equal" if not r["wrong"] else f"{r['wrong']} wrong",
                  f"{mx:.2f}", f"{copy:.2f}",
                  f"{mx / copy:.3f}", *peers)


def tables(data):
    about = data["about"]
    name, driver, clock, memory, top, _ = [
        part.strip() for part in about["gpu"].split(",")]
    text = (f"{about['date']} UTC, {name}, driver {driver}, SM clock {clock} of "
            f"{top} at the end, memory {memory}, PyTorch {about['torch']}, commit "
            f"{about['commit']}.\n\n")
    text += "".join(large(data["results"])) + "\n"
    text += "".join(small(data["results"]))
    refused = [f"{c.name} ({about['refused'][c.name]})"
               for c in cases.speed_cases() if c.name in about["refused"]]
    if refused:
        text += "\nNot compiled: " + "; ".join(refused) + ".\n"
    return text


def main(results, page=None):
    with open(results) as file:
        text = tables(json.load(file))
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
