#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures matmuls on one GPU against baselines on the same values.

usage: speed.py PROGRAMS [--only=REGEX] [--results=FILE.json] [--seconds=S] [--peers=FILE.py]

For each case the results of mx are checked first. Some rows must be within the bound of
docs/reference/Spec.md of float64, all elements must be close to the baseline, and results of
operands with exact sums must agree in every bit. Then the implementations run in turn in one
process for five rounds, on sets of operands that together exceed the L2. The time of a launch is
computed from the difference between CUDA graphs with n and 2 n launches.

A burst is a few launches after a pause of 12 ms; the median of 12 bursts is reported. Sustained
launches run back to back for S seconds; the median and the SM clock of the second half are
reported. For small M, a CUDA graph of launches over more than 1 GB of weights runs for S / 4
seconds after a pause of 50 ms, and then sustained.

Other cases in FILE.json are kept. report.py prints tables. others.py documents --peers. Needs
PyTorch."""

import argparse
import datetime
import gc
import json
import pathlib
import re

import cases
import implementations
import layer
import mx_compiler as mx
import others
import problems
import timing
import torch


def begin():
    mx.set_device("cuda")
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def release():
    """Frees the memory of a case."""
    gc.collect()
    torch.cuda.empty_cache()


def describe_machine():
    name, driver, power = timing.query("name,driver_version,power.limit")
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(" ", "minutes")
    return dict(gpu=name, driver=driver, power_limit_w=power, torch=torch.__version__, date=date,
                launch=cases.LAUNCH)


def describe(case):
    row = dict(name=case.name, m=case.m, n=case.n, k=case.k, a=case.a, b=case.b,
               packed=case.packed, scale=case.scale)
    return row | {key: getattr(case, key) for key in ("groups", "gradient", "values")
                  if getattr(case, key)}


def run_matmul(case, programs, seconds, find_others):
    problem = problems.make(case)
    ours = [implementations.MxProgram(way, case, programs, problem) for way, _ in case.ways]
    row = describe(case) | dict(wrong=sum(problem.wrong(implementation) for implementation in ours))
    more = find_others(problem)
    if more:
        row |= dict(others_wrong=others.count_wrong(problem, more))
    peers = problem.peers() + more
    if case.few_rows:
        return row | dict(implementations=timing.measure_graphs(ours + peers, seconds))
    brief = problem.brief_peers()
    found = timing.measure_launches(ours + peers + brief, seconds, [i.name for i in brief])
    return row | dict(implementations=found)


def run_layer(case, programs, seconds):
    problem = layer.Problem(case, programs)
    wrong, decibels = layer.compare(problem.ours, problem.peers[0])
    return dict(name=case.name, tokens=case.tokens, experts=case.experts, top=case.top,
                hidden=case.hidden, inner=case.inner, wrong=wrong, decibels=decibels,
                implementations=timing.measure_launches(problem.implementations, seconds))


def run_case(case, programs, seconds, find_others):
    if isinstance(case, cases.Layer):
        row = run_layer(case, programs, seconds)
    else:
        row = run_matmul(case, programs, seconds, find_others)
    for entry in row["implementations"].values():
        for key in ("burst", "sustained"):
            if f"{key}_us" in entry:
                entry[f"{key}_tflops"] = round(case.flops / entry[f"{key}_us"] * 1e-6, 1)
    return row


def show(row):
    print(f"{row['name']}: {row['wrong']} wrong {row.get('decibels', '')}")
    for name, entry in row["implementations"].items():
        text = f"  {name:40}"
        for key in ("burst", "graph", "sustained"):
            if f"{key}_us" in entry:
                text += f" {key} {entry[f'{key}_us']:9.2f} us"
            if f"{key}_tflops" in entry:
                text += f" {entry[f'{key}_tflops']:7.1f} TFLOP/s"
            if f"{key}_spread_us" in entry:
                text += f", spread {entry[f'{key}_spread_us']:.2f} us"
        print(text + f", {entry.get('sm_mhz')} MHz", flush=True)


def write(path, about, rows):
    """Writes the rows of this and earlier runs in the order of the cases. Rows of other runs
    record their date and commit."""
    old = json.loads(path.read_text()) if path.exists() else dict(rows=[])
    known = {row["name"]: row for row in old["rows"]} | {row["name"]: row for row in rows}
    order = [case.name for case in cases.CASES if case.name in known]
    path.write_text(json.dumps(old | dict(about=about, rows=[known[name] for name in order]),
                               indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--peers", type=pathlib.Path)
    options = parser.parse_args()
    begin()
    find_others = others.load(options.peers)
    commit = (options.programs / "commit").read_text().strip()
    about = describe_machine() | dict(commit=commit)
    for case in cases.CASES:
        directories = [options.programs / case.program(way) for way, _ in case.ways]
        if not re.search(options.only, case.name) or not all(d.exists() for d in directories):
            continue
        row = run_case(case, options.programs, options.seconds, find_others)
        row |= dict(commit=commit, date=about["date"])
        show(row)
        if options.results:
            write(options.results, about, [row])
        release()


if __name__ == "__main__":
    main()
