#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products on one GPU beside cuBLAS on the dequantized values.

usage: speed.py PROGRAMS [--only=REGEX] [--results=FILE.json] [--seconds=S]

For each case the result is compared first: with float64 in some rows, within
the bound of docs/Spec.md, and with cuBLAS everywhere. Then contestants take
turns in one process, on sets of operands that together are larger than the L2.
Burst: one launch after a pause of 12 ms and two launches, the median of 12.
Sustained: back to back for S seconds, the median of the second half, with the
clock of the SMs in that half. With few rows instead: a CUDA graph of launches
that go through more than 1 GB of weights, five rounds in turn. report.py makes a table of the results. Needs
PyTorch."""

import argparse
import datetime
import gc
import json
import pathlib
import re
import statistics
import subprocess
import time

import cases
import mx
import torch
from operands import Operand

L2_BYTES = 60 << 20


def query(fields):
    text = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True).stdout
    return [part.strip() for part in text.split("\n")[0].split(",")]


class MxProduct:
    name = "mx"

    def __init__(self, case, programs, sets):
        self.case, self.kept = case, []
        self.program = mx.Program(str(programs / case.name))
        self.entry = self.program["main"]
        self.sets = [self.wrap(*pair) for pair in sets]
        self.out = torch.empty(case.m, case.n, dtype=torch.bfloat16, device="cuda")
        value = self.entry.results[0]
        self.results = [mx.DeviceArray.from_pointer(self.out.data_ptr(), (case.m, case.n),
                                                    value.dtype)]
        self.workspace = self.entry.make_workspace(*self.sets[0])

    def pack(self, elements):
        """The weights in the order in which threads hold them, ahead of time."""
        pack = self.program["pack"]
        value = pack.results[0]
        # 64 x 64 elements are 128 threads' (docs/Spec.md); these cases have whole tiles.
        tiles = (self.case.n // 64, self.case.k // 64)
        packed = torch.empty(*tiles, 128, elements.numel() // (tiles[0] * tiles[1] * 128),
                             dtype=torch.uint8, device="cuda")
        arrays = [mx.DeviceArray.from_pointer(t.data_ptr(), tuple(t.shape), value.dtype)
                  for t in (elements, packed)]
        pack.launch(arrays[:1], arrays[1:], pack.make_workspace(*arrays[:1]),
                    torch.cuda.current_stream().cuda_stream)
        return packed

    def wrap(self, a, b):
        elements = self.pack(b.elements) if self.case.packed else b.elements
        tensors = [t for t in (a.elements, a.scales, elements, b.scales) if t is not None]
        self.kept += tensors
        return [mx.DeviceArray.from_pointer(t.data_ptr(), tuple(t.shape), value.dtype)
                for t, value in zip(tensors, self.entry.arguments)]

    def launch(self, index):
        self.entry.launch(self.sets[index], self.results, self.workspace,
                          torch.cuda.current_stream().cuda_stream)


class CublasProduct:
    name = "cuBLAS bf16, dequantized values"

    def __init__(self, case, sets):
        self.sets = [(a.values, b.values.t()) for a, b in sets]
        self.out = torch.empty(case.m, case.n, dtype=torch.bfloat16, device="cuda")

    def launch(self, index):
        torch.mm(*self.sets[index], out=self.out)


def check(case, product, pair):
    """Elements beyond the bound of docs/Spec.md, in rows spread over the result,
    and elements that differ from cuBLAS by more than a rounding."""
    product.out.fill_(float("nan"))
    product.launch(0)
    torch.cuda.synchronize()
    a, b = (operand.values for operand in pair)
    rows = torch.linspace(0, case.m - 1, 64, device="cuda").long()
    wide, high = a[rows].double(), b.double()
    exact = wide @ high.t()
    total = wide.abs() @ high.abs().t()
    found = product.out[rows].double()
    steps = 4 * -(-case.k // 64)
    bound = steps * 5 * 2.0**-23 * total
    bound += (exact.abs() + bound) * 2.0**-8  # rounded to bf16
    wrong = int((~((found - exact).abs() <= bound)).sum())
    del wide, high, total, exact
    peer = torch.mm(a, b.t()).float()
    scale = peer.abs().amax() * 2.0**-7
    wrong += int((~((product.out.float() - peer).abs() <= scale)).sum())
    return wrong


def burst(contestant, count=12):
    times = []
    for i in range(count):
        contestant.launch(i % len(contestant.sets))
        torch.cuda.synchronize()
        time.sleep(0.012)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        contestant.launch((i + 1) % len(contestant.sets))
        begin.record()
        contestant.launch((i + 2) % len(contestant.sets))
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def sustained(contestant, seconds):
    """Median time of batches in the second half, and the clock there in MHz."""
    batch, begin, times, clock = 20, time.monotonic(), [], None
    while clock is None or time.monotonic() - begin < seconds:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        for i in range(batch):
            contestant.launch(i % len(contestant.sets))
        events[1].record()
        if time.monotonic() - begin > seconds / 2:
            # While the launches run.
            clock = clock or int(query("clocks.sm")[0])
        torch.cuda.synchronize()
        if clock:
            times.append(events[0].elapsed_time(events[1]) * 1e-3 / batch)
    return statistics.median(times), clock


def capture(contestant):
    """A CUDA graph that goes through all operands."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(len(contestant.sets)):
            contestant.launch(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # What the last case left must not be freed now: that would end the capture.
    gc.collect()
    gc.disable()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(len(contestant.sets)):
            contestant.launch(i)
    gc.enable()
    return graph


def replay(graph, launches, seconds):
    """Median time of a launch, and the clock in MHz."""
    times, begin, clock = [], time.monotonic(), None
    while clock is None or time.monotonic() - begin < seconds:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        graph.replay()
        events[1].record()
        if time.monotonic() - begin > seconds / 2:
            clock = clock or int(query("clocks.sm")[0])
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[1]) * 1e-3 / launches)
    return statistics.median(times), clock


