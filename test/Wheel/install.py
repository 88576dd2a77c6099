"""Packs wheels from this build and installs them, isolated from the sources and any other mx. Checks all tools and the
package.

REQUIRES: wheel, wheel-runtime, numpy
RUN: rm -rf %t && mkdir %t
RUN: %python %s %mx_src %mx_obj %t
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
from installation import Installation, pack

sources, build, work = map(pathlib.Path, sys.argv[1:])
compiler_wheel, runtime_wheel = pack(sources, build, work / "dist", "compiler", "runtime")

# Wheels contain the metadata required by scripts/release.
version = re.search(r"project\(MX VERSION ([\d.]+)", (sources / "CMakeLists.txt").read_text())[1]
subprocess.run([sys.executable, sources / "scripts/release_metadata.py", version, compiler_wheel, runtime_wheel],
               check=True)


def matrices(folder):
    """Creates the arguments of examples/matmul.mlir, and their matmul in float64."""
    rng = np.random.default_rng(0)
    arrays = []
    for name, rows in (("x", 64), ("w", 96)):
        array = rng.standard_normal((rows, 128)).astype(ml_dtypes.bfloat16)
        np.save(folder / f"{name}.npy", array.view(np.uint16))
        arrays.append(array.astype(np.float64))
    return arrays[0] @ arrays[1].T


def is_near(file, exact):
    """Tests for at least 26 dB of signal-to-noise ratio, which matmuls of 8-bit elements reach."""
    y = np.load(file).view(ml_dtypes.bfloat16).astype(np.float64)
    return ((y - exact) ** 2).sum() < (exact**2).sum() * 10**-2.6


# --- The compiler's wheel -----------------------------------------------------

mx = Installation(work / "compiler", compiler_wheel)
exact = matrices(mx.folder)
shutil.copytree(sources / "examples", mx.folder / "examples")
arguments = ["--arg=x.npy", "--arg=w.npy"]

# All files come from the wheel.
where = mx.run("python", "-c", "import mx_compiler as mx; print(mx.__file__, mx.library.compiler_path())")
assert [pathlib.Path(word).parent for word in where.split()] == [mx.packages / "mx_compiler"] * 2, where
assert (mx.packages / "mx_compiler/py.typed").exists()

version = subprocess.run([build / "bin/mx-opt", "--version"], capture_output=True, text=True).stdout
for tool in "mx-opt", "mx-translate", "mx-compile", "mx-run", "mx-sim":
    own = subprocess.run([build / "bin" / tool, "--version"], capture_output=True, text=True).stdout
    assert mx.run(tool, "--version") == own, tool
    # Command line options of the tools do not collide in the shared library. Options of LLVM targets that the wheel
    # lacks do not exist.
    options = [set(re.findall(r"^ +(--?mx[-\w]*|--(?:arg|seed|chip|device|entry)\b).*", text, re.M))
               for text in (mx.run(tool, "--help"),
                            mx.run(build / "bin" / tool, "--help"))]
    assert options[0] == options[1] and options[0], (tool, options)

# Another installed package called mx is unaffected: the wheel contains no such package.
assert "No module named 'mx'" in mx.run("python", "-c", "import mx", status=1)
inputs = sources / "test/Package/Inputs"
shutil.copytree(inputs / "other_mx/mx", mx.packages / "mx")
for order in ("mx", "mx_compiler"), ("mx_compiler", "mx"):
    assert mx.run("python", inputs / "beside_other_mx.py", *order) == "both work\n", order
assert mx.run("mx-opt", "--version") == version
shutil.rmtree(mx.packages / "mx")

# A plugin cannot use the MLIR in the library, so plugins cause an error.
for option in "--load-pass-plugin", "--load-dialect-plugin":
    says = mx.run("mx-opt", f"{option}={build / 'lib/MXPlugin.so'}", stdin="", status=1)
    assert re.fullmatch(rf"mx-opt: expected a plugin of MLIR for {option}, found '.*MXPlugin.so': this mx-opt contains MLIR and .*\n", says), says

# The tools produce the same output as the tools of the build, byte for byte.
text = (mx.folder / "examples/matmul.mlir").read_text()
ir = mx.run("mx-opt", "--mx-to-nvvm=chip=sm_100a", stdin=text)
ptx = mx.run("mx-translate", "--mx-to-ptx", stdin=ir)
assert ptx == subprocess.run(
    [build / "bin/mx-translate", "--mx-to-ptx"], input=ir, capture_output=True, text=True).stdout
assert ".visible .entry" in ptx

mx.run("mx-run", "examples/matmul.mlir", *arguments, "--result=run.npy", "--device=sim",
       "--check=cpu")
assert is_near(mx.folder / "run.npy", exact)

# Code for the CPU calls the compiler's own library for 128-bit integers.
(mx.folder / "wide.mlir").write_text("""
func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {
  %wide = arith.extsi %x : tensor<4xi64> to tensor<4xi128>
  %square = arith.muli %wide, %wide : tensor<4xi128>
  %three = arith.constant dense<3> : tensor<4xi128>
  %quotient = arith.divsi %square, %three : tensor<4xi128>
  %low = arith.trunci %quotient : tensor<4xi128> to tensor<4xi64>
  return %low : tensor<4xi64>
}
""")
numbers = [-(10**12), 5, 3 * 10**9, 10**17]
np.save(mx.folder / "numbers.npy", np.array(numbers))
mx.run("mx-run", "wide.mlir", "--arg=numbers.npy", "--result=wide.npy", "--device=cpu")
expected = [number**2 // 3 + 2**63 & 2**64 - 1 for number in numbers]
assert [int(y) + 2**63 for y in np.load(mx.folder / "wide.npy")] == expected

mx.run("mx-compile", "examples/matmul.mlir", "-o", "matmul", "--ptxas=none")
mx.run("mx-launch", "matmul", *arguments, "--result=launch.npy", "--device=sim")
assert np.array_equal(np.load(mx.folder / "run.npy"), np.load(mx.folder / "launch.npy"))
assert "dB" in mx.run("python", "examples/matmul.py", "matmul", "--device=sim")

assert "kernel" in mx.run("mx-sim", "--list", "matmul/kernels.ptx")
assert "right" in mx.run("python", "examples/compile.py", "--device=sim")
# All parts run from the build (Package/functions.test).
tested = mx.run("python", "-m", "mx_compiler.selftest", "--device=sim", "memory", "quantize", "matmul",
                "threads", "messages", "cache", "swiglu")
assert re.search(r"\n7 parts, about \d+ s of processor time\n", tested), tested
assert re.search(r"\nselftest: passed \(\d+ s\)\n$", tested), tested

doctor = mx.run("python", "-m", "mx_compiler")
assert "works: compiled and ran a program on " in doctor, doctor

# The ten lines of the page.
page = (sources / "docs/guide/Python.md").read_text()
lines = re.search("run by test/Wheel/install.py -->\n```python\n(.*?)```", page, re.DOTALL)[1]
assert lines.count("\n") <= 10
for device in "sim", "cpu":
    shapes = mx.run("python", "-c", lines + "print(y.shape, dx.shape, dw1.shape, dw2.shape, dprobs.shape)",
                    MX_DEVICE=device)
    assert shapes.endswith("(32, 128) (32, 128) (4, 384, 128) (4, 128, 192) (64,)\n"), shapes

# The assembler of NVIDIA's package is found next to mx. A fake assembler prints its path.
fake = mx.packages / "nvidia/cu13/bin/ptxas"
fake.parent.mkdir(parents=True)
fake.write_text('#!/bin/sh\n[ "$1" = --help ] && { echo sm_100a; exit; }\n[ "$1" = --version ] && exit\n'
                'while [ "$1" != -o ]; do shift; done\necho "$0" > "$2"\n')
fake.chmod(0o755)
mx.run("mx-compile", "examples/matmul.mlir", "-o", "assembled")
used = (mx.folder / "assembled/kernels.cubin").read_text().strip()
assert used == str(fake), used


# --- Statuses and signals match the ordinary tools -------------------------------


def both(tool, *words, act):
    """Returns the result of `act` on the tool. The wheel's and the build's results must be equal."""
    found = [act([program, *words]) for program in (mx.python.parent / tool, build / "bin" / tool)]
    assert found[0] == found[1], (tool, words, found)
    return found[0]


def status(command):
    return subprocess.run(command, cwd=mx.folder, env=mx.environment, input=b"not IR",
                          capture_output=True).returncode


def closed_pipe(command):
    """Runs a command with a closed output."""
    child = subprocess.Popen(command, cwd=mx.folder, env=mx.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    child.stdout.close()
    return child.wait()


def interrupted(command):
    """Sends a signal to a command while the command waits for input."""
    child = subprocess.Popen(command, cwd=mx.folder, env=mx.environment, stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.readlink(f"/proc/{child.pid}/exe").endswith("bin/mx-opt"):
        assert child.poll() is None  # still Python, before it executes the tool
    child.send_signal(signal.SIGTERM)
    return child.wait()


assert both("mx-opt", act=status) == 1
assert both("mx-run", "none.mlir", act=status) == 2
assert both("mx-launch", "none", act=status) == 2
assert both("mx-opt", "--help", act=closed_pipe) != 0
assert both("mx-opt", act=interrupted) == -signal.SIGTERM

# --- The runtime's wheel ----------------------------------------------------------

runtime = Installation(work / "runtime", runtime_wheel)
mx.run("python", "-m", "mx_compiler.selftest", f"--write={work}/program")
tested = runtime.run("python", "-m", "mx_compiler.selftest", f"--program={work}/program")
assert re.search(r"threads: passed \(.*\)\nselftest: passed \(\d+ s\)\n$", tested), tested
doctor = runtime.run("python", "-m", "mx_compiler")
assert "this installation of mx runs compiled programs" in doctor and "works: copied an array on " in doctor, doctor
assert "has no compiler" in runtime.run("python", "-m", "mx_compiler.selftest")
assert "Install the wheel mx-compiler" in runtime.run(
    "python", "-c", "import mx_compiler as mx; mx.library.compiler_path()", status=1)
assert "quantize(" in runtime.run("mx-launch", f"{work}/program", "--list")
