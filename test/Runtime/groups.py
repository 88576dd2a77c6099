"""Kills or stops one of several rank processes at a random moment. Soon after the timeout, all other ranks must report
that rank with the same message, and form a new group without that rank.

RUN: %python %s %mx_libs/libmx_runtime%shlibext
"""

import ctypes
import json
import os
import random
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/test"))
import ranks

LIBRARY = sys.argv[1]
SEEDS = range(int(sys.argv[2]), int(sys.argv[2]) + 1) if len(sys.argv) > 2 else range(50)
AT_ONCE = 5
TIMEOUT = 1.0
# Additional time for a busy machine, in seconds.
SLACK = 3.0


class Worker(ranks.Group):
    """Rank that checks the results of collectives byte by byte."""

    round = 0

    def byte(self, source, target):
        return (self.round * 31 + source * 7 + target * 3 + 1) % 251

    def parts(self, size, byte):
        return b"".join(bytes([byte(rank)]) * size for rank in range(self.size))

    def work(self, size):
        """Runs one collective of each kind with `size` bytes per rank."""
        self.round += 1
        gathered = self.parts(size, lambda rank: self.byte(rank, 0))
        begin, end = self.rank * size, (self.rank + 1) * size
        window = ctypes.create_string_buffer(gathered[begin:end].rjust(end, b"\0"), len(gathered) + 1)
        sent = self.parts(size, lambda rank: self.byte(self.rank, rank))
        received = ctypes.create_string_buffer(len(sent))
        if not self.all_gather(window, size) or not self.all_to_all(sent, received, size):
            return False
        assert window.raw[:-1] == gathered, "all_gather is wrong"
        assert received.raw == self.parts(size, lambda rank: self.byte(rank, self.rank)), "all_to_all is wrong"
        return True


def fork(name, run, *arguments):
    """Calls `run` in a process and returns the process id. If `run` fails, the process prints `name` and the error."""
    pid = os.fork()
    if pid:
        return pid
    try:
        run(*arguments)
    except BaseException:
        print(name, flush=True)
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(1)
    os._exit(0)


class Scenario:
    """Events determined by a seed."""

    def __init__(self, seed):
        choose = random.Random(seed)
        self.seed = seed
        self.size = choose.choice((2, 3, 4, 5))
        self.victim = choose.randrange(self.size)
        self.signal = choose.choice((signal.SIGKILL, signal.SIGSTOP))
        self.delay = choose.random() * (0.02 if seed % 5 == 4 else 0.08)
        self.bytes = choose.choice((0, 1, 1000, 300000))
        # Send the signal before all ranks have joined the group.
        self.is_early = seed % 5 == 4
        self.goes_on = self.signal == signal.SIGSTOP and choose.random() < 0.5
        self.ports = ranks.free_ports(2)

    def __str__(self):
        return (f"seed {self.seed}: {self.signal.name} for rank {self.victim} of {self.size} after {self.delay:.3f} s"
                f"{' of creation' * self.is_early}, {self.bytes} bytes")

    def run_rank(self, rank, ready, results):
        """Works until the group fails, and writes the outcome to `results`."""
        lib = ranks.load(LIBRARY, "sim")
        group = Worker(lib, "ep", rank, self.size, self.ports[0], TIMEOUT if self.is_early else 10)
        if not self.is_early:
            # All processes have started before the group is created.
            assert group.status == 0, group.text
            first, group = group, Worker(lib, "ep", rank, self.size, self.ports[0], TIMEOUT)
            first.destroy()
        os.write(ready, b"r")
        while group.status == 0 and group.work(self.bytes):
            pass
        failed = time.time()
        if group.handle.value:
            report = group.report()
            again = time.time()
            assert not group.work(1) and time.time() - again < 0.2, "a failed group must report the failure at once"
            assert (report.status, report.text.decode()) == (group.status, group.text), group.text
            culprit = report.rank
        else:
            culprit = -1
        group.destroy()
        os.write(results, json.dumps((rank, failed, group.status, culprit, group.text)).encode() + b"\n")
        if rank == self.victim:
            return
        # The remaining ranks form a working group.
        left = [r for r in range(self.size) if r != self.victim]
        group = Worker(lib, "left", left.index(rank), len(left), self.ports[1], 5)
        for size in (0, 1, 5000):
            assert group.status == 0 and group.work(size), group.text
        group.destroy()

    def run(self):
        ready, ready_end = os.pipe()
        results, results_end = os.pipe()
        begin = time.time()
        pids = [fork(f"{self}: rank {rank}", self.run_rank, rank, ready_end, results_end) for rank in range(self.size)]
        os.close(results_end)
        os.close(ready_end)
        count = 0
        while not self.is_early and count < self.size:
            found = os.read(ready, self.size)
            assert found, f"{self.size - count} ranks ended before the signal"
            count += len(found)
        time.sleep(self.delay)
        hit = time.time()
        os.kill(pids[self.victim], self.signal)
        survivors = [pid for pid in pids if pid != pids[self.victim]]
        wrong = [pid for pid in survivors if os.waitpid(pid, 0)[1]]
        if self.goes_on:
            os.kill(pids[self.victim], signal.SIGCONT)
        else:
            os.kill(pids[self.victim], signal.SIGKILL)
        os.waitpid(pids[self.victim], 0)
        with os.fdopen(results) as lines:
            told = sorted(json.loads(line) for line in lines)
        others = [each for each in told if each[0] != self.victim]
        assert not wrong and len(others) == self.size - 1, f"{len(wrong)} ranks failed: {told}"
        for rank, failed, status, culprit, text in told:
            assert status in (ranks.PEER, ranks.TIMEOUT), (rank, status, text)
            assert failed - hit < 2 * TIMEOUT + SLACK or rank == self.victim, (rank, failed - hit)
            if not self.is_early:
                assert text == told[0][-1] and f"rank {self.victim} " in text and culprit == self.victim, told
                assert status == (ranks.PEER if self.signal == signal.SIGKILL else ranks.TIMEOUT), told
        assert time.time() - begin < 20
        if len(SEEDS) == 1:
            print(self, *told, sep="\n")


def main():
    running, failed = {}, 0
    seeds = list(SEEDS)
    while seeds or running:
        while seeds and len(running) < AT_ONCE:
            scenario = Scenario(seeds.pop(0))
            running[fork(f"wrong: {scenario}", scenario.run)] = scenario
        pid, status = os.wait()
        del running[pid]
        failed += status != 0
    print(f"{len(SEEDS)} groups, {failed} wrong")
    return failed != 0


sys.exit(main())
