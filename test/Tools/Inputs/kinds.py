"""kinds.py MX-SIM FOLDER: passes files of the wrong kind to mx-sim and prints its messages. mx-sim must refuse each
file with a one-line message and status 2."""

import subprocess
import sys

CASES = """
k.cu l.json
c.cu l.json
k.mlir l.json
a.mlir l.json
k.ll l.json
k.bc l.json
a.npy l.json
l.json l.json
l.json k.ptx
. l.json
k.ptx .
k.ptx k.cu
k.ptx k.mlir
k.ptx a.npy
k.ptx bad.json
odd.txt l.json
--template k.cu
--list k.mlir
"""

for case in CASES.split("\n")[1:-1]:
    run = subprocess.run([sys.argv[1], *case.split()], cwd=sys.argv[2],
                         capture_output=True, text=True)
    prefix = "mx-sim: error: "
    assert run.returncode == 2 and not run.stdout, (case, run)
    assert run.stderr.startswith(prefix) and run.stderr.count("\n") == 1, (case, run)
    print(f"{case}: {run.stderr[len(prefix):]}", end="")