def run_few_rows(contestants, row):
    """Five rounds in turn: microseconds, and the spread of the rounds."""
    graphs = [capture(contestant) for contestant in contestants]
    rounds = [[] for _ in contestants]
    for _ in range(5):
        for graph, contestant, of_it in zip(graphs, contestants, rounds):
            of_it.append(replay(graph, len(contestant.sets), 0.15))
    for contestant, of_it in zip(contestants, rounds):
        times = [taken * 1e6 for taken, _ in of_it]
        row["contestants"][contestant.name] = dict(
            graph_us=round(statistics.median(times), 2),
            spread_us=round(max(times) - min(times), 2), sm_mhz=of_it[-1][1])
    return row


def run_case(case, programs, seconds):
    size = (case.m + case.n) * case.k
    count = max(2, -(-2 * L2_BYTES // size))
    if case.m <= cases.FEW_ROWS:  # of the smaller of both contestants' weights
        bits = 4 if case.b == "f4E2M1FN" else 8
        count = -(-(1 << 30) // (case.n * case.k * bits // 8))
    sets = [tuple(Operand(element, case.scale, rows, case.k)
                  for element, rows in ((case.a, case.m), (case.b, case.n))) for _ in range(count)]
    product = MxProduct(case, programs, sets)
    wrong = check(case, product, sets[0])
    contestants = [product, CublasProduct(case, sets)]
    row = dict(name=case.name, m=case.m, n=case.n, k=case.k, a=case.a, b=case.b, packed=case.packed,
               scale=case.scale, wrong=wrong, contestants={})
    if case.m <= cases.FEW_ROWS:
        return run_few_rows(contestants, row)
    for contestant in contestants:
        entry = dict(burst_tflops=round(case.flops / burst(contestant) * 1e-12, 1))
        row["contestants"][contestant.name] = entry
    # In turn, twice: the first is hotter for the second.
    for _ in range(2):
        for contestant in contestants:
            taken, clock = sustained(contestant, seconds)
            row["contestants"][contestant.name].update(
                sustained_tflops=round(case.flops / taken * 1e-12, 1), sm_mhz=clock)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.8)
    options = parser.parse_args()
    mx.set_device("cuda")
    name, driver, power = query("name,driver_version,power.limit")
    rows = []
    print(f"{'case':28}{'wrong':>6}{'mx burst':>10}{'cuBLAS':>8}{'ratio':>7}"
          f"{'mx sust.':>10}{'cuBLAS':>8}{'ratio':>7}", flush=True)
    for case in cases.CASES:
        if not re.search(options.only, case.name) or not (options.programs / case.name).exists():
            continue
        row = run_case(case, options.programs, options.seconds)
        rows.append(row)
        ours, peer = row["contestants"].values()
        if "graph_us" in ours:
            print(f"{case.name:28}{row['wrong']:6}  in a graph: mx {ours['graph_us']:.2f} us, cuBLAS "
                  f"{peer['graph_us']:.2f} us, {peer['graph_us'] / ours['graph_us']:.2f} times",
                  flush=True)
            torch.cuda.empty_cache()
            continue
        cells = []
        for key in ("burst_tflops", "sustained_tflops"):
            cells += [ours[key], peer[key], ours[key] / peer[key]]
        print(f"{case.name:28}{row['wrong']:6}{cells[0]:10.1f}{cells[1]:8.1f}{cells[2]:7.2f}"
              f"{cells[3]:10.1f}{cells[4]:8.1f}{cells[5]:7.2f}", flush=True)
        gc.collect()
        torch.cuda.empty_cache()
    if options.results:
        commit = (options.programs / "commit").read_text().strip()
        about = dict(gpu=name, driver=driver, power_limit_w=power, torch=torch.__version__,
                     commit=commit, date=datetime.datetime.now(datetime.timezone.utc).isoformat(
                         " ", "minutes"))
        options.results.write_text(json.dumps(dict(about=about, rows=rows), indent=1) + "\n")


if __name__ == "__main__":
    main()
