"""Tests quantizers with dequantized destinations on the CPU path and the simulator. Every bit equals mx.dequantize of
the results of a quantizer without such destinations.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

fake-quantize-tiles.py covers pairs that mx-fuse-fake-quantize fuses; this test contains no fusion.
"""

from typing import NamedTuple

import numpy as np
from harness import Harness

test = Harness("mx_run", "folder", seed=5)
rng = test.rng


class Case(NamedTuple):
    """Quantization of a bf16 matrix. `written` contains the shapes of the elements and scales along each axis. The
    quantizer may dequantize only the first of these results."""
    shape: str
    element: str
    written: list
    axes: str = "axes = [1]"
    ragged: str = ""
    operands: str = ""
    flags: str = ""
    rounding: str = ""
    prologue: str = ""

    @property
    def block(self):
        return 16 if "global_scale" in self.operands else 32

    @property
    def scale(self):
        return "f8E4M3FN" if self.block == 16 else "f8E8M0FNU"

    @property
    def has_amax(self):
        return "amax" in self.flags


CASES = {
    "rows": Case("64x96", "f8E4M3FN", [("64x96", "64x3")], rounding="scale_rounding = even"),
    "both": Case("64x96", "f6E2M3FN", [("64x96", "64x3"), ("96x64", "96x2")], "axes = [1, 0]",
                 flags="square"),
    "nvfp4": Case("64x96", "f4E2M1FN", [("96x64", "96x4"), ("64x96", "64x6")], "axes = [0, 1]",
                  operands="global_scale(%encode)"),
    "groups": Case("300x64", "f8E5M2", [("64x768", "64x24"), ("300x64", "300x2")],
                   "axes = [0, 1]", ragged="ragged = rows",
                   operands="offsets(%ends : tensor<3xi32>)"),
    "prologue": Case("64x96", "i8", [("64x96", "64x3")], flags="amax", prologue="""prologue {
^bb0(%a: bf16, %row: index, %col: index):
  %b = arith.mulf %a, %a : bf16
  mx.yield %b : bf16
}"""),
}


def program(case, dequantized):
    """Returns the values along all axes, and the amax. The quantizer dequantizes the first `dequantized` results, and
    mx.dequantize dequantizes the remaining results."""
    lines, outs, returned = [], [], []
    for i, (elements, scales) in enumerate(case.written):
        if i < dequantized:
            outs.append(f"tensor<{elements}xf32>")
            returned.append(f"%q#{i}")
            continue
        place = len(outs)
        pair = f"tensor<{elements}x{case.element}>", f"tensor<{scales}x{case.scale}>"
        factor = "global_scale(%decode) " if case.block == 16 else ""
        outs += pair
        returned.append(f"%y{i}")
        lines += [f"%init{i} = tensor.empty() : tensor<{elements}xf32>",
                  f"%y{i} = mx.dequantize ins(%q#{place}, %q#{place + 1} : {', '.join(pair)}) "
                  f"{factor}outs(%init{i} : tensor<{elements}xf32>) "
                  f"block_size = {case.block} -> tensor<{elements}xf32>"]
    types = [f"tensor<{elements}xf32>" for elements, _ in case.written]
    if case.has_amax:
        returned.append(f"%q#{len(outs)}")
        types.append("tensor<f32>")
        outs.append("tensor<f32>")
    entries = [case.element if i < dequantized else "none" for i in range(len(case.written))]
    said = f"dequantized = [{', '.join(entries)}]" if dequantized else ""
    operands = case.operands
    if dequantized and case.block == 16:
        operands += f" decode_factors({', '.join(['%decode'] * dequantized)})"
    names = ", ".join(f"%out{i}" for i in range(len(outs)))
    empty = [f"%out{i} = tensor.empty() : {out}" for i, out in enumerate(outs)]
    outs, types = ", ".join(outs), ", ".join(types)
    return "\n".join([
        f"func.func @main(%x: tensor<{case.shape}xbf16>, %encode: f32, %decode: f32, "
        f"%ends: tensor<3xi32>) -> ({types}) {{", *empty,
        f"%q:{names.count('%')} = mx.fused_quantize {case.ragged} ins(%x : tensor<{case.shape}xbf16>) "
        f"{operands} outs({names} : {outs}) {case.axes} block_size = {case.block} {case.flags} "
        f"{said} {case.rounding} -> {outs} {case.prologue}", *lines,
        f"return {', '.join(returned)} : {types}", "}"])


def run(name, arrays, dequantized, **where):
    case = CASES[name]
    return test.run(program(case, dequantized), arrays, len(case.written) + case.has_amax, **where)


for name in test.select(CASES):
    case = CASES[name]
    shape = tuple(map(int, case.shape.split("x")))
    x = (rng.normal(size=shape) * np.exp2(rng.integers(-20, 20, shape))).astype(np.float32)
    arrays = [(x.view(np.uint32) >> 16).astype(np.uint16), np.float32(1.5), np.float32(1 / 1.5),
              np.array([100, 130, 300], np.int32)]
    expected = run(name, arrays, 0, device="cpu")
    for where in dict(device="cpu"), dict(chip="sm_90a"):
        for dequantized in sorted({1, len(case.written)}):
            found = run(name, arrays, dequantized, **where)
            if name == "groups":  # columns after the last group's padding are unspecified
                found[0][:, 512:] = expected[0][:, 512:]
            for i, (own, array) in enumerate(zip(found, expected, strict=True)):
                test.expect(f"{where}, {dequantized} dequantized, result {i}", own, array)
test.finish(least=100000)
