"""Passes arrays of f16, f32 and f64 to arguments of type bf16, f32 and f64. mx-run and mx-launch convert to the same
numbers, print one line about the conversion, and refuse other types with a remedy.

bf16 results are compared with mx_reference.round_to, results of other types with NumPy's conversion.

RUN: %python %s %mx_obj/bin %t
REQUIRES: compiler, numpy
"""

import os
import subprocess
import sys

import ml_dtypes
import mx_reference as ref
import numpy as np
from work_folder import enter, write

tools, work = sys.argv[1:]
enter(work)
np.seterr(all="ignore")
os.environ.update(MX_QUIET="", MX_DEVICE="sim")
BITS = {"bf16": np.uint16, "f16": np.uint16, "f32": np.uint32, "f64": np.uint64}
DTYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32),
          "f64": np.dtype(np.float64)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Types accepted for each argument type, and whether the conversion rounds.
TAKES = {"bf16": {"f16": True, "f32": True, "f64": True}, "f32": {"f16": False, "f64": True},
         "f64": {"f16": False, "f32": False}, "f16": {}}


def interesting(name):
    """Returns test values of a type: for f16, all values; for f32, each pattern of the upper 16 bits, ties, and
    neighbors of ties; for f64, the same values and also neighbors of ties between two bf16 or two f32 values."""
    if name == "f16":
        return np.arange(65536, dtype=np.uint16).view(np.float16)
    upper = np.arange(65536, dtype=np.uint32)[:, None] << 16
    found = (upper | np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)).ravel().view(np.float32)
    if name == "f32":
        return found
    wide = found.astype(np.float64)
    # Ties between two f32 values: subnormal, normal, and at the largest number.
    single = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F800001, 0x7F7FFFFE, 0x7F7FFFFF], np.uint32)
    lower = single.view(np.float32).astype(np.float64)
    upper = np.append((single[:-1] + 1).view(np.float32).astype(np.float64), 2.0 ** 128)
    ties = np.concatenate([lower, (lower + upper) / 2])
    wide = np.concatenate([wide, ties, -ties, [5e-324, 1e-300, 1e300, np.inf]])
    return np.concatenate([wide, np.nextafter(wide, np.inf), np.nextafter(wide, -np.inf)])


def expected(x, name):
    return ref.round_to(x, name) if name == "bf16" else x.astype(DTYPES[name]).view(BITS[name])


