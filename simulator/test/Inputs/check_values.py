"""Modeled time without computed values, compared with the time with all values.

usage: check_values.py MX_SIM VALUES.ptx DIRECTORY
"""

import json
import os
import subprocess
import sys

import numpy as np

MX_SIM, PTX, DIRECTORY = sys.argv[1:]
THREADS = 64
ROUNDS = [3 + 5 * (k % 7) for k in range(THREADS)] + [(37 * k + 11) % 64 for k in range(64, 2048)]


def run(data, launches):
    """Returns the launches of a report, and the text."""
    os.makedirs(DIRECTORY, exist_ok=True)
    path = os.path.join(DIRECTORY, "launch.json")
    report = os.path.join(DIRECTORY, "report.json")
    one = lambda kernel, *args: {"kernel": kernel, "grid": [2, 1, 1], "block": [THREADS, 1, 1], "dynamic_smem": 16384,
                                 "args": [{"buffer": a} if isinstance(a, str) else {"u32": a} for a in args]}
    np.save(os.path.join(DIRECTORY, "data.npy"), np.array(ROUNDS, np.uint32))
    buffers = {"data": {"file": "data.npy"}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"buffers": buffers, "launches": [one(*launch) for launch in launches]}, file)
    command = [MX_SIM, PTX, path, "--time=h200", "--checks=none", f"--data={data}", f"--report={report}"]
    done = subprocess.run(command, capture_output=True, text=True)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)["launches"]
    if len(found) != len(launches):
        sys.exit(f"{command}: {done.stderr}")
    return found, done.stderr


def line_of(comment):
    with open(PTX, encoding="utf-8") as file:
        return next(n for n, words in enumerate(file, 1) if words.rstrip().endswith(comment))


CASES = [("loaded", "data"), ("passed", "data"), ("chased", "data", 50), ("ticket", "data"), ("mma",), ("idle", "data"),
         ("fraction",), ("copies", "data")]


def check_same(programs):
    for launches in programs:
        none, values = (run(data, launches)[0] for data in ("none", "values"))
        for a, b in zip(none, values):
            for key in ("status", "warp_instructions", "time", "roles"):
                if a[key] != b[key]:
                    sys.exit(f"{launches}: expected the same {key}, found {a[key]} and {b[key]}")
            if a["status"] != "clean":
                sys.exit(f"{launches}: expected a clean launch, found {a['findings']}")


def check_left_out(launches, line):
    """Checks for the message that the load at `line` needs an omitted value."""
    text = run("none", launches)[1]
    expected = (f":{line}: left-out: ", "--data=none has left out: run it with --data=values")
    if any(words not in text for words in expected):
        sys.exit(f"{launches}: expected {expected}, found: {text}")
    if run("values", launches)[0][-1]["status"] != "clean":
        sys.exit(f"{launches}: expected a clean launch with all values")


check_same([[case] for case in CASES] + [[("counts", "data"), ("copies", "data"), ("loaded", "data")]])
check_left_out([("kept",)], line_of("DECIDES BY AN MMA"))
for between in ([], [("copies", "data")]):
    check_left_out([("writes", "data"), *between, ("loaded", "data")], line_of("ld.global.u32 %r0, [%d1]; // ROUNDS"))
check_same([[("writes", "data"), ("counts", "data"), ("loaded", "data")]])
