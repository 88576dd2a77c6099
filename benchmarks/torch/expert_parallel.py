#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layer of experts divided among the GPUs of a machine, forward and backward: mx compared with
the same layer on one GPU without communication, and with PyTorch in bf16.

    torchrun --nproc-per-node=2 benchmarks/torch/expert_parallel.py > results.jsonl
    torchrun --nproc-per-node=2 benchmarks/torch/expert_parallel.py --device=cpu --tokens=48 \\
        --hidden=64 --intermediate=32 --experts=4 --choices=2 --iterations=3

Output is JSON lines. The first describes the measurement. The second describes the rank group and
compares y and all gradients with PyTorch's all_to_all by relative errors, for mx, PyTorch's
all_gather and DeepEP. Then each system has a line with milliseconds of forward, backward and both:
median and 90th percentile of the iterations, measured by CUDA events around the whole pass. The
slowest rank determines the time of an iteration. Systems run in turn, and ranks synchronize before
each iteration. Wire is the computed number of bytes that a rank sends to others, the maximum over
ranks. Peak memory includes earlier systems. A missing system reports the reason.

PYTHONPATH may name a folder with an unpacked wheel; nothing is downloaded. Exits with 1 if mx
differs from PyTorch by more than --tolerance, or PyTorch's systems differ by more than rounding."""

import argparse
import contextlib
import json
import math
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

import expert_systems as systems
from mx_compiler.torch import ep

RESULTS = "y", "dx", "dw1", "dw2", "dweights"
BF16_TOLERANCE = 0.02  # sums of several values rounded to bf16

def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--tokens", type=int, default=8192, help="of each rank")
    add("--hidden", type=int, default=7168)
    add("--intermediate", type=int, default=2048)
    add("--experts", type=int, default=64, help="of all ranks")
    add("--choices", type=int, default=8)
    add("--capacity", type=int, help="row capacity of a rank; default: all rows that can arrive")
    add("--format", choices=("mxfp8", "mxfp8_fast"), default="mxfp8", help="of mx")
    add("--iterations", type=int, default=30)
    add("--warmup", type=int, default=5)
    add("--seed", type=int, default=0)
    add("--tolerance", type=float, default=0.1)
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--only", action="append", default=[], metavar="WORDS",
        help="run only systems with these words in their name")
    args = parser.parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", "0"))
    if not ranks:
        parser.error("expected WORLD_SIZE in the environment, found none: run under torchrun")
    for name in ("tokens", "hidden", "intermediate", "experts", "choices", "iterations"):
        if getattr(args, name) < 1:
            parser.error(f"--{name}: expected at least 1, found {getattr(args, name)}")
    if args.experts % ranks or args.choices > args.experts // ranks:
        parser.error(f"--experts: expected a multiple of {ranks}, the ranks, and at least "
                     f"{args.choices} for each, found {args.experts}")
    return args


class Clock:
    """Times of iterations, measured on the device."""

    def __init__(self, device):
        self.on_gpu, self.device = device.type == "cuda", device
        self._meet = torch.zeros(1, device=device)

    def meet(self):
        """Synchronizes the ranks; on a GPU the host does not wait."""
        dist.all_reduce(self._meet)

    def mark(self):
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first, second):
        return first.elapsed_time(second) if self.on_gpu else (second - first) * 1e3

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()


def run_once(system, clock):
    """Returns marks around forward and backward."""
    clock.meet()
    begin = clock.mark()
    _, kept = system.forward()
    middle = clock.mark()
    system.backward(kept)
    return begin, middle, clock.mark()


def time_systems(found, clock, iterations):
    """Returns milliseconds of forward and backward for each iteration, of the slowest rank, for
    each system. Systems run in rotating order, so that all run at the same GPU clocks."""
    marks = [[] for _ in found]
    for iteration in range(iterations):
        for place in range(len(found)):
            number = (iteration + place) % len(found)
            marks[number].append(run_once(found[number], clock))
    clock.wait()
    lines = []
    for own in marks:
        times = torch.tensor([[clock.between(a, b), clock.between(b, c), clock.between(a, c)]
                              for a, b, c in own], dtype=torch.float64, device=clock.device)
        dist.all_reduce(times, dist.ReduceOp.MAX)
        lines.append({name: summary(column) for name, column in zip(
            ("forward_ms", "backward_ms", "both_ms"), times.T.tolist())})
    return lines


