#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds the time of a training step to the results of speed.py.

usage: training.py RESULTS.json BF16.jsonl MXFP8.jsonl

The logs come from runs of examples/train_moe_torch.py that differ only in the recipe. The first
fifth of the steps is warm-up. The rest is divided into five rounds, each with its median; their
median and spread are stored."""

import datetime
import json
import pathlib
import statistics
import sys

NAME = "training-step"
ROUNDS = 5


def read(path):
    """Returns (description of the run, milliseconds of its steps)."""
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return lines[0], [line["ms"] for line in lines if "step" in line]


def summary(milliseconds):
    counted = milliseconds[len(milliseconds) // 5:]
    size = len(counted) // ROUNDS
    if not size:
        sys.exit(f"expected at least {2 * ROUNDS} steps, found {len(milliseconds)}")
    medians = [statistics.median(counted[i * size:(i + 1) * size]) for i in range(ROUNDS)]
    return dict(sustained_us=round(statistics.median(medians) * 1000, 1),
                sustained_spread_us=round((max(medians) - min(medians)) * 1000, 1))


def result(bf16, mxfp8, date):
    """Returns a row in the form of speed.py."""
    (about, peer), (same, ours) = read(bf16), read(mxfp8)
    options = dict(about["run"])
    if options.pop("recipe") != "bf16" or options != {
            name: value for name, value in same["run"].items() if name != "recipe"}:
        sys.exit(f"expected runs that differ only in their recipe, bf16 first, found {about['run']} "
                 f"and {same['run']}")
    return dict(name=NAME, date=date, gpu=about["hardware"], torch=about["torch"], run=options,
                parameters=about["parameters"], recipe=same["run"]["recipe"],
                implementations={"mx": summary(ours), "torch bf16": summary(peer)})


def main(results, bf16, mxfp8):
    path = pathlib.Path(results)
    data = json.loads(path.read_text())
    # The logs contain no date, so the file's date is used.
    date = datetime.datetime.fromtimestamp(pathlib.Path(mxfp8).stat().st_mtime, datetime.timezone.utc)
    data["training"] = result(bf16, mxfp8, date.isoformat(" ", "minutes"))
    path.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