def run(*words, status=0):
    done = subprocess.run([os.path.join(tools, words[0]), *words[1:]], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stderr


def tools_of(name):
    """Returns identity programs for both tools."""
    file = write(f"{name}.mlir", f"""func.func @main(%x: tensor<?x{name}>) -> tensor<?x{name}> {{
  return %x : tensor<?x{name}>
}}
""")
    run("mx-compile", file, "-o", name, "--ptxas=none")
    return {"mx-run": ["mx-run", file, "--device=cpu"], "mx-launch": ["mx-launch", name]}


for name, takes in TAKES.items():
    commands = tools_of(name)
    for source, rounds in takes.items():
        x = interesting(source)
        np.save("x.npy", x)
        wanted, nan = expected(x, name), np.isnan(x)
        beyond = int((np.isfinite(x) & np.isinf(wanted.view(DTYPES[name]).astype(np.float64))).sum())
        for tool, command in commands.items():
            said = run(*command, "--arg", "x.npy", "--result", "y.npy")
            found = np.load("y.npy").view(BITS[name])
            case = f"{tool}, {source} to {name}"
            assert np.array_equal(found[~nan], wanted[~nan]), case
            y = found.view(DTYPES[name]).astype(np.float64)
            assert np.isnan(y[nan]).all() and np.array_equal(np.signbit(y), np.signbit(x)), case
            note = f"{tool}: converted x.npy from {source} to {name}"
            if beyond:
                note += f" ({beyond} values beyond its range became infinite)"
            note += ", rounding to nearest even\n" if rounds else "\n"
            assert said == note, (said, note)
            assert (beyond > 0) == (source == "f64" or (source, name) == ("f32", "bf16")), case

# The conversion to bf16 rounds only once. An intermediate rounding to f32 would produce a tie, and bf16 would then
# round up to even.
tie = np.float64(1 + 3 * 2.0 ** -8)
for x, once in ((np.nextafter(tie, 0), 0x3F81), (tie, 0x3F82), (np.nextafter(tie, 2), 0x3F82)):
    np.save("x.npy", np.array([x]))
    run("mx-run", "bf16.mlir", "--device=cpu", "--arg", "x.npy", "--result", "y.npy")
    assert np.load("y.npy") == once, (x, np.load("y.npy"))
assert np.float64(np.nextafter(tie, 0)).astype(np.float32) == tie

# Tests arrays of the argument's type, an empty array, a number, and two arrays at once.
np.save("x.npy", np.array([1.5], np.float32))
assert run("mx-run", "f32.mlir", "--device=cpu", "--arg", "x.npy") == ""
np.save("none.npy", np.zeros(0))
assert "from f64 to bf16" in run("mx-launch", "bf16", "--arg", "none.npy", "--result", "y.npy")
assert np.load("y.npy").shape == (0,)
write("two.mlir", """func.func @main(%x: tensor<2x3xbf16>, %n: f32) -> (tensor<2x3xbf16>, f32) {
  return %x, %n : tensor<2x3xbf16>, f32
}
""")
run("mx-compile", "two.mlir", "-o", "two", "--ptxas=none")
x = np.arange(6, dtype=np.float32).reshape(2, 3)
np.save("x.npy", x)
np.save("n.npy", np.float64(0.1))
files = ["--arg", "x.npy", "--arg", "n.npy", "--result", "y.npy", "--result", "m.npy"]
for tool, command in {"mx-run": ["two.mlir", "--device=cpu"], "mx-launch": ["two"]}.items():
    said = run(tool, *command, *files)
    assert said == f"{tool}: converted x.npy from f32 to bf16, n.npy from f64 to f32, rounding to nearest even\n", said
    assert np.array_equal(np.load("y.npy").view(ml_dtypes.bfloat16), x.astype(ml_dtypes.bfloat16))
    assert np.load("m.npy") == np.float32(0.1)
    assert run(tool, *command, *files, "--quiet") == ""
os.environ["MX_QUIET"] = "1"
assert run("mx-launch", "two", *files) == ""

# Rejected types: both tools print the same message and exit with the same status.
REFUSED = {
    ("f16", "f4"): ": the largest f16 is 65504; if all values are below, convert the array with x.astype(numpy.float16)",
    ("f16", "i4"): ": convert the array with x.astype(numpy.float32)",
    ("bf16", "i4"): ": convert the array with x.astype(numpy.float32)",
    ("bf16", "b1"): ": convert the array with x.astype(numpy.float32)",
    ("f32", "u2"): ": if these are the bits of bf16, convert the array with "
                   "x.view(ml_dtypes.bfloat16).astype(numpy.float32)",
    ("bf16", "c8"): ": convert the array with x.astype(numpy.float32)",
}
KINDS = {"bf16": "u2", "f16": "f2", "f32": "f4"}
for (name, dtype), advice in REFUSED.items():
    np.save("x.npy", np.ones(3, dtype))
    for tool, command in {"mx-run": [f"{name}.mlir", "--device=cpu"], "mx-launch": [name]}.items():
        said = run(tool, *command, "--arg", "x.npy", status=2)
        assert said == (f"{tool}: x.npy: argument 0 of type tensor<?x{name}>: expected ?x{KINDS[name]}, "
                        f"found 3x{dtype}{advice}\n"), said
# A wrong shape is reported first, for any type.
np.save("x.npy", np.ones((3, 1)))
assert run("mx-launch", "bf16", "--arg", "x.npy", status=2).endswith("expected ?xu2, found 3x1xf8\n")