def summary(times):
    ordered = sorted(times)
    return {"median": round(statistics.median(times), 4),
            "p90": round(ordered[math.ceil(0.9 * len(ordered)) - 1], 4)}


def relative_errors(system, wanted):
    """Returns the largest relative errors of y and of the gradients on any rank."""
    y, kept = system.forward()
    found = torch.stack([(a.float() - b.float()).norm() / b.float().norm()
                         for a, b in zip((y, *system.backward(kept)), wanted)])
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return dict(zip(RESULTS, [round(x, 5) for x in found.tolist()]))


def compare(problem, group, tolerance):
    """Returns the errors of the systems, and whether they are small."""
    reference = systems.AllToAll(problem)
    y, kept = reference.forward()
    wanted = y, *reference.backward(kept)
    found = [systems.Mx(problem, group, problem.ids), systems.AllGather(problem)]
    with contextlib.suppress(ImportError):
        found.append(systems.DeepEP(problem))
    errors = {system.name: relative_errors(system, wanted) for system in found}
    limits = {systems.Mx.name: tolerance}
    right = all(max(errors[name].values()) <= limits.get(name, BF16_TOLERANCE) for name in errors)
    return errors, right


def say(line):
    if dist.get_rank() == 0:
        print(json.dumps(line), flush=True)


def describe(args, device):
    return {"benchmark": "expert_parallel", **{name: value for name, value in vars(args).items()
                                               if name not in ("only", "device")},
            "ranks": dist.get_world_size(), "torch": torch.__version__,
            "mx": systems.mx_version(), "nccl": systems.nccl_version(),
            "hardware": torch.cuda.get_device_name() if device.type == "cuda" else "the processor"}


def try_system(name, make, clock, warmup):
    """Returns the warmed-up system and all facts except its times. If a rank cannot run the
    system, it is None and the line states the reason."""
    system, reason = None, None
    if clock.on_gpu:
        torch.cuda.reset_peak_memory_stats()
    try:
        system = make()
        run_once(system, clock)
    except Exception as error:  # errors of other projects are reported
        system, reason = None, f"{type(error).__name__}: {error}".splitlines()[0]
    reasons = [None] * dist.get_world_size()
    dist.all_gather_object(reasons, reason)
    if any(reasons):
        return None, {"system": name, "left_out": next(r for r in reasons if r)}
    for _ in range(warmup - 1):
        run_once(system, clock)
    wire = torch.tensor(system.wire(), dtype=torch.int64, device=clock.device)
    dist.all_reduce(wire, dist.ReduceOp.MAX)
    line = {"system": name, "wire_bytes": dict(zip(("forward", "backward"), wire.tolist()))}
    if clock.on_gpu:
        line["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return system, line


def main():
    args = parse()
    if args.device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        device = torch.device("cuda", torch.cuda.current_device())
        dist.init_process_group("nccl", device_id=device)
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    group, alone = ep.Group(tokens=args.tokens), ep.Group.alone(tokens=args.tokens)
    problem = systems.Problem(args, dist.get_rank(), dist.get_world_size(), device)
    clock = Clock(device)
    say(describe(args, device))
    errors, right = compare(problem, group, args.tolerance)
    say({"errors": errors, "right": right, "group": group.describe()})
    tried = [try_system(name, make, clock, args.warmup)
             for name, make in systems.make_systems(problem, group, alone, args.only)]
    timed = [(system, line) for system, line in tried if system is not None]
    times = time_systems([system for system, _ in timed], clock, args.iterations)
    for (_, line), own in zip(timed, times):
        line.update(own)
    for _, line in tried:
        say(line)
    group.check()
    sys.stdout.flush()
    # Destroying the process group can hang in PyTorch 2.11.
    os._exit(not right)


if __name__ == "__main__":
    main()
