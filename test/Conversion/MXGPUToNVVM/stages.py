"""Checks the IR after each pass from mxgpu kernels to NVVM: the IR prints, parses and
verifies, and running the passes one by one produces the same IR as the pipeline.

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
    sys.exit(f"expected a pipeline with the kernel passes, found:\n{dumped}")
passes = [name.strip() for name in re.split(r",(?![^{]*})", kernels[1])]
if len(passes) < 9:
    sys.exit(f"expected at least 9 passes, found {passes}")

# These passes change nothing in some kernels.
SOME = {"mxgpu-lower-math", "mxgpu-lower-coordinates"}

for example in ["matmul.mlir", "grouped_matmul.mlir", "moe_layer.mlir"]:
    # Drops the host code, because the pipeline lowers host code earlier.
    start = run([os.path.join(examples, example), "--mx-to-mxgpu"]).stdout
    start = run(["--convert-mxgpu-host-to-gpu"], start).stdout
    if "mxgpu.kernel" not in start:
        sys.exit(f"{example}: expected kernels, found none")
    once = run([f"--pass-pipeline=builtin.module(gpu.module({','.join(passes)}))"], start).stdout
    text = start
    for name in passes:
        before = text
        text = run([f"--pass-pipeline=builtin.module(gpu.module({name}))", "--verify-roundtrip"], text).stdout
        if name.startswith("mxgpu-lower-") and name not in SOME and text == before:
            sys.exit(f"{example}: {name} changed nothing")
    if re.search(r"^ *(%\S+ = )?mxgpu\.", text, re.M):
        sys.exit(f"{example}: expected no mxgpu operations after the last pass, found some")
    if text != once:
        found = difflib.unified_diff(once.splitlines(), text.splitlines(), "at once", "one by one", lineterm="")
        sys.exit("\n".join([example, *list(found)[:40]]))
