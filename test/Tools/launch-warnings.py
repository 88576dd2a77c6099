"""Checks that a launch prints warnings of the simulator, and that they can be turned into errors. The test deletes each
tcgen05.wait and tcgen05.fence from a matmul's PTX in turn. mx-launch prints the warning and exits with status 0, or
with status 1 if MX_SIM_WARNINGS=error. Python has a separate warning class.

RUN: %python %s %mx_obj/bin %examples/matmul.mlir %t
REQUIRES: compiler, numpy
"""

import os
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
from work_folder import enter

tools, program, work = sys.argv[1:]
enter(work)
# With few SMs, each SM computes many tiles and reuses its accumulators.
os.environ.update(MX_DEVICE="sim", MX_SIM_SM_COUNT="2")


def run(*command, **environment):
    done = subprocess.run([os.path.join(tools, command[0]), *command[1:]], capture_output=True, text=True,
                          timeout=120, env={**os.environ, **environment})
    return done.returncode, done.stderr


# The first result consists of whole tiles, the second also of partial tiles with a different epilogue.
random = np.random.default_rng(0)
SHAPES = (1280, 256, 128), (1300, 100, 128)
arguments = []
for m, n, k in SHAPES:
    for name, rows in ("x", m), ("w", n):
        bits = random.standard_normal((rows, k)).astype(np.float32).view(np.uint32) >> 16
        np.save(f"{name}{m}.npy", bits.astype(np.uint16))
    arguments.append(["--arg", f"x{m}.npy", "--arg", f"w{m}.npy"])

status, text = run("mx-compile", program, "-o", "whole", "--ptxas=none")
assert status == 0, text
shutil.copytree("whole", "cut")
with open("whole/kernels.ptx") as file:
    lines = file.read().split("\n")


def cut(deleted):
    """Writes the program without the given lines."""
    with open("cut/kernels.ptx", "w") as file:
        file.write("\n".join("" if i in deleted else line for i, line in enumerate(lines)))


def is_seen(deleted, kind):
    """Tests whether mx-launch reports findings of this kind. Warnings and errors must agree."""
    cut(deleted)
    seen = []
    for files in arguments:
        status, text = run("mx-launch", "cut", *files, "--result", "y.npy", MX_SIM_WARNINGS="error")
        assert status == bool(text) and (not text or f"{kind}: warning: " in text), (deleted, status, text)
        seen.append(bool(text))
    files = arguments[seen.index(True) if any(seen) else 0]
    status, text = run("mx-launch", "cut", *files, "--result", "y.npy", MX_SIM_WARNINGS="print")
    assert status == 0, text
    begin = "mx runtime: warning: kernel 'main_matmul' on the simulator ran to its end with findings (errors with MX_SIM_WARNINGS=error)\n"
    assert text.startswith(begin) == any(seen) and ("\ncut/kernels.ptx:" in text) == any(seen), text
    assert run("mx-launch", "cut", *files, "--result", "y.npy", MX_SIM_WARNINGS="none") == (0, "")
    return any(seen)


waits = [i for i, line in enumerate(lines) if re.match(r"\s*tcgen05\.wait::", line)]
fences = [i for i, line in enumerate(lines) if re.match(r"\s*tcgen05\.fence::", line)]
assert len(waits) >= 4 and len(fences) >= 8, (waits, fences)
assert not is_seen([], "")
for wait in waits:
    assert is_seen([wait], "ld-before-wait"), lines[wait]

# The fences at the barriers after the allocation and before the deallocation of tensor memory are not needed to order
# accesses of other warps: there is no access before the first fence, and all accesses before the second one are
# complete, because of their waits.
BARRIERS = ("bar.sync", "barrier.cluster")
around = [i for i in fences if any(barrier in lines[j] for j in (i - 1, i + 1) for barrier in BARRIERS)]
assert len(around) == 4, around
alone = [i for i in fences if i not in around and not is_seen([i], "tcgen05-fence")]
assert len(fences) - len(around) - len(alone) >= 2
# The MMA warp executes a fence after the wait for an accumulator, and another one after the wait for operands. The
# second fence alone would suffice.
assert len(alone) == 2 and is_seen(alone, "tcgen05-fence"), alone
assert is_seen(fences, "tcgen05-fence")

# Python warns only once about a kernel.
cut([waits[0]])
import mx_compiler as mx

x, w = (np.load(f"{name}{SHAPES[0][0]}.npy") for name in "xw")
mx.set_simulator_option("warnings", "print")
with mx.Program("cut") as loaded:
    for count in 1, 0:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y, = loaded["main"](x, w)
        assert [(c.category, c.filename) for c in caught] == count * [(mx.SimulatorWarning, __file__)], caught
        assert not count or "ld-before-wait: warning: " in str(caught[0].message), caught[0]
with mx.Program("cut") as loaded, warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        loaded["main"](x, w)
    except mx.SimulatorWarning:
        pass
    else:
        raise AssertionError("expected the warning as an exception")
mx.set_simulator_option("warnings", "error")
with mx.Program("cut") as loaded:
    try:
        loaded["main"](x, w)
    except mx.Error as error:
        assert error.name == "check failed" and "ld-before-wait: warning: " in str(error), error
    else:
        raise AssertionError("expected an error")
try:
    mx.set_simulator_option("warnings", "loud")
except mx.InvalidValueError as error:
    assert str(error) == "simulator option warnings: expected print, error or none, found 'loud'", error
else:
    raise AssertionError("expected an error")
print("right")
