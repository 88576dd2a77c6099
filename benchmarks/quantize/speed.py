#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the quantizers on one GPU against the memory ceiling.

usage: speed.py BUNDLE [--only=NAME,...] [--rounds=N] [--peers]
                [--folded=SEED] [--results=FILE.json]

For each case all result bits are compared with the formula. Then mx, the ceiling kernels and
the copies are replayed from CUDA graphs in turn, on rotating inputs larger than the L2, and
medians are reported. Ceiling and copy are the fastest kernels of their kind. --peers adds
torch.compile. --folded measures folding quantizers beside the MX quantizers of the same values.
Needs PyTorch."""

import argparse
import datetime
import gc
import json
import os
import statistics
import subprocess
import sys

import cases
import expected
import implementations
import mx_compiler as mx
import torch
from cuda_driver import Driver, Module

L2_BYTES = 60 << 20
POISON = 0x5A


def random_input(case):
    """Returns bits of roughly normal values with a random magnitude for each block, and a few
    zeros, infinities and NaN."""
    count = case.rows * case.columns
    x = torch.empty(case.rows, case.columns, dtype=torch.bfloat16, device="cuda")
    x.normal_()
    scale = torch.randint(-20, 20, (count // 32, 1), device="cuda")
    x.view(-1, 32).mul_(torch.exp2(scale.float()).to(torch.bfloat16))
    special = torch.tensor([0.0, -0.0, float("inf"), float("nan"), 1e-39, 3e38],
                           dtype=torch.bfloat16, device="cuda")
    where = torch.randint(0, count, (count // 20000,), device="cuda")
    x.view(-1)[where] = special[torch.randint(0, 6, where.shape, device="cuda")]
    return x.view(torch.int16)


def make_sets(case, entry, inputs=None):
    """Returns sets of buffers that exceed the L2 several times, at least two, with random or
    the given inputs."""
    size = sum(case.data_bytes(cases.random_offsets(case)
                               if case.groups else None))
    offsets = cases.random_offsets(case) if case.groups else None
    count = max(2, -(-4 * L2_BYTES // size))
    inputs = inputs or [[random_input(case) for _ in range(case.inputs)] for _ in range(count)]
    return [implementations.BufferSet(case, entry, arrays, offsets) for arrays in inputs]


def count_wrong(case, launch, buffers):
    for result in buffers.results:
        result.fill_(POISON)
    launch(buffers)
    torch.cuda.synchronize()
    return sum(expected.count_unequal(torch, case, buffers.arrays,
                                      buffers.results, buffers.offsets))


def capture(launch, sets, repeats):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        launch(sets[0])
        launch(sets[-1])
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            for buffers in sets:
                launch(buffers)
    graph.replay()
    return graph


def measure(launchers, sets, rounds, size=None):
    """Returns the microseconds of one run of each launcher: the median of the rounds. A graph
    writes about 2 GB of results, of which `size` bytes are of all sets."""
    size = size or sum(r.numel() for b in sets for r in b.results)
    repeats = max(1, int(2e9 // size)) if size < 1e9 else 1
    graphs, times = {}, {}
    for name, launch in launchers.items():
        try:
            graphs[name] = capture(launch, sets, repeats)
            times[name] = []
        except Exception as error:  # baselines that fail are not measured
            print(f"  {name}: {str(error).strip().splitlines()[0]}")
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * len(graphs))]
    for i in range(rounds):
        order = list(graphs)
        order = order[i % len(order):] + order[:i % len(order)]
        for j, name in enumerate(order):
            events[2 * j].record()
            graphs[name].replay()
            events[2 * j + 1].record()
        torch.cuda.synchronize()
        for j, name in enumerate(order):
            elapsed = events[2 * j].elapsed_time(events[2 * j + 1])
            times[name].append(elapsed * 1e3 / (repeats * len(sets)))
    return {name: statistics.median(t) for name, t in times.items()}


def run_folded(options, seed):
    """Measures each folding quantizer in turn with the MX quantizer and, along rows, with the
    quantizer to bf16. Yields a result for each."""
    groups = {}
    for case in cases.find(options.only, cases.folded_cases(seed)):
        groups.setdefault("-".join(case.name.split("-")[:2]), []).append(case)
    for name, group in groups.items():
        launchers, sets, wrong = {}, {}, {}
        for case in group:
            entry = mx.Program(os.path.join(options.bundle, "programs", case.name))["main"]
            arrays = None if not sets else [b.arrays for b in next(iter(sets.values()))]
            sets[case.name] = make_sets(case, entry, arrays)
            launch = implementations.quantizer(entry)
            if not case.widened:
                wrong[case.name] = count_wrong(case, launch, sets[case.name][0])
            launchers[case.name] = lambda i, launch=launch, own=sets[case.name]: launch(own[i])
        indices = range(min(map(len, sets.values())))
        size = group[0].rows * group[0].columns
        times = measure(launchers, indices, options.rounds, size * len(indices))
        for case in group[1:]:
            if not case.widened:
                yield {"case": case.name, "seed": seed, "wrong": wrong[case.name] + wrong[name],
                       "times": {"mx": times[case.name], "unfolded": times[name]} |
                                ({"widened": times[f"{name}-widened"]} if f"{name}-widened" in times else {})}
        del launchers, sets
        torch.cuda.empty_cache()


def best(times, prefix):
    return min((t, n) for n, t in times.items() if n.startswith(prefix))


def run_case(case, entry, module, options):
    sets = make_sets(case, entry)
    launch = implementations.quantizer(entry)
    result = {"case": case.name, "schedule": case.schedule,
              "limit": case.limit, "slowdown": case.slowdown}
    result["wrong"] = count_wrong(case, launch, sets[0])
    result["bytes"] = int(sum(case.data_bytes(sets[0].offsets)))
    launchers = {"mx": launch}
    launchers.update(implementations.ceilings(case, module))
    if not options.tune:
        launchers.update(implementations.copies(case, module, result["bytes"], sets))
    if options.peers and (peer := implementations.compiled(case)):
        launchers["compiled"] = peer
    result["times"] = times = measure(launchers, sets, options.rounds)
    # The ceiling of ragged groups excludes padding, so rates are compared.
    dense = int(sum(case.data_bytes([case.rows] * max(1, case.groups))))
    rate = lambda time, size=result["bytes"]: size / time / 1e3
    result["rate"] = rate(times["mx"])
    ceiling, result["ceiling"] = best(times, "ceiling")
    result["ceiling_rate"] = rate(ceiling, dense)
    if not options.tune:
        copy, result["copy"] = best(times, "copy")
        result["copy_rate"] = rate(copy)
    if "compiled" in times:
        result["compiled_rate"] = rate(times["compiled"])
    return result


def describe(result):
    r = result
    line = (f"{r['case']:22} {r['wrong']:8} wrong {r['times']['mx']:9.1f} us "
            f"{r['rate']:6.0f} GB/s, {r['rate'] / r['ceiling_rate']:.3f} of the "
            f"ceiling {r['ceiling_rate']:5.0f} ({r['ceiling'][8:]})")
    if "copy_rate" in r:
        line += (f", {r['rate'] / r['copy_rate']:.3f} of the copy "
                 f"{r['copy_rate']:5.0f} ({r['copy'][5:]})")
    if "compiled_rate" in r:
        line += f", compiled {r['compiled_rate']:5.0f}"
    return line


def query_gpu():
    query = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw"
    done = subprocess.run(["nvidia-smi", f"--query-gpu={query}",
                           "--format=csv,noheader"], capture_output=True,
                          text=True)
    return done.stdout.strip()


def save(path, facts, results):
    """Saves results after each case, so that an interrupted run is not lost."""
    if not path:
        return
    with open(path, "w") as file:
        json.dump({"about": facts, "results": results}, file, indent=1)


def about(bundle):
    """Returns the description of machine and code for a table of results."""
    with open(os.path.join(bundle, "bundle.json")) as file:
        facts = json.load(file)
    facts["gpu"] = query_gpu()
    facts["torch"] = torch.__version__
    facts["date"] = datetime.datetime.now(datetime.timezone.utc).isoformat(
        " ", "minutes")
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bundle")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--tune", action="store_true",
                        help="the schedules of tune.py")
    parser.add_argument("--folded", type=int, metavar="SEED",
                        help="folding quantizers of random shapes")
    parser.add_argument("--results")
    options = parser.parse_args()
    torch.manual_seed(3)
    torch.zeros(1, device="cuda")  # creates the primary context
    module = Module(Driver(), os.path.join(options.bundle, "ceiling.cubin"))
    mx.set_device("cuda")
    facts = about(options.bundle)
    results, failures = [], 0
    timed = list(cases.speed_cases())
    if options.folded is not None:
        timed = []
        for result in run_folded(options, options.folded):
            results.append(result)
            failures += result["wrong"] != 0
            print(result["case"], result["wrong"], "wrong",
                  {name: round(us, 1) for name, us in result["times"].items()}, flush=True)
            save(options.results, facts, results)
    if options.tune:
        import tune
        timed = tune.variants()
    for case in cases.find(options.only, timed):
        if case.name in facts["refused"]:
            print(f"{case.name}: not compiled: {facts['refused'][case.name]}")
            continue
        try:
            entry = mx.Program(os.path.join(options.bundle, "programs", case.name))["main"]
            results.append(run_case(case, entry, module, options))
            failures += results[-1]["wrong"] != 0
            print(describe(results[-1]), flush=True)
            save(options.results, facts, results)
        except (RuntimeError, OSError, ValueError) as error:
            print(f"{case.name}: {error}", flush=True)
            failures += 1
        gc.collect()
        torch.cuda.empty_cache()
    facts["gpu"] = query_gpu()
    save(options.results, facts, results)
    print(f"{len(results)} cases, {failures} failures; {facts['gpu']}")
    return 1 if failures or not results else 0


if __name__ == "__main__":
    sys.exit(main())
