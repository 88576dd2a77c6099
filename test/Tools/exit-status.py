"""Checks that an error causes the same exit status in every tool, with and without --check=cpu (docs/guide/Run.md), and
that every failure prints a message.

RUN: %python %s %mx_obj/bin %examples %mx_src/runtime/test/kernels.ptx %t
REQUIRES: compiler, numpy
"""

import json
import os
import subprocess
import sys

import numpy as np
from work_folder import enter, write

tools, examples, kernels, work = sys.argv[1:]
enter(work)
wrong = []


def ends(status, tool, *arguments, says="", environment=None):
    done = subprocess.run([os.path.join(tools, tool), *arguments], capture_output=True, text=True,
                          env={**os.environ, "MX_DEVICE": "sim", **(environment or {})})
    text = done.stderr + done.stdout
    if done.returncode != status or says not in text or (status and not done.stderr.strip()):
        wrong.append(f"{tool} {' '.join(arguments)}: expected status {status} and '{says}', "
                     f"found {done.returncode}: {text}")


def save(name, array):
    np.save(name, array)
    return name


matmul = os.path.join(examples, "matmul.mlir")
x = save("x.npy", np.ones((128, 64), np.uint16))
k32 = save("k32.npy", np.ones((128, 32), np.uint16))
k33 = save("k33.npy", np.ones((128, 33), np.uint16))
floats = save("floats.npy", np.ones((128, 64), np.float32))
integers = save("integers.npy", np.ones((128, 64), np.int32))
bad = write("bad.mlir", "func.func @main( {")
unknown = write("unknown.mlir", """func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = arith.addf %x, %x : tensor<?x64xf32>
  %1 = math.floor %0 : tensor<?x64xf32>
  %2 = "test.unknown"(%1) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}
""")
missing = write("missing.mlir", """func.func private @elsewhere(f32) -> f32
func.func @main(%x: f32) -> f32 {
  %0 = call @elsewhere(%x) : (f32) -> f32
  return %0 : f32
}
""")
number = save("number.npy", np.float32(1))
no_body = "expected a body of 'elsewhere', found a declaration: a program must define the functions that it calls"

# Status 0: valid commands, help and versions.
for tool in ["mx-opt", "mx-translate", "mx-run", "mx-compile", "mx-launch", "mx-sim",
             "mx-lsp-server"]:
    ends(0, tool, "--help")
    ends(0, tool, "--version", says=f"{tool} 0." if tool == "mx-sim" else "mx 0.")
ends(0, "mx-compile", matmul, "-o", "matmul", "--ptxas=none")
ends(0, "mx-launch", "matmul", "--arg", x, "--arg", x)

# Status 2: invalid options.
for tool, status in [("mx-opt", 1), ("mx-translate", 1), ("mx-run", 2), ("mx-compile", 2),
                     ("mx-launch", 2), ("mx-sim", 2)]:
    ends(status, tool, "--frobnicate", says="frobnicate")
for tool in ["mx-run", "mx-compile", "mx-launch", "mx-sim"]:
    ends(2, tool)

# Status 2: unreadable or malformed files.
for tool, status in [("mx-opt", 1), ("mx-translate", 1), ("mx-run", 2), ("mx-compile", 2)]:
    more = {"mx-compile": ["-o", "out"], "mx-translate": ["--mx-to-ptx"]}.get(tool, [])
    ends(status, tool, "none.mlir", *more, says="none.mlir")
    ends(status, tool, bad, *more, says="bad.mlir:1")
ends(2, "mx-launch", "none", says="none/manifest.json")
ends(2, "mx-sim", "none.json", says="none.json")
ends(2, "mx-sim", write("bad.json", "{"), says="bad.json:1")

