"""If an input file is a named pipe, a directory or a device, the tools, the runtime and Python refuse it with the same
message before they open it, because reading might block or never end. Pipes that a shell passes as file descriptors are
read.

RUN: %python %s %mx_obj/bin %mx_src %t
RUN: %python %mx_src/test/python/work_folder.py %t
REQUIRES: compiler, numpy
"""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
from work_folder import enter, write

tools, source, work = sys.argv[1:]
enter(work)
os.environ.update(MX_DEVICE="sim", MX_CACHE_DIR=os.path.join(work, "cache"))

PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
write("it.mlir", PROGRAM)
np.save("x.npy", np.arange(4, dtype=np.float32))
os.mkfifo("pipe")
os.mkdir("folder")
KINDS = {"pipe": "a named pipe", "folder": "a directory", "/dev/zero": "a device"}


def run(command, seconds=60, **options):
    name, *rest = command
    return subprocess.run([os.path.join(tools, name), *rest], capture_output=True, text=True, timeout=seconds, **options)


def refuses(status, says, command):
    done = run(command)
    found = done.stderr.strip()
    assert done.returncode == status and says in found, (
        f"{command}: expected {status} and '{says}', found {done.returncode}: {found}")
    assert len(found) < 1000, found


assert run(["mx-compile", "it.mlir", "-o", "it", "--ptxas=none"]).returncode == 0
assert sorted(os.listdir("it")) == ["constants.bin", "it.h", "kernels.ptx", "manifest.json"]
launch = ["mx-launch", "it", "--arg", "x.npy", "--result", "y.npy"]
assert run(launch).returncode == 0
assert (np.load("y.npy") == [1, 3, 5, 7]).all()
recorded = os.path.join(work, "records")
os.mkdir(recorded)
assert run(launch, env={**os.environ, "MX_SIM_RECORD": recorded}).returncode == 0
record = os.path.join(recorded, sorted(os.listdir(recorded))[0])

# A message may contain a location in a pipe or a device, which must not be opened for the source line.
write("places.mlir", """func.func @main() {
  "mx.quantize"() : () -> () loc(fused["pipe":3:4, "/dev/zero":5:6])
  return
}
""")
for command in ("mx-opt", "places.mlir"), ("mx-run", "places.mlir"), ("mx-compile", "places.mlir", "-o", "no"):
    refuses(1 if command[0] == "mx-opt" else 2, "pipe", command)
done = run(["mx-opt", "/dev/stdin"], input="func.func @main() {\n  wrong\n}\n")
assert "  wrong\n  ^" in done.stderr, done

# A device at its end is read as an empty file.
assert run(["mx-opt", "/dev/null"]).returncode == 0

# A folder named by an option is not an input.
os.mkdir("tree")
assert run(["mx-opt", "it.mlir", "--canonicalize", "--mlir-print-ir-after-all", "--mlir-print-ir-tree-dir", "tree"]).returncode == 0

for path, kind in KINDS.items():
    says = f"{path}: expected a file, found {kind}"
    refuses(1, says, ["mx-opt", path])
    refuses(1, says, ["mx-opt", "--canonicalize", path, "-o", "/dev/null"])
    refuses(1, says, ["mx-translate", "--mx-to-ptx", path])
    refuses(2, says, ["mx-run", path, "--arg", "x.npy"])
    refuses(2, says, ["mx-run", "it.mlir", "--arg", path])
    refuses(2, says, ["mx-compile", path, "-o", "other", "--ptxas=none"])
    refuses(2, says, ["mx-launch", "it", "--arg", path])
    refuses(2, says, ["mx-sim", path])
    refuses(2, says, ["mx-sim", "--list", path])
    refuses(2, says, ["mx-sim", path, os.path.join(record, "launch.json")])
    for file in os.listdir("it"):
        if file.endswith(".h"):
            continue
        shutil.copytree("it", "changed", symlinks=True)
        os.remove(f"changed/{file}")
        os.symlink(os.path.join(work, path), f"changed/{file}")
        refuses(2, f"changed/{file}: expected a file, found {kind}", ["mx-launch", "changed", "--arg", "x.npy"])
        shutil.rmtree("changed")
    for file in os.listdir(record):
        shutil.copytree(record, "changed")
        os.remove(f"changed/{file}")
        os.symlink(os.path.join(work, path), f"changed/{file}")
        refuses(2, f"{file}: expected a file, found {kind}", ["mx-sim", "changed/launch.json"])
        shutil.rmtree("changed")

# Python prints the same message.
import mx_compiler as mx

for path, kind in KINDS.items():
    for what in (lambda: mx.compile(pathlib.Path(path)), lambda: mx.Template(pathlib.Path(path))):
        try:
            what()
        except OSError as error:
            assert str(error) == f"{path}: expected a file, found {kind}", error
        else:
            raise AssertionError(f"{path} was read")
# An invalid file in the cache is replaced.
program = mx.compile(PROGRAM)
[entry] = [p for p in pathlib.Path(os.environ["MX_CACHE_DIR"]).rglob("*") if p.is_file() and p.suffix != ".lock"]
entry.unlink()
os.mkfifo(entry)
again = subprocess.run([sys.executable, "-c", f"import mx_compiler as mx, numpy; print(mx.compile({PROGRAM!r})['main'](numpy.zeros(4, numpy.float32))[0])"],
                       capture_output=True, text=True, timeout=120)
assert again.stdout == "[1. 2. 3. 4.]\n", again
assert entry.is_file()

# Pipes from a shell are read.
for command in ("mx-launch it --arg <(cat x.npy) --result z.npy", "cat x.npy | mx-launch it --arg /dev/stdin --result z.npy",
                "mx-run <(cat it.mlir) --arg <(cat x.npy) --result z.npy", "mx-opt <(cat it.mlir)",
                "mx-run - --arg x.npy --result z.npy < it.mlir"):
    done = subprocess.run(["bash", "-c", f"set -o pipefail; PATH={tools}:$PATH; {command}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (command, done)
    if "z.npy" in command:
        assert (np.load("z.npy") == np.load("y.npy")).all()
        os.remove("z.npy")

# A file of constants with the wrong size is not read, because 1 TiB would not fit into memory.
for size in 0, 12, 20, 1 << 40:
    with open("it/constants.bin", "r+b") as file:
        file.truncate(size)
    refuses(2, f"it/constants.bin: expected the 16 bytes that the manifest declares, found {size}",
            ["mx-launch", "it", "--arg", "x.npy"])
print("right")
