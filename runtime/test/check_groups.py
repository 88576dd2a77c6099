#!/usr/bin/env python3
"""Checks groups of devices with one process for each rank. Covers the data moved by collectives,
with and without CUDA graphs, and failures (ranks that are late, abort or are killed).

    runtime/test/check_groups.py LIBRARY [--device=cuda] [--ranks=2] [--only=PART,...] [--time] [--transport=peer]

LIBRARY is libmx_runtime.so. Rank r uses device r of the given kind. --time also measures the
collectives. With --transport=peer the collectives receive in windows. Requires NumPy and, on GPUs, NCCL (MX_NCCL_LIBRARY may set its path). The exit status
is 1 if a part fails."""

import argparse
import ctypes
import os
import signal
import sys
import time
import traceback

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ranks

# Additional time for a report on a busy machine, in seconds.
SLACK = 5.0
# Time limit of a part in seconds; its processes are then killed.
LIMIT = 150


class Memory:
    """Memory on the current device."""

    def __init__(self, lib, size):
        self.lib, self.size, self.address = lib, size, ctypes.c_void_p()
        assert lib.mxMemAlloc(ctypes.byref(self.address), ctypes.c_size_t(max(size, 1))) == 0

    def write(self, values):
        assert values.nbytes == self.size
        assert self.lib.mxMemcpyToDevice(self.address, values.ctypes.data_as(ctypes.c_void_p),
                                         ctypes.c_size_t(self.size), None) == 0

    def read(self):
        values = np.empty(self.size, np.uint8)
        assert self.lib.mxMemcpyToHost(values.ctypes.data_as(ctypes.c_void_p), self.address,
                                       ctypes.c_size_t(self.size), None) == 0
        return values


class Graph:
    """CUDA graph captured by the driver from the work inside `with`."""

    def __init__(self, stream):
        self.cuda, self.stream, self.runs = ctypes.CDLL("libcuda.so.1"), stream, ctypes.c_void_p()
        self.context = ctypes.c_void_p()
        self.call("cuStreamGetCtx", stream, ctypes.byref(self.context))
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        assert result == 0, f"{name} returned {result}"

    def __enter__(self):
        self.call("cuStreamBeginCapture_v2", self.stream, 1)  # of this thread
        return self

    def __exit__(self, *error):
        graph = ctypes.c_void_p()
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(self.runs), graph, ctypes.c_ulonglong(0))

    def launch(self):
        self.call("cuGraphLaunch", self.runs, self.stream)


