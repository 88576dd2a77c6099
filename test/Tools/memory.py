"""If sizes given by the user exceed the memory, every tool and the Python package must end with a message and exit
status 2, whether the address space is limited or not.

RUN: %python %s %mx_obj/bin %examples %t
RUN: %python %mx_src/test/python/work_folder.py %t
REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
"""

import json
import os
import resource
import shutil
import struct
import subprocess
import sys

import numpy as np
from work_folder import enter, write

tools, examples, work = sys.argv[1:]
enter(work)
wrong = []


def refuses(says, tool, *arguments, mebibytes=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if mebibytes:
            resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    program = os.path.join(tools, tool) if tool.startswith("mx-") else tool
    done = subprocess.run([program, *arguments], capture_output=True, text=True, preexec_fn=limit)
    text = done.stdout + done.stderr
    if done.returncode != 2 or says not in text:
        wrong.append(f"{tool} {' '.join(arguments)}: expected status 2 and '{says}', "
                     f"found {done.returncode}: {text[-2000:]}")


def empty(name, shape, dtype="<u2"):
    """Writes the header of an array with extents that NumPy would refuse, and no data."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    return name


matmul = os.path.join(examples, "matmul.mlir")
million = empty("million.npy", (1 << 20, 0))
most = empty("most.npy", (1 << 40, 0))
x = "x.npy"
np.save(x, np.ones((128, 64), np.uint16))

# Empty operands, and a result with 2^40 or 2^80 elements.
for operand in million, most:
    for limit in None, 4096:
        sim = ("no memory for" if operand == million else "matmul.mlir:29:8: "
               "4294967296 * 4294967296 does not fit into 64 bits")
        for device, says in ("cpu", "expected memory for an array"), ("sim", sim):
            refuses(says, "mx-run", f"--device={device}", matmul, "--arg", operand, "--arg", operand,
                    mebibytes=limit)
fill = write("fill.mlir", """func.func @main(%n: index) -> tensor<?x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty(%n) : tensor<?x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}
""")
for name, count, sim in (("large", 1 << 45, "no memory for"),
                         ("overflow", 1 << 60, "fill.mlir:3:8: 1152921504606846976 * 16 does not fit")):
    np.save(name, np.int64(count))
    refuses("expected memory for an array", "mx-run", "--device=cpu", fill, "--arg", f"{name}.npy")
    refuses(sim, "mx-run", "--device=sim", fill, "--arg", f"{name}.npy")
static = write("static.mlir", """func.func @main() -> tensor<1099511627776x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1099511627776x4096xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1099511627776x4096xf32>) -> tensor<1099511627776x4096xf32>
  return %1 : tensor<1099511627776x4096xf32>
}
""")
for device in "cpu", "sim":
    refuses("static.mlir:", "mx-run", f"--device={device}", static)

# Files shorter than their header claims, or too large for the memory.
for tool, arguments in ("mx-run", ["--device=cpu", matmul]), ("mx-launch", ["matmul"]):
    if tool == "mx-launch":
        subprocess.run([os.path.join(tools, "mx-compile"), matmul, "-o", "matmul", "--ptxas=none"],
                       check=True)
    for shape in (1 << 31, 1 << 20), (1 << 62, 1 << 62), (1 << 40,) * 3:
        refuses("expected", tool, *arguments, "--arg", empty("lies.npy", shape), "--arg", x)
    with open(empty("huge.npy", (1 << 20, 1 << 11)), "ab") as file:
        file.truncate(os.path.getsize("huge.npy") + (1 << 32))
    refuses("no memory for the 4294967296 bytes", tool, *arguments, "--arg", "huge.npy", "--arg", x,
            mebibytes=3072)

# Manifests that request results and workspaces of any size.
manifest = json.load(open("matmul/manifest.json"))
entry = manifest["entries"][0]
os.environ["MX_DEVICE"] = "sim"
args = ["--arg", x, "--arg", x]
for size in 1 << 33, 1 << 45, 1 << 62, (1 << 63) - 1:
    for change in {"results": [{**entry["results"][0], "shape": [size, 1]}]}, {"workspace": size}:
        os.makedirs("asks", exist_ok=True)
        shutil.copy("matmul/kernels.ptx", "asks")
        write("asks/manifest.json", json.dumps({**manifest, "entries": [{**entry, **change}]}))
        for limit in 2048, None:
            # Without a limit, request more memory than any host provides. Smaller requests would succeed slowly.
            if limit or size > 1 << 40:
                refuses("mx-launch: ", "mx-launch", "asks", *args, mebibytes=limit)

# Variables of kernels, and buffers in launch files.
kernel = """.version 8.8
.target sm_100a
.address_size 64
.global .b8 large[%d];
.visible .entry k()
{
  .local .b8 mine[%d];
  .reg .b64 %%rd1;
  mov.u64 %%rd1, mine; st.local.u8 [%%rd1], 1;
  ret;
}
"""
for name, of_module, of_thread, says in [("global", 1 << 35, 8, "no memory for variable 'large'"),
                                         ("local", 8, 1 << 28, "more than 1 MiB of local memory")]:
    write(f"{name}.ptx", kernel % (of_module, of_thread))
    write(f"{name}.json", json.dumps({"kernel": "k", "grid": [1], "block": [1024]}))
    refuses(says, "mx-sim", f"{name}.ptx", f"{name}.json", mebibytes=2048)
write("small.ptx", kernel % (8, 8))
for size in 1 << 34, 1 << 50, (1 << 64) - 1:
    write("buffers.json", json.dumps({"buffers": {"b": {"bytes": size}}, "launches": []}))
    refuses("buffers.json", "mx-sim", "small.ptx", "buffers.json", mebibytes=2048)

# If the stack of only one thread fits, the simulator is slower but gives the correct result.
write("blocks.json", json.dumps({"kernel": "k", "grid": [64], "block": [128]}))
done = subprocess.run(["sh", "-c", 'ulimit -s 1048576; ulimit -v 1048576; exec "$@"', "sh",
                       os.path.join(tools, "mx-sim"), "small.ptx", "blocks.json"],
                      capture_output=True, text=True)
if done.returncode:
    wrong.append(f"mx-sim without threads: {done.returncode}: {done.stderr[-2000:]}")

# The Python package raises an exception, and the process continues.
refuses("out of memory OutOfMemory\nstill here", sys.executable, "-c", """
import sys, mx_compiler as mx
mx.set_device("sim")
try:
    mx.empty((1 << 30, 1 << 20), "f4")
except mx.Error as error:
    print(error.name, "OutOfMemory")
print("still here", mx.array(__import__("numpy").ones(4)).numpy()[0])
sys.exit(2)
""")

sys.exit("\n".join(wrong) or 0)
