"""Checks that any nonzero byte of a bool is true, in arrays and in scalars: on the simulator and on the CPU path, from
Python, mx-run and mx-launch.

RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE= MX_CHIP= MX_CACHE_DIR=%t %python_torch -W error %s %t mx-run mx-compile mx-launch
"""

import pathlib
import subprocess
import sys

import mx_compiler as mx
import numpy as np

folder = pathlib.Path(sys.argv[1])
run, compile_tool, launch = sys.argv[2:]
MAPS = "indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]"


def each(name, result, body):
    """Returns a function to compute `result` for each element of an array of bools."""
    return f"""
func.func @{name}(%x: tensor<?xi1>) -> tensor<?x{result}> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xi1>
  %empty = tensor.empty(%n) : tensor<?x{result}>
  %y = linalg.generic {{{MAPS}}} ins(%x : tensor<?xi1>) outs(%empty : tensor<?x{result}>) {{
  ^bb0(%a: i1, %unused: {result}):
    {body}
    linalg.yield %r : {result}
  }} -> tensor<?x{result}>
  return %y : tensor<?x{result}>
}}"""


NOT = "%true = arith.constant true\n    %r = arith.xori %a, %true : i1"
SELECT = ("%five = arith.constant 5.0 : f32\n    %seven = arith.constant 7.0 : f32\n"
          "    %r = arith.select %a, %five, %seven : f32")
TEXTS = {
    "widen": each("widen", "i32", "%r = arith.extui %a : i1 to i32"),
    "sign": each("sign", "i32", "%r = arith.extsi %a : i1 to i32"),
    "invert": each("invert", "i1", NOT),
    "choose": each("choose", "f32", SELECT),
    "convert": each("convert", "f32", "%r = arith.uitofp %a : i1 to f32"),
    "same": "func.func @same(%x: tensor<?xi1>) -> tensor<?xi1> { return %x : tensor<?xi1> }",
    "number": """
func.func @number(%x: i1, %y: tensor<8xf32>) -> tensor<8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %r = arith.select %x, %y, %zeros : tensor<8xf32>
  return %r : tensor<8xf32>
}""",
}
codes = np.array([0, 1, 2, 3, 127, 128, 254, 255], np.uint8)
is_true = codes != 0
EXPECTED = {"widen": is_true.astype(np.int32), "sign": -is_true.astype(np.int32),
            "invert": ~is_true, "choose": np.where(is_true, np.float32(5), np.float32(7)),
            "convert": is_true.astype(np.float32), "same": is_true}
y = np.arange(1, 9, dtype=np.float32)


def check(name, found, how):
    """Compares bytes, because NumPy compares bools by their raw values."""
    expected = EXPECTED[name]
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes(), (
        f"{name}, {how}: expected {expected}, found {found.view(np.uint8)}")


# --- Python -----------------------------------------------------------------------

given = [codes.view(bool)]
try:
    import torch
except ImportError:
    pass
else:
    given.append(torch.from_numpy(codes.copy()).view(torch.bool))
for device in "sim", "cpu":
    mx.set_device(device)
    program = mx.compile("".join(TEXTS.values()), ptxas="none")
    for name in EXPECTED:
        for x in given:
            found, = program[name](x)
            check(name, np.asarray(found), f"{type(x).__name__} on {device}")
    for code in codes:
        found, = program["number"](np.array([code], np.uint8).view(bool)[0], y)
        assert np.array_equal(found, y if code else 0 * y), (code, device)
    if device == "sim":
        # Device memory keeps its raw bytes, and kernels convert when they load a bool.
        memory = mx.array(codes).view(bool)
        for name in EXPECTED.keys() - {"same"}:
            check(name, program[name](memory)[0].numpy(), "memory of the device")

# --- Tools ------------------------------------------------------------------------

np.save(folder / "x.npy", codes.view(bool))
np.save(folder / "y.npy", y)
for code in codes:
    np.save(folder / f"{code}.npy", np.array(code, np.uint8).view(bool))


def call(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout + done.stderr)


def runs(name, *arguments):
    """Runs a function with the tools and returns its results."""
    result = folder / "result.npy"
    source, compiled = folder / f"{name}.mlir", folder / name
    options = [*(f"--arg={folder}/{x}.npy" for x in arguments), f"--result={result}"]
    for how in ("--device=cpu",), ("--device=sim", "--check=cpu"):
        call(run, source, f"--entry={name}", *options, *how)
        yield np.load(result), f"mx-run {' '.join(how)}"
    call(launch, compiled, f"--entry={name}", *options, "--device=sim")
    yield np.load(result), "mx-launch"


for name, text in TEXTS.items():
    (folder / f"{name}.mlir").write_text(text)
    call(compile_tool, folder / f"{name}.mlir", "-o", folder / name, "--ptxas=none")
for name in EXPECTED:
    for found, how in runs(name, "x"):
        check(name, found, how)
for code in codes:
    for found, how in runs("number", code, "y"):
        assert np.array_equal(found, y if code else 0 * y), (code, how)
