"""An assembler of a CUDA whose ptxas does not read the PTX of kernels is passed over, and the
next is taken; one that was asked for fails, and mx says why: mx-compile, Python, the report
of python -m mx_compiler, and simulator/scripts/find_ptxas.py.

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

# It knows the chip, and fails as ptxas does where its CUDA is too old.
ASSEMBLER = """#!/bin/sh
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
write("it.mlir", PROGRAM)
PLACES = {}
for folder, cuda in ("old", "12.8"), ("new/bin", "12.9"):
    os.makedirs(folder)
    PLACES[cuda] = os.path.abspath(write(f"{folder}/ptxas", ASSEMBLER.format(cuda=cuda)))
    os.chmod(PLACES[cuda], 0o755)
PYTHON = """import mx_compiler as mx, sys
mx.compile(sys.argv[1], chip="sm_120a", cache=False).save("out")
"""
COMMANDS = {"mx-compile": [os.path.join(tools, "mx-compile"), "it.mlir", "--chip=sm_120a", "-o", "out"],
            "python": [sys.executable, "-c", PYTHON, PROGRAM]}


def run(command, **variables):
    """Status, message, and which assembler made the kernels."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MX_PTXAS", "CUDA_HOME")}
    path = os.path.dirname(PLACES["12.8"]) + os.pathsep + os.environ["PATH"]
    subprocess.run(["rm", "-rf", "out"], check=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**environment, "PATH": path, "MX_DEVICE": "sim", **variables})
    made = open("out/kernels.cubin").read() if os.path.exists("out/kernels.cubin") else None
    return done.returncode, done.stdout + done.stderr, made


for name, command in COMMANDS.items():
    status, text, made = run(command, CUDA_HOME=os.path.abspath("new"))
    assert (status, made) == (0, "12.9"), (name, status, text, made)
    status, text, made = run(command, MX_PTXAS=PLACES["12.8"])
    assert status and made is None, (name, status, text, made)
    assert "Unsupported .version 8.8" in text, (name, text)
    assert ("expected ptxas of CUDA 12.9 or newer, which reads PTX 8.8: name it, or none for kernels that "
            "the driver assembles") in text, (name, text)

# Only old ones, in Python; mx-compile also looks in /usr/local/cuda.
assert ptxas.choose([PLACES["12.8"]], False, "sm_120a") == "none"
assert ptxas.choose([PLACES["12.8"]], True, "sm_120a") == PLACES["12.8"]
assert ptxas.choose([PLACES["12.8"], PLACES["12.9"]], False, "sm_120a") == PLACES["12.9"]
assert [ptxas.is_too_old(cuda) for cuda in ("12.8", "12.9", "12.10", "13.0", "")] == [True, False, False, False, False]

done = subprocess.run([sys.executable, "-c", "from mx_compiler._doctor import facts, report; "
                       "print(report.describe_assemblers(facts.assemblers()))"], capture_output=True,
                      text=True, env={**os.environ, "MX_PTXAS": PLACES["12.8"]})
assert done.stdout == (f"{PLACES['12.8']}: CUDA 12.8, too old for kernels of mx: CUDA 12.9 or newer reads "
                       "their PTX\n"), done
done = subprocess.run([sys.executable, os.path.join(source, "simulator/scripts/find_ptxas.py")], capture_output=True, text=True,
                      env={**os.environ, "MX_PTXAS": "", "PATH": os.path.dirname(PLACES["12.8"]),
                           "CUDA_HOME": os.path.abspath("new")})
assert done.stdout.strip() == PLACES["12.9"], done
print("right")
