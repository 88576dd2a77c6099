"""Checks GPU cases: record.py records simulator runs of test scripts, and replay.py reports every differing bit except
the bits of a NaN.

RUN: %python %s %mx_src %mx_obj/bin %t
REQUIRES: compiler, numpy
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

source, tools, work = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
scripts = source / "simulator/scripts/cuda_cases"
formats = source / "test/Integration/Run/Inputs/matmul_formats.py"
# `python3` in a script's first line must be the interpreter of this test.
environment = dict(os.environ, MX_RECORD=str(work / "recorded"), MX_RECORD_TOOLS=str(tools),
                   MX_RECORD_NAME="two", MX_CHIP="sm_90a",
                   PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")


def run(*command, status=0):
    done = subprocess.run([sys.executable, *map(str, command)], text=True, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == status, (command, done)
    return done.stdout


def replay(status=0):
    return run(scripts / "replay.py", work / "recorded", "--device=sim", "--jobs=1", status=status)


# A program with an f32 result, and a program with a bf16 result and NaN operands.
run(formats, scripts / "record.py", "sim", work / "run", "--first=4", "--count=2",
    "--shape=40x24x128")
cases = sorted((work / "recorded/cases").iterdir())
assert [case.name for case in cases] == ["two-0000", "two-0001"]
program = json.loads((cases[0] / "case.json").read_text())["program"]
assert ".target sm_90a" in (work / "recorded/programs" / program / "kernels.ptx").read_text()
said = replay()
assert said == "sim: 2 cases, 1920 elements, 0 wrong\n", said

# Changes the lowest bit of one element, and the bits of a NaN.
y = np.load(cases[0] / "results0.npy")
y.view("u4")[3, 5] ^= 1
np.save(cases[0] / "results0.npy", y)
z = np.load(cases[1] / "results0.npy")
nans = (z & 0x7FFF) > 0x7F80
assert nans.any()
z[nans] ^= 0x8001
z[nans & ((z & 0x7FFF) <= 0x7F80)] ^= 3
np.save(cases[1] / "results0.npy", z)
said = replay(status=1)
assert re.fullmatch(r"two-0000 \w+: 1 of 960 wrong\nsim: 2 cases, 1920 elements, 1 wrong\n",
                    said), said

# A program that fails to load is reported, and the other programs still run.
(work / "recorded/programs" / program / "manifest.json").write_text("{}")
said = replay(status=1)
assert said.endswith("sim: 2 cases, 960 elements, 1 wrong\n"), said
