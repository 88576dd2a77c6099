"""Checks that the passes from mxgpu kernels to NVVM leave IR that prints, parses and
verifies, and that running them one by one equals the pipeline.

REQUIRES: compiler
RUN: %python %s %examples mx-opt
"""

import difflib
import os
import re
import shlex
import subprocess
import sys

examples, *mx_opt = sys.argv[1:]
mx_opt = [word for part in mx_opt for word in shlex.split(part)]


def run(arguments, text=None):
    done = subprocess.run(mx_opt + arguments, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"mx-opt {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done


dumped = run(["--mx-to-nvvm", "--dump-pass-pipeline", os.devnull]).stderr
kernels = re.search(r"gpu\.module\(\s*(mxgpu-assign-warps,\s*mxgpu-unroll-fragments.*?convert-mxgpu-to-nvvm)", dumped, re.S)
if not kernels:
    sys.exit(f"expected the passes of kernels in:\n{dumped}")
passes = [name.strip() for name in re.split(r",(?![^{]*})", kernels[1])]
if len(passes) < 9:
    sys.exit(f"expected 9 passes or more, found {passes}")

# These passes change nothing in some kernels.
SOME = {"mxgpu-lower-math", "mxgpu-lower-coordinates"}

for example in ["matmul.mlir", "grouped_matmul.mlir", "moe_layer.mlir"]:
    # Drops the host code, which the pipeline lowers earlier.
    start = run([os.path.join(examples, example), "--mx-to-mxgpu"]).stdout
    start = run(["--convert-mxgpu-host-to-gpu"], start).stdout
    if "mxgpu.kernel" not in start:
        sys.exit(f"{example}: expected kernels")
    once = run([f"--pass-pipeline=builtin.module(gpu.module({','.join(passes)}))"], start).stdout
    text = start
    for name in passes:
        before = text
        text = run([f"--pass-pipeline=builtin.module(gpu.module({name}))", "--verify-roundtrip"], text).stdout
        if name.startswith("mxgpu-lower-") and name not in SOME and text == before:
            sys.exit(f"{example}: {name} changed nothing")
    if re.search(r"^ *(%\S+ = )?mxgpu\.", text, re.M):
        sys.exit(f"{example}: operations of mxgpu are left")
    if text != once:
        found = difflib.unified_diff(once.splitlines(), text.splitlines(), "at once", "one by one", lineterm="")
        sys.exit("\n".join([example, *list(found)[:40]]))