class Rank:
    """One process with its group and memory for both collectives."""

    def __init__(self, options, rank, size, port, timeout):
        self.rank, self.size, self.options = rank, size, options
        self.lib = ranks.load(options.library, f"{options.device}:{rank}")
        self.stream = ctypes.c_void_p()
        assert self.lib.mxStreamCreate(ctypes.byref(self.stream)) == 0
        self.group = ranks.Group(self.lib, "ep", rank, size, port, timeout, options.transport)
        assert self.group.status == 0, self.group.text

    def allocate(self, size):
        self.bytes = size
        self.window, self.source, self.target = (Memory(self.lib, size * self.size) for _ in range(3))
        if self.options.transport == "peer" and size and self.size > 1:
            offset = -(-size * self.size // 256) * 256
            assert self.group.reserve(2 * offset), self.group.text
            info = self.group.info()
            assert info.transport == b"peer"
            self.window.address.value, self.target.address.value = info.windows, info.windows + offset

    def values(self, seed, source, target):
        """Returns the bytes that `source` sends to `target`."""
        return np.random.default_rng([seed, source, target + 1]).integers(0, 256, self.bytes, np.uint8)

    def fill(self, seed):
        window = np.full(self.size * self.bytes, 0xEE, np.uint8)
        window.reshape(self.size, -1)[self.rank] = self.values(seed, self.rank, -1)
        self.window.write(window)
        self.source.write(np.concatenate([self.values(seed, self.rank, r) for r in range(self.size)]))

    def run(self):
        return (self.group.all_gather(self.window.address, self.bytes, self.stream)
                and self.group.all_to_all(self.source.address, self.target.address, self.bytes, self.stream))

    def wait(self):
        return self.lib.mxStreamSynchronize(self.stream)

    def compare(self, seed):
        gathered = np.concatenate([self.values(seed, r, -1) for r in range(self.size)])
        received = np.concatenate([self.values(seed, r, self.rank) for r in range(self.size)])
        np.testing.assert_array_equal(self.window.read(), gathered, "all_gather")
        np.testing.assert_array_equal(self.target.read(), received, "all_to_all")

    def capture(self):
        graph = Graph(self.stream)
        with graph:
            assert self.run(), self.group.text
        return graph

    def expect(self, status, culprit, words, begin, limit):
        """Checks that the group fails with this status and culprit within `limit` seconds after
        `begin`."""
        while self.group.report().status == 0:
            assert time.time() - begin < limit + SLACK, "no failure is reported"
            time.sleep(0.001)
        report = self.group.report()
        text = report.text.decode()
        print(f"rank {self.rank}, after {time.time() - begin:.3f} s: {text}", flush=True)
        assert (report.status, report.rank) == (status, culprit) and words in text, text
        assert self.wait() == 0, "the stream does not end"
        assert time.time() - begin < limit + SLACK
        # The device, its memory and the next group are unaffected.
        self.window.write(np.arange(self.window.size).astype(np.uint8))
        assert (self.window.read() == np.arange(self.window.size).astype(np.uint8)).all()
        assert not self.run() and self.group.status == status
        self.group.destroy()

    def begin_again(self, size, rank, port):
        self.group = ranks.Group(self.lib, "again", rank, size, port, 60, self.options.transport)
        self.size, self.rank = size, rank
        assert self.group.status == 0, self.group.text
        self.allocate(1000)
        self.fill(5)
        assert self.run(), self.group.text
        assert self.wait() == 0
        self.compare(5)
        self.group.destroy()


# --- Parts: each rank runs them in its own process. ----------------------------------------

def moves(rank, ports):
    """Runs both collectives with several sizes."""
    info = rank.group.info()
    print(f"rank {rank.rank}: {info.device.decode()}, {info.transport.decode()} {info.ncclVersion}", flush=True)
    for seed, size in enumerate((0, 1, 33, 4096, 1000003, rank.options.most)):
        rank.allocate(size)
        rank.fill(seed)
        assert rank.run(), rank.group.text
        assert rank.wait() == 0
        rank.compare(seed)
    rank.group.destroy()


def graphs(rank, ports):
    """Replays a CUDA graph with changing bytes, alternating with plain calls."""
    for size in (1, 100000, rank.options.most):
        rank.allocate(size)
        graph = rank.capture()
        for seed in range(20 if size < 1 << 20 else 3):
            for replay in graph.launch, rank.run:
                rank.fill(seed)
                replay()
                assert rank.wait() == 0
                rank.compare(seed)
        # All replays together take longer than the time-out.
        for _ in range(500):
            graph.launch()
        assert rank.wait() == 0
        rank.compare(seed)
    assert rank.group.report().status == 0
    rank.group.destroy()


def late(rank, ports, graph=None):
    """The last rank is late."""
    last = rank.size - 1
    rank.allocate(100000)
    rank.fill(1)
    if graph:
        graph = rank.capture()
        graph.launch()
    else:
        assert rank.run(), rank.group.text
    assert rank.wait() == 0
    begin = time.time()
    if rank.rank != last:
        if graph:
            graph.launch()
        else:
            rank.run()
    rank.expect(ranks.TIMEOUT, last, f"rank {last} did not arrive at all_", begin, 2 * rank.options.timeout)
    rank.begin_again(rank.size, rank.rank, ports[1])


def late_in_graph(rank, ports):
    """The last rank does not replay the graph."""
    late(rank, ports, graph=True)


def stopped(rank, ports):
    """The last rank's process is stopped and continues at the end."""
    last = rank.size - 1
    rank.allocate(100000)
    rank.fill(1)
    assert rank.run(), rank.group.text
    begin = time.time()
    if rank.rank == last:
        os.kill(os.getpid(), signal.SIGSTOP)
        begin = time.time()
    else:
        rank.run()
    rank.expect(ranks.TIMEOUT, last, "no answer", begin, 2 * rank.options.timeout)


def aborts(rank, ports):
    """Rank 0 aborts while the others wait on the GPU."""
    rank.allocate(100000)
    rank.fill(1)
    assert rank.run(), rank.group.text
    begin = time.time()
    if rank.rank == 0:
        time.sleep(0.3)
        rank.group.abort("9000 tokens, the window has 8192")
    else:
        rank.run()
    rank.expect(ranks.PEER, 0, "9000 tokens, the window has 8192", begin, 0.3)
    rank.begin_again(rank.size, rank.rank, ports[1])


def killed(rank, ports):
    """The last rank is killed during its collectives."""
    last = rank.size - 1
    rank.allocate(1000003)
    rank.fill(1)
    count = 0
    begin = time.time()
    while rank.run():
        count += 1
        if count == 50 and rank.rank == last:
            os.kill(os.getpid(), signal.SIGKILL)
        if count % 10 == 0:
            rank.wait()
    rank.expect(ranks.PEER, last, f"rank {last} left", begin, rank.options.timeout)
    rank.begin_again(rank.size - 1, rank.rank, ports[1])


def timed(rank, ports):
    """Measures the time of each collective in a graph, and the rate at which a rank sends."""
    for size in (16, 4096, 1 << 16, 1 << 20, 1 << 24, 1 << 26):
        rank.allocate(size)
        rank.fill(0)
        for name, run in (("all_gather", lambda: rank.group.all_gather(rank.window.address, size, rank.stream)),
                          ("all_to_all", lambda: rank.group.all_to_all(rank.source.address, rank.target.address,
                                                                       size, rank.stream))):
            graph = Graph(rank.stream)
            with graph:
                for _ in range(20):
                    assert run(), rank.group.text
            graph.launch()
            rank.wait()
            begin = time.time()
            for _ in range(10):
                graph.launch()
            rank.wait()
            seconds = (time.time() - begin) / 200
            host = time.time()
            for _ in range(20):
                run()
            host = (time.time() - host) / 20
            rank.wait()
            if rank.rank == 0:
                print(f"{name:10} {size:9} bytes of each rank: {seconds * 1e6:9.1f} us, "
                      f"{size * (rank.size - 1) / seconds / 1e9:7.1f} GB/s, a call takes {host * 1e6:.1f} us",
                      flush=True)
    rank.group.destroy()


# Maps each part to its function, whether it requires GPUs, and the group's time-out in seconds (None: a short one).
PARTS = {"moves": (moves, False, 60), "graphs": (graphs, True, 60), "late": (late, False, None),
         "late_in_graph": (late_in_graph, True, None), "stopped": (stopped, False, None),
         "aborts": (aborts, False, 60), "killed": (killed, False, 60), "timed": (timed, True, 60)}


def start(options, part, rank, ports):
    """Starts the process of a rank."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        run, _, timeout = PARTS[part]
        run(Rank(options, rank, options.ranks, ports[0], timeout or options.timeout), ports)
        status = 0
    except BaseException:
        print(f"wrong: {part}, rank {rank}", flush=True)
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
    os._exit(status)


def check(options, part):
    """Returns whether all ranks succeed in time. Accepts a killed last rank in the part "killed",
    and continues a stopped last rank in the part "stopped"."""
    ports = ranks.free_ports(2)
    pids = [start(options, part, rank, ports) for rank in range(options.ranks)]
    running, wrong, end = set(pids), 0, time.time() + LIMIT
    while running:
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.remove(pid)
                is_wanted = part == "killed" and pid == pids[-1] and os.WIFSIGNALED(status)
                wrong += status != 0 and not is_wanted
        if running == {pids[-1]} and part == "stopped":
            os.kill(pids[-1], signal.SIGCONT)
        if time.time() > end:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--device", default="cuda", choices=("cuda", "sim"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--transport", choices=("nccl", "peer"))
    options = parser.parse_args()
    options.timeout = 3.0 if options.device == "cuda" else 1.0
    options.most = 1 << 26 if options.device == "cuda" else 1 << 20
    os.environ.setdefault("MX_SIM_DEVICES", str(options.ranks))
    names = [name for name, part in PARTS.items() if options.device == "cuda" or not part[1]]
    if options.only:
        names = options.only.split(",")
    elif not options.time:
        names = [name for name in names if name != "timed"]
    for name in names:
        if name not in PARTS:
            parser.error(f"expected parts {', '.join(PARTS)}, found '{name}'")
    failed = []
    for name in names:
        begin = time.time()
        print(f"{name}: {PARTS[name][0].__doc__}", flush=True)
        good = check(options, name)
        print(f"{name}: {'good' if good else 'WRONG'}, {time.time() - begin:.1f} s", flush=True)
        if not good:
            failed.append(name)
    print(f"{len(names)} parts, {len(failed)} wrong{': ' * bool(failed)}{', '.join(failed)}")
    return bool(failed)


sys.exit(main())
