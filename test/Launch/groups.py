"""Starts a program on two ranks, each in its own process. The exchanged rows are correct, and each process reports
errors in its options, in the program and on the other rank.

RUN: %python %s %mx_src/runtime/test/kernels.ptx %t
REQUIRES: numpy
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import make_ranks

kernels, work = sys.argv[1:]
shutil.rmtree(work, ignore_errors=True)
work = pathlib.Path(work)


def write(name, text):
    (work / name).mkdir(parents=True)
    shutil.copy(kernels, work / name / "kernels.ptx")
    (work / name / "manifest.json").write_text(text)


write("two", make_ranks.manifest())
write("alone", """{"format": 5, "target": "sm_90a", "kernels": [], "entries": [{"name": "main",
    "arguments": [], "results": [], "values": [], "requires": [], "workspace": 0, "buffers": [],
    "tensor_maps": [], "steps": []}]}""")
write("other", make_ranks.manifest(tokens=2))
rng = np.random.default_rng(5)
xs = [rng.standard_normal(64).astype(np.float32) for _ in range(2)]
ys = [rng.standard_normal((2, 64)).astype(np.float32) for _ in range(2)]
for rank in range(2):
    np.save(work / f"x{rank}.npy", xs[rank])
    np.save(work / f"y{rank}.npy", ys[rank])


def start(*options, program="two"):
    return subprocess.Popen(["mx-launch", work / program, "--device=sim", "--quiet", *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    out, log = process.communicate(timeout=120)
    return process.returncode, out, log


def arrays(rank):
    return [f"--arg={work}/x{rank}.npy", f"--arg={work}/y{rank}.npy", f"--result={work}/z{rank}.npy",
            f"--result={work}/rank{rank}.npy"]


def together(programs=("two", "two"), arguments=arrays):
    """Runs both ranks and connects them at a free address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    return [end(process) for process in
            [start(f"--group=ep@{address}", f"--rank={rank}", *arguments(rank), program=program)
             for rank, program in enumerate(programs)]]


for status, _, log in together():
    assert status == 0 and not log, (status, log)
for rank, z in enumerate(make_ranks.expected(xs, ys)):
    np.testing.assert_array_equal(np.load(work / f"z{rank}.npy"), z)
    assert np.load(work / f"rank{rank}.npy") == rank

status, out, _ = end(start("--list"))
assert status == 0 and out.splitlines()[0] == "ep: a group of 2 ranks, with at most 1 tokens each", out

# Both ranks report that their programs differ.
for status, _, log in together(("two", "other")):
    assert status == 2 and "differ in the hash of the manifest and the mx version" in log, (status, log)

# Rank 1 exits before the first collective.
(status, _, log), (other, _, why) = together(arguments=lambda rank: [] if rank else arrays(rank))
assert other == 2 and "expected 2 --arg" in why, (other, why)
assert status == 1 and "rank 1" in log and "all_gather" in log, (status, log)


def refused(text, *options, program="two"):
    status, _, log = end(start(*options, *arrays(0), program=program))
    assert status == 2 and log.startswith(f"mx-launch: {text}"), (options, status, log)


refused("expected --group=ep@HOST:PORT --rank=R for group 'ep' of 2 ranks, found none: start "
        "mx-launch once for each rank")
refused("--group: expected one of [ep], found 'tp'", "--group=tp@localhost:1", "--rank=0")
refused("--group: the group 'ep' is given twice", *["--group=ep@localhost:1", "--rank=0"] * 2)
refused("--rank: expected 0 to 1 for group 'ep', found 2", "--group=ep@localhost:1", "--rank=2")
refused("--group: expected NAME@HOST:PORT, found 'ep'", "--group=ep", "--rank=0")
refused("expected a --rank after --group=ep", "--group=ep@localhost:1")
refused("expected a --group before --rank=0", "--rank=0")
refused("--rank: expected a number of at least 0, found 'x'", "--group=ep@localhost:1", "--rank=x")
refused("--rank: expected a number of at least 0, found '-1'", "--group=ep@localhost:1", "--rank=-1")
refused("--group: expected a program with rank groups, found a program without groups",
        "--group=ep@localhost:1", "--rank=0", program="alone")
