# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of contestants: objects with a name, a count of sets of operands, and
launch(index)."""

import gc
import statistics
import subprocess
import time

import torch

ROUNDS = 5
PAUSE = 0.05


def query(fields):
    text = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True).stdout
    return [part.strip() for part in text.split("\n")[0].split(",")]


def clock():
    """Of the SMs, in MHz."""
    try:
        return torch.cuda.clock_rate()
    except (ImportError, RuntimeError):  # no pynvml
        return int(query("clocks.sm")[0])


def events():
    return [torch.cuda.Event(enable_timing=True) for _ in range(2)]


def seconds_between(begin, end):
    return begin.elapsed_time(end) * 1e-3


def burst(contestant, count=12):
    """One launch after a pause and two launches: the median."""
    times = []
    for i in range(count):
        contestant.launch(i % contestant.count)
        torch.cuda.synchronize()
        time.sleep(0.012)
        begin, end = events()
        contestant.launch((i + 1) % contestant.count)
        begin.record()
        contestant.launch((i + 2) % contestant.count)
        end.record()
        torch.cuda.synchronize()
        times.append(seconds_between(begin, end))
    return statistics.median(times)


def sustained(contestant, seconds, once):
    """Median time of batches in the second half of `seconds`, and the clock
    there. A launch takes about `once`."""
    batch = max(1, min(20, int(0.03 / once)))
    start, times, mhz = time.monotonic(), [], None
    while not times or time.monotonic() - start < seconds:
        begin, end = events()
        begin.record()
        for i in range(batch):
            contestant.launch(i % contestant.count)
        end.record()
        late = time.monotonic() - start > seconds / 2
        if late:
            mhz = mhz or clock()  # while the launches run
        end.synchronize()
        if late:
            times.append(seconds_between(begin, end) / batch)
    return statistics.median(times), mhz or clock()


def capture(contestant):
    """A CUDA graph that goes through all operands."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(contestant.count):
            contestant.launch(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # What the last case left must not be freed now: that would end the capture.
    gc.collect()
    gc.disable()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(contestant.count):
            contestant.launch(i)
    gc.enable()
    return graph


def replay(graph, launches, seconds, steady):
    """Median time of a launch, and the clock in MHz; if `steady`, in the second
    half of `seconds`."""
    times, start, mhz = [], time.monotonic(), None
    while not times or time.monotonic() - start < seconds:
        begin, end = events()
        begin.record()
        graph.replay()
        end.record()
        late = time.monotonic() - start > seconds / 2
        if late:
            mhz = mhz or clock()
        end.synchronize()
        if late or not steady:
            times.append(seconds_between(begin, end) / launches)
    return statistics.median(times), mhz or clock()


def summary(rounds, key):
    """Microseconds: the median of the rounds, and the largest less the smallest."""
    times = [taken * 1e6 for taken, _ in rounds]
    return {f"{key}_us": round(statistics.median(times), 2),
            f"{key}_spread_us": round(max(times) - min(times), 2), "sm_mhz": rounds[-1][1]}


def measure_graphs(contestants, seconds, sustained=True):
    """By name: rounds in turn, each a quarter of `seconds` after a pause, without
    which a contestant has the clock that the one before left; then, sustained,
    rounds of which the second half counts."""
    graphs = [capture(contestant) for contestant in contestants]
    found = {contestant.name: {} for contestant in contestants}
    kinds = [("graph", seconds / 4, PAUSE), ("sustained", seconds, 0)]
    for key, length, pause in kinds if sustained else kinds[:1]:
        rounds = [[] for _ in contestants]
        for _ in range(ROUNDS):
            for graph, contestant, of_it in zip(graphs, contestants, rounds):
                time.sleep(pause)
                of_it.append(replay(graph, contestant.count, length, steady=not pause))
        for contestant, of_it in zip(contestants, rounds):
            found[contestant.name].update(summary(of_it, key))
    return found


def measure_launches(contestants, seconds, only_burst=()):
    """By name: burst, then rounds of sustained launches in turn."""
    found, once = {}, {}
    for contestant in contestants:
        once[contestant.name] = taken = burst(contestant)
        found[contestant.name] = dict(burst_us=round(taken * 1e6, 2))
    contestants = [c for c in contestants if c.name not in only_burst]
    rounds = [[] for _ in contestants]
    for _ in range(ROUNDS):
        for contestant, of_it in zip(contestants, rounds):
            of_it.append(sustained(contestant, seconds, once[contestant.name]))
    for contestant, of_it in zip(contestants, rounds):
        found[contestant.name].update(summary(of_it, "sustained"))
    return found