# Status 2 on each path: unsupported programs, wrong shapes, and unavailable devices.
for check in [[], ["--check=cpu"]]:
    for device in ["sim", "cpu"]:
        run = ["mx-run", f"--device={device}", *check]
        ends(2, *run, unknown, "--arg", floats, says="error:")
        ends(2, *run, missing, "--arg", number, says=no_body)
        ends(2, *run, matmul, "--arg", x, "--arg", k32, says="error:")
        ends(2, *run, matmul, "--arg", k33, "--arg", k33, says="multiple of 32")
        ends(2, *run, matmul, "--arg", x, "--arg", integers, says="expected ?x?xu2")
    ends(2, "mx-run", "--device=abacus", *check, matmul, "--arg", x, "--arg", x, says="abacus")
ends(2, "mx-compile", unknown, "-o", "out", says="error:")
ends(2, "mx-compile", missing, "-o", "out", says=no_body)
ends(2, "mx-launch", "matmul", "--arg", x, "--arg", k32, says="expected")
ends(2, "mx-launch", "matmul", "--arg", k33, "--arg", k33, says="multiple of 32")
ends(2, "mx-launch", "matmul", "--arg", x, "--arg", integers, says="expected ?x?xu2")
ends(2, "mx-launch", "matmul", "--device=abacus", says="abacus")

# Status 4: a check that compares nothing.
empty = save("empty.npy", np.ones((0, 64), np.uint16))
ends(0, "mx-run", "--device=sim", matmul, "--arg", empty, "--arg", empty)
ends(4, "mx-run", "--device=sim", "--check=cpu", matmul, "--arg", empty, "--arg", empty,
     says="nothing was compared")

# Status 1 if the assembler rejects the program, 2 if the assembler is missing.
ends(1, "mx-compile", matmul, "-o", "out", "--ptxas=/bin/false")
ends(2, "mx-compile", matmul, "-o", "out", "--ptxas=/no/such/ptxas", says="/no/such/ptxas")

# Status 2: unwritable results.
ends(2, "mx-run", "--device=cpu", matmul, "--arg", x, "--arg", x, "--result", "no/where.npy",
     says="no/where.npy")
ends(2, "mx-launch", "matmul", "--arg", x, "--arg", x, "--result", "no/where.npy",
     says="no/where.npy")

# Statuses 1, 2 and 3 for kernels, from mx-launch and from mx-sim.
KERNEL = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %%r<2>; .reg .b64 %%rd<4>; .reg .pred %%p;
  ld.param.u64 %%rd1, [out];
  %s
  ret;
}
"""
FAULTS = {
    "clean": (0, "st.global.u32 [%rd1], 1;", ""),
    "wild": (1, "st.global.u32 [%rd1+1048576], 1;", ""),
    "trap": (1, "trap;", "trap"),
    "deadlock": (3, "mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 0; @%p bar.sync 0, 64;", "deadlock"),
    "unsupported": (2, "tex.1d.v4.f32.s32 {%r0, %r0, %r0, %r0}, [%rd1, {%r0}];", ""),
}
for name, (status, body, says) in FAULTS.items():
    os.makedirs(name)
    write(f"{name}/kernels.ptx", KERNEL.replace("%%", "%") .replace("%s", body))
    write(f"{name}/launch.json", json.dumps({
        "modules": ["kernels.ptx"], "buffers": {"O": {"bytes": 256}}, "kernel": "k", "grid": [1],
        "block": [32], "args": [{"buffer": "O"}]}))
    ends(status, "mx-sim", f"{name}/launch.json", says=says)
    with open("matmul/manifest.json") as file:
        manifest = json.load(file)
    old = manifest["entries"][0]
    entry = {**{k: [] for k, v in old.items() if isinstance(v, list)}, "name": "main",
             "results": [{**old["results"][0], "type": "tensor<64xf32>", "dtype": "f4",
                          "shape": [64]}],
             "workspace": 0,
             "steps": [{"launch": "k", "grid": [1, 1, 1], "args": [{"buffer": "result0"}]}]}
    kernel = {"name": "k", "block": [32, 1, 1], "dynamic_smem": 0, "programmatic": False}
    manifest.update(entries=[entry], kernels=[kernel])
    write(f"{name}/manifest.json", json.dumps(manifest))
    ends(status, "mx-launch", name, says=says)

sys.exit("\n".join(wrong) or 0)
