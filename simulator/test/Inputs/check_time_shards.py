"""Timed launches on different numbers of host threads.

usage: check_time_shards.py MX_SIM SHARDS.ptx DIRECTORY
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

MX_SIM, PTX, DIRECTORY = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
CTAS, MANY = 132, 6000
rng = np.random.default_rng(7)


def run(jobs, launch, status=0):
    """Returns the report and the output of the launch."""
    path, report = DIRECTORY / "launch.json", DIRECTORY / f"report-{jobs}.json"
    path.write_text(json.dumps(launch), encoding="utf-8")
    command = [MX_SIM, PTX, path, "--time=h200", "--checks=none", f"--jobs={jobs}", f"--report={report}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"{command}: expected status {status}, found {done.returncode}: {done.stderr}")
    return report.read_bytes(), done.stderr


def buffer(size):
    return {"bytes": size, "fill": "zero"}


def arguments(*names):
    return [{"buffer": name} for name in names]


def tickets(jobs):
    out = DIRECTORY / f"tickets-{jobs}.npy"
    launch = {
        "buffers": {"counter": buffer(4), "data": buffer(4 * CTAS), "out": buffer(8 * CTAS)},
        "outputs": {"out": out.name},
        "launches": [
            {
                "kernel": "tickets",
                "grid": [CTAS, 1, 1],
                "block": [1, 1, 1],
                "args": arguments("counter", "data", "out"),
            }
        ],
    }
    report = run(jobs, launch)
    found = np.load(out).view("u4").reshape(CTAS, 2)
    if sorted(found[:, 0]) != list(range(CTAS)) or set(found[:, 1]) != {(np.arange(CTAS) ** 2).sum()}:
        sys.exit(f"tickets: expected each ticket once, and the sum of all squares, found {found}")
    return report, found.tobytes()


def sums(jobs):
    data, out = DIRECTORY / "data.npy", DIRECTORY / f"sums-{jobs}.npy"
    values = rng.standard_normal((MANY, 32)).astype(np.float32) if not data.exists() else np.load(data)
    np.save(data, values)
    launch = {
        "buffers": {"data": {"file": data.name}, "out": buffer(256)},
        "outputs": {"out": out.name},
        "launches": [
            {"kernel": "sums", "grid": [MANY, 1, 1], "block": [32, 1, 1], "args": arguments("data", "out")}
        ],
    }
    report = run(jobs, launch)
    found = np.load(out).view("f4").reshape(2, 32)
    expected = values.astype(np.float64).sum(axis=0)
    # The kernel adds the rows in a different order than NumPy, which affects the last bits.
    if not np.allclose(found, expected, atol=1e-2):
        sys.exit(f"sums: expected {expected}, found {found}")
    return report, found.tobytes()


def faults(jobs):
    launch = {
        "buffers": {"out": buffer(4 * 100)},
        "launches": [{"kernel": "faults", "grid": [CTAS, 1, 1], "block": [1, 1, 1], "args": arguments("out")}],
    }
    report = run(jobs, launch, status=1)
    if "store out of bounds" not in report[1]:
        sys.exit(f"faults: expected the store to be named, found {report[1]}")
    return report


for check in (tickets, sums, faults):
    one, two, five = (check(jobs) for jobs in (1, 2, 5))
    if not one == two == five:
        sys.exit(f"{check.__name__}: expected the same results and report for any number of threads")
print("the same for 1, 2 and 5 threads")
