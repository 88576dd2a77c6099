"""An assembler that is named without a slash is looked up on PATH, as by a shell, and not in
the current folder: by MX_PTXAS and --ptxas, in mx-compile, Python and simulator/scripts/find_ptxas.py.

RUN: %python %s %mx_obj/bin %mx_src %t
REQUIRES: compiler, numpy
"""

import os
import subprocess
import sys

from work_folder import enter, write

tools, source, work = sys.argv[1:]
enter(work)

ASSEMBLER = """#!/bin/sh
echo "$0" >> {log}
for word; do
  [ "$word" = --help ] && echo sm_100a && exit 0
  [ "$last" = -o ] && printf cubin > "$word"
  last=$word
done
"""
PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.abs ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
write("it.mlir", PROGRAM)
os.mkdir("path")
log = os.path.join(work, "log")
for name in "my-ptxas", "path/my-ptxas", "here-only":
    os.chmod(write(name, ASSEMBLER.format(log=log)), 0o755)
python = "import mx_compiler as mx, sys; mx.compile(sys.argv[1], chip='sm_100a', cache=False)"
COMMANDS = {
    "mx-compile": [os.path.join(tools, "mx-compile"), "it.mlir", "-o", "out"],
    "python": [sys.executable, "-c", python, PROGRAM],
    "find_ptxas": [sys.executable, os.path.join(source, "simulator", "scripts", "find_ptxas.py")],
}


def run(command, asked):
    """What is run in this folder, with the folder `path` on PATH: status, message, assemblers."""
    open(log, "w").close()
    path = os.path.join(work, "path") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PATH": path, "MX_PTXAS": asked, "MX_DEVICE": "sim"})
    with open(log) as file:
        used = sorted(set(file.read().split()))
    return done.returncode, done.stdout + done.stderr, used


found = os.path.join(work, "path", "my-ptxas")
for name, command in COMMANDS.items():
    assert run(command, "my-ptxas")[::2] == (0, [found]), (name, run(command, "my-ptxas"))
    status, _, used = run(command, "./my-ptxas")
    assert status == 0 and used == ["./my-ptxas"], (name, used)
    status, text, used = run(command, "here-only")
    assert status and not used, (name, used)
    if name != "find_ptxas":
        assert "expected the assembler 'here-only' on PATH, found none: name its path, or none" in text, text
assert run(COMMANDS["mx-compile"], "here-only")[0] == 2
assert run(COMMANDS["find_ptxas"], "my-ptxas")[1] == found + "\n"
assert run([*COMMANDS["mx-compile"], "--ptxas=my-ptxas"], "none")[::2] == (0, [found])
assert run(COMMANDS["mx-compile"], "none")[::2] == (0, [])
print("right")
