"""Checks how mx-compile, Python, the report of python -m mx_compiler, and simulator/scripts/find_ptxas.py find ptxas
with MX_PTXAS and --ptxas. A name without a slash is looked up on PATH, as in a shell, and not in the current folder. A
ptxas that is too old for the kernels' PTX is skipped if it was found, and is an error with the reason if it was
requested.

RUN: %python %s %mx_obj/bin %mx_src %t
REQUIRES: compiler, numpy
"""

import os
import subprocess
import sys

from mx_compiler._compile import ptxas
from work_folder import enter, write

tools, source, work = sys.argv[1:]
enter(work)

# This script lists the chips in its help, but fails like ptxas from an older CUDA release.
ASSEMBLER = """#!/bin/sh
echo "$0" >> {log}
for word; do
  [ "$word" = --help ] && echo sm_100a sm_120a && exit 0
  [ "$word" = --version ] && echo 'Cuda compilation tools, release {cuda}, V{cuda}.1' && exit 0
  [ "$last" = -o ] && out=$word
  last=$word
done
[ {cuda} = 12.8 ] && {{ echo "ptxas fatal : Unsupported .version 8.8; current version is '8.7'"; exit 255; }}
printf %s {cuda} > "$out"
"""
PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.abs ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
PYTHON = """import mx_compiler as mx, sys
mx.compile(sys.argv[1], chip="sm_120a", cache=False).save("out")
"""
write("it.mlir", PROGRAM)
log = os.path.join(work, "log")
PLACES = {}
for name, cuda in (("my-ptxas", "12.9"), ("here-only", "12.9"), ("path/my-ptxas", "12.9"), ("old/ptxas", "12.8"),
                   ("new/bin/ptxas", "12.9")):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    PLACES[name] = os.path.abspath(write(name, ASSEMBLER.format(log=log, cuda=cuda)))
    os.chmod(PLACES[name], 0o755)
COMPILERS = {"mx-compile": [os.path.join(tools, "mx-compile"), "it.mlir", "--chip=sm_120a", "-o", "out"],
             "python": [sys.executable, "-c", PYTHON, PROGRAM]}
FIND = [sys.executable, os.path.join(source, "simulator", "scripts", "find_ptxas.py")]


def run(command, folder, **variables):
    """Runs a command with a folder first on PATH. Returns the status, the message, the assemblers that ran, and the
    contents of the kernels' cubin, or None."""
    open(log, "w").close()
    subprocess.run(["rm", "-rf", "out"], check=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("MX_PTXAS", "CUDA_HOME")}
    path = os.path.join(work, folder) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**environment, "PATH": path, "MX_DEVICE": "sim", **variables})
    with open(log) as file:
        used = sorted(set(file.read().split()))
    made = open("out/kernels.cubin").read() if os.path.exists("out/kernels.cubin") else None
    return done.returncode, done.stdout + done.stderr, used, made


found = PLACES["path/my-ptxas"]
for name, command in {**COMPILERS, "find_ptxas": FIND}.items():
    status, text, used, _ = run(command, "path", MX_PTXAS="my-ptxas")
    assert (status, used) == (0, [found]), (name, text, used)
    status, _, used, _ = run(command, "path", MX_PTXAS="./my-ptxas")
    assert status == 0 and used == ["./my-ptxas"], (name, used)
    status, text, used, _ = run(command, "path", MX_PTXAS="here-only")
    assert status and not used, (name, used)
    if name != "find_ptxas":
        assert "expected the assembler 'here-only' on PATH, found none: pass its path, or 'none'" in text, text
compiler = COMPILERS["mx-compile"]
assert run(compiler, "path", MX_PTXAS="here-only")[0] == 2
assert run(FIND, "path", MX_PTXAS="my-ptxas")[1] == found + "\n"
assert run([*compiler, "--ptxas=my-ptxas"], "path", MX_PTXAS="none")[::2] == (0, [found])
assert run(compiler, "path", MX_PTXAS="none")[::2] == (0, [])

old, new = PLACES["old/ptxas"], PLACES["new/bin/ptxas"]
for name, command in COMPILERS.items():
    status, text, _, made = run(command, "old", CUDA_HOME=os.path.abspath("new"))
    assert (status, made) == (0, "12.9"), (name, status, text, made)
    status, text, _, made = run(command, "old", MX_PTXAS=old)
    assert status and made is None, (name, status, text, made)
    assert "Unsupported .version 8.8" in text, (name, text)
    assert ("expected ptxas of CUDA 12.9 or newer, which reads PTX 8.8: pass its path, or none to let "
            "the driver assemble the kernels") in text, (name, text)

# If all assemblers are outdated, Python chooses none. mx-compile is not tested, because it also searches
# /usr/local/cuda.
assert ptxas.choose([old], False, "sm_120a") == "none"
assert ptxas.choose([old], True, "sm_120a") == old
assert ptxas.choose([old, new], False, "sm_120a") == new
assert [ptxas.is_too_old(cuda) for cuda in ("12.8", "12.9", "12.10", "13.0", "")] == [True, False, False, False, False]

report = [sys.executable, "-c", "from mx_compiler._doctor import facts, report; "
          "print(report.describe_assemblers(facts.assemblers()))"]
assert run(report, ".", MX_PTXAS=old)[1] == f"{old}: CUDA 12.8, too old for mx kernels: CUDA 12.9 or newer reads their PTX\n"
assert run(FIND, "old", MX_PTXAS="", CUDA_HOME=os.path.abspath("new"))[1].strip() == new
print("right")
