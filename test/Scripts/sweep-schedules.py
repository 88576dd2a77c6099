"""Checks that scripts/sweep-schedules reports faults, continues after an interruption, and divides its cases into
shards.

RUN: %python %s %mx_src/scripts/sweep-schedules %mx_obj/bin %t
REQUIRES: compiler, numpy
"""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys

script, tools, directory = sys.argv[1:]
shutil.rmtree(directory, ignore_errors=True)
os.makedirs(directory)
state = os.path.join(directory, "state.jsonl")


def sweep(*arguments):
    command = [sys.executable, script, "--only=formats", "--limit=2", f"--state={state}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(found, status, text):
    if found[0] != status or text not in found[1]:
        sys.exit(f"expected exit status {status} and '{text}', found {found[0]} and {found[1]}")


def make_tools(name, code):
    """Creates tools that run `code` on the outputs of mx-run."""
    bin_dir = os.path.join(directory, name)
    os.makedirs(bin_dir)
    for tool in ("mx-opt", "mx-translate"):
        os.symlink(os.path.join(tools, tool), os.path.join(bin_dir, tool))
    path = os.path.join(bin_dir, "mx-run")
    with open(path, "w") as file:
        file.write(f"#!{sys.executable}\nimport os, subprocess, sys\n")
        file.write(f"status = subprocess.call([{os.path.join(tools, 'mx-run')!r}] + sys.argv[1:])\n")
        file.write("result = sys.argv[sys.argv.index('--result') + 1]\n" + code + "sys.exit(status)\n")
    os.chmod(path, stat.S_IRWXU)
    return bin_dir


FLIP = """with open(result, 'r+b') as file:
    file.seek(-WHERE, os.SEEK_END)
    byte = file.read(1)[0]
    file.seek(-WHERE, os.SEEK_END)
    file.write(bytes([byte ^ 1]))
"""

# First, only the second run changes the last bit of an element. Second, both runs change an exponent. Third, a tool
# crashes. Finally, the failed cases are retried without a fault.
flip = make_tools("flip", "if result.endswith('y1.npy'):\n  " + FLIP.replace("WHERE", "8").replace("\n", "\n  ").rstrip() + "\n")
expect(sweep("--bin", flip), 1, "multiprocessors: bits differ from those with seed 0")
expect(sweep("--bin", flip), 1, "0 right, 0 refused, 2 failed")
both = make_tools("both", FLIP.replace("WHERE", "1"))
expect(sweep("--bin", both, "--retry"), 1, "1 elements differ from numpy's")
broken = make_tools("broken", "status = 3\n")
expect(sweep("--bin", broken, "--retry"), 1, "seed 0 on 2 multiprocessors: exit status 3")
expect(sweep("--bin", tools, "--retry"), 0, "2 right, 0 refused, 0 failed")

# Truncated within the last line: the first case is kept, the second is run again.
with open(state) as file:
    text = "".join(file.readlines()[-2:])
with open(state, "w") as file:
    file.write(text[:-20])
expect(sweep("--bin", broken), 1, "1 right, 0 refused, 1 failed")
with open(state) as file:
    lines = file.readlines()
if json.loads(lines[0])[1] != "ok" or json.loads(lines[2])[1] != "failed" or len(lines) != 3:
    sys.exit(f"expected a passed case, half a line and a failed case, found {lines}")

expect(sweep("--bin", directory), 2, "mx-opt not found: build first, or give --bin")
expect(sweep("--bin", tools, "--shard=3/2"), 2, "expected I/N with 1 <= I <= N, found '3/2'")

# A schedule refused by the compiler is not a failure.
loader = importlib.machinery.SourceFileLoader("sweep_schedules", script)
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sweep_schedules", loader))
loader.exec_module(module)
message = "x.mlir:1:2: error: 'mx.matmul' op expected 1, found 2"
if module.find_refusal(message) != "'mx.matmul' op expected 1, found 2" or module.find_refusal("x.mlir:1:2: error: lost"):
    sys.exit("expected that only errors with 'expected' refuse a schedule")
cases = list(module.get_format_cases(False))
shards = [case for i in (1, 2, 3) for case in cases if module.is_of_shard(case, (i, 3))]
if len(cases) != 26 * 3 * 3 or sorted(shards) != sorted(cases):
    sys.exit("expected each case in exactly one shard")
