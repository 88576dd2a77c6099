# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timing of implementations: objects with a name, a number of operand sets, and launch(index)."""

import gc
import statistics
import subprocess
import time

import torch

ROUNDS = 5
PAUSE = 0.05
BURST = 3e-4  # approximate duration of a graph after a pause, in seconds


def query(fields):
    text = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True).stdout
    return [part.strip() for part in text.split("\n")[0].split(",")]


def clock():
    """Returns the SM clock in MHz."""
    try:
        return torch.cuda.clock_rate()
    except (ImportError, RuntimeError):  # no pynvml
        return int(query("clocks.sm")[0])


def events():
    return [torch.cuda.Event(enable_timing=True) for _ in range(2)]


def seconds_between(begin, end):
    return begin.elapsed_time(end) * 1e-3


def burst(implementation, count=12):
    """Returns the median time of a launch in short bursts after a pause."""
    implementation.launch(0)
    begin, end = events()
    begin.record()
    implementation.launch(0)
    end.record()
    torch.cuda.synchronize()
    launches = max(1, min(implementation.count, int(BURST / seconds_between(begin, end))))
    graphs, times = Graphs(implementation, launches), []
    for _ in range(count):
        times.append(graphs.time_launch(pause=0.012))
    return statistics.median(times)


def sustained(implementation, seconds, once):
    """Returns the median time of batches in the second half of `seconds`, and the clock there.
    A launch takes about `once` seconds."""
    batch = max(1, min(20, int(0.03 / once)))
    start, times, mhz = time.monotonic(), [], None
    while not times or time.monotonic() - start < seconds:
        begin, end = events()
        begin.record()
        for i in range(batch):
            implementation.launch(i % implementation.count)
        end.record()
        late = time.monotonic() - start > seconds / 2
        if late:
            mhz = mhz or clock()  # while launches are running
        end.synchronize()
        if late:
            times.append(seconds_between(begin, end) / batch)
    return statistics.median(times), mhz or clock()


def capture(implementation, launches):
    """Captures launches over all operand sets in a CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    # Freeing memory of the previous case would end the capture.
    gc.collect()
    gc.disable()
    with torch.cuda.graph(graph):
        for i in range(launches):
            implementation.launch(i % implementation.count)
    gc.enable()
    return graph


class Graphs:
    """CUDA graphs with n and 2 n launches; the difference gives the time of n launches. A
    single graph includes its start-up of 20 microseconds."""

    def __init__(self, implementation, launches):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for i in range(min(launches, implementation.count)):
                implementation.launch(i)
        torch.cuda.synchronize()
        self.launches = launches
        self.graphs = [capture(implementation, times * launches) for times in (1, 2)]

    def time_launch(self, pause=0, while_it_runs=lambda: None):
        taken = []
        for graph in self.graphs:
            time.sleep(pause)
            begin, end = events()
            begin.record()
            graph.replay()
            end.record()
            while_it_runs()
            end.synchronize()
            taken.append(seconds_between(begin, end))
        return (taken[1] - taken[0]) / self.launches


def replay(graphs, seconds, steady):
    """Returns the median time of a launch, and the clock in MHz; if `steady`, from the second
    half of `seconds`."""
    times, start, mhz = [], time.monotonic(), []

    def is_late():
        return time.monotonic() - start > seconds / 2

    def read_clock():
        if is_late() and not mhz:
            mhz.append(clock())

    while not times or time.monotonic() - start < seconds:
        late = is_late()
        taken = graphs.time_launch(while_it_runs=read_clock)
        if late or not steady:
            times.append(taken)
    return statistics.median(times), (mhz or [clock()])[0]


def summary(rounds, key):
    """Returns microseconds: the median of the rounds, and the largest minus the smallest."""
    times = [taken * 1e6 for taken, _ in rounds]
    return {f"{key}_us": round(statistics.median(times), 2),
            f"{key}_spread_us": round(max(times) - min(times), 2), "sm_mhz": rounds[-1][1]}


def in_turns(implementations, time_once):
    """Returns the rounds of each implementation, alternating the order: the previous launches
    determine the clock, which affects times by up to 4 %."""
    rounds = [[] for _ in implementations]
    for turn in range(ROUNDS):
        order = list(zip(implementations, rounds))
        for implementation, of_it in order if turn % 2 == 0 else reversed(order):
            of_it.append(time_once(implementation))
    return rounds


def measure_graphs(implementations, seconds, sustained=True):
    """Returns rounds by name. First `graph` rounds of a quarter of `seconds`, each after a
    pause so that the clock does not depend on the previous implementation; then `sustained`
    rounds, of which the second half is used."""
    graphs = {implementation.name: Graphs(implementation, implementation.count)
              for implementation in implementations}
    found = {implementation.name: {} for implementation in implementations}
    kinds = [("graph", seconds / 4, PAUSE), ("sustained", seconds, 0)]
    for key, length, pause in kinds if sustained else kinds[:1]:
        def time_graph(one):
            time.sleep(pause)
            return replay(graphs[one.name], length, steady=not pause)

        for implementation, of_it in zip(implementations, in_turns(implementations, time_graph)):
            found[implementation.name].update(summary(of_it, key))
    return found


def measure_one_way(implementations, seconds, few_rows):
    """Measures burst and sustained launches; for small M only graphs after a pause."""
    if few_rows:
        return measure_graphs(implementations, seconds, sustained=False)
    return measure_launches(implementations, seconds)


def measure_launches(implementations, seconds, only_burst=()):
    """Returns burst times by name, then sustained rounds in turn."""
    found, once = {}, {}
    for implementation in implementations:
        once[implementation.name] = taken = burst(implementation)
        found[implementation.name] = dict(burst_us=round(taken * 1e6, 2))
    implementations = [i for i in implementations if i.name not in only_burst]

    def time_launches(one):
        return sustained(one, seconds, once[one.name])

    for implementation, of_it in zip(implementations, in_turns(implementations, time_launches)):
        found[implementation.name].update(summary(of_it, "sustained"))
    return found
