"""Runs mx.matmul with epilogues and compares the results with numpy in float64.

Each case is a shape, a result type, a schedule and a region. mx-run itself compares with the CPU. This script applies
the region in float64 to both ends of the sum's error interval.
"""

import dataclasses

import numpy as np
import reference
from chips import adapt_schedule, count_roundings
from harness import FLOATS, Harness, widen

PROGRAM = """
!x = tensor<{M}x{K}xbf16>
!w = tensor<{N}x{K}xbf16>
!xe = tensor<{M}x{K}xf8E4M3FN>
!we = tensor<{N}x{K}xf8E4M3FN>
!xs = tensor<{M}x{B}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ws = tensor<{N}x{B}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<{M}x{N}x{T}>
func.func @main(%x: !x, %w: !w, %y: !y{parameters}) -> !y {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = tensor.dim %x, %c0 : !x
  %n = tensor.dim %w, %c0 : !w
  %k = tensor.dim %x, %c1 : !x
  %b = arith.divui %k, %c32 : index
  %xe = tensor.empty({m}{comma}{k}) : !xe
  %xs = tensor.empty({m}{comma}{b}) : !xs
  %xq:2 = mx.quantize ins(%x : !x) outs(%xe, %xs : !xe, !xs) -> !xe, !xs
  %we = tensor.empty({n}{comma}{k}) : !we
  %ws = tensor.empty({n}{comma}{b}) : !ws
  %wq:2 = mx.quantize ins(%w : !w) outs(%we, %ws : !we, !ws) -> !we, !ws
  %r = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xe, !xs, !we, !ws) {alpha}
      outs(%y : !y) {accumulate}
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !y
      {region}
  return %r : !y
}}
"""

# f32 -> f32 regions: parameters with shapes in M and N, MLIR, numpy.
REGIONS = {
    "none": ([], None, lambda s, p: s),
    "bias": (
        ["tensor<{N}xf32>"],
        """%b0 = tensor.extract %p0[%col] : tensor<{N}xf32>
           %v = arith.addf %acc, %b0 : f32""",
        lambda s, p: s + p[0],
    ),
    "residual": (
        ["tensor<{M}x{N}xbf16>", "tensor<{M}xf32>"],
        """%r0 = tensor.extract %p0[%row, %col] : tensor<{M}x{N}xbf16>
           %r1 = arith.extf %r0 : bf16 to f32
           %s0 = tensor.extract %p1[%row] : tensor<{M}xf32>
           %zero = arith.constant 0.0 : f32
           %t0 = arith.mulf %acc, %s0 : f32
           %t1 = arith.addf %t0, %r1 : f32
           %v = arith.maximumf %t1, %zero : f32""",
        lambda s, p: np.maximum(s * p[1][:, None] + p[0], 0),
    ),
    "clamp": (
        ["tensor<f32>"],
        """%limit = tensor.extract %p0[] : tensor<f32>
           %low = arith.negf %limit : f32
           %v0 = arith.maximumf %acc, %low : f32
           %v = arith.minimumf %v0, %limit : f32""",
        lambda s, p: np.clip(s, -p[0], p[0]),
    ),
    "silu": (
        ["tensor<1x{N}xf16>"],
        """%zero = arith.constant 0 : index
           %b0 = tensor.extract %p0[%zero, %col] : tensor<1x{N}xf16>
           %b1 = arith.extf %b0 : f16 to f32
           %xb = arith.addf %acc, %b1 : f32
           %one = arith.constant 1.0 : f32
           %minus = arith.negf %xb : f32
           %e = math.exp %minus : f32
           %d = arith.addf %one, %e : f32
           %v = arith.divf %xb, %d : f32""",
        lambda s, p: (s + p[0]) / (1 + np.exp(-(s + p[0]))),
    ),
    "mask": (
        [],
        """%none = arith.constant 0.0 : f32
           %r2 = arith.addi %row, %row : index
           %in = arith.cmpi ule, %col, %r2 : index
           %h = math.tanh %acc : f32
           %v = arith.select %in, %h, %none : f32""",
        lambda s, p: np.where(
            np.arange(s.shape[1])[None, :] <= 2 * np.arange(s.shape[0])[:, None], np.tanh(s), 0
        ),
    ),
}


@dataclasses.dataclass
class Case:
    m: int
    n: int
    k: int
    type: str
    region: str
    tile: int = 128
    epilogue: str = "direct"
    alpha: bool = False
    accumulate: bool = False
    dynamic: bool = False


def run(case, rng):
    type_, (parameters, body, formula) = case.type, REGIONS[case.region]
    static = {"M": case.m, "N": case.n}
    names = {"M": "?", "N": "?"} if case.dynamic else static
    x = reference.make_input(rng, case.m, case.k, "plain")
    w = reference.make_input(rng, case.n, case.k, "plain")
    old = rng.standard_normal((case.m, case.n)).astype(FLOATS[type_])
    arguments, arrays, values = "", [x, w, old], []
    for index, parameter in enumerate(parameters):
        *shape, dtype = parameter.format(**static)[len("tensor<") : -1].split("x")
        value = np.asarray(rng.standard_normal([int(size) for size in shape])).astype(FLOATS[dtype])
        arguments += f", %p{index}: {parameter.format(**names)}"
        arrays.append(value)
        values.append(value.astype(np.float64))
    alpha = 0.75
    region = ""
    if body:
        last = "%v" if type_ == "f32" else "%out"
        cast = "" if type_ == "f32" else f"%out = arith.truncf %v : f32 to {type_}"
        region = f"epilogue {{\n^bb0(%acc: f32, %row: index, %col: index):\n{body.format(**names)}\n{cast}\nmx.yield {last} : {type_}\n}}"
    dim = {name: f"%{name}" if case.dynamic else "" for name in "mnkb"}
    text = PROGRAM.format(
        **names,
        **dim,
        K="?" if case.dynamic else case.k,
        B="?" if case.dynamic else case.k // 32,
        T=type_,
        comma=", " if case.dynamic else "",
        parameters=arguments + (", %alpha: f32" if case.alpha else ""),
        alpha="alpha(%alpha)" if case.alpha else "",
        accumulate="accumulate" if case.accumulate else "",
        schedule=adapt_schedule(
            f"tile = [128, {case.tile}, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<"
            f"accumulators = {1 if case.tile == 256 else 2}>, epilogue = {case.epilogue}"
        ),
        region=region,
    )
    if case.alpha:
        arrays.append(np.float32(alpha))
    found = widen(test.run(text, arrays, 1, check=True, sms=2, seed=test.order)[0])

    a, b = reference.operand(x), reference.operand(w)
    sums, magnitudes = a @ b.T, np.abs(a) @ np.abs(b).T
    if case.alpha:
        sums, magnitudes = sums * alpha, magnitudes * alpha
    if case.accumulate:
        sums, magnitudes = sums + old.astype(np.float64), magnitudes + np.abs(old.astype(np.float64))
    # One rounding to f32 for each step, and for alpha and accumulate.
    error = (count_roundings(case.k) + 2) * 2.0**-23 * magnitudes
    ends = np.stack([formula(sums + sign * error, values) for sign in (-1, 0, 1)])
    low, high = ends.min(axis=0), ends.max(axis=0)
    # Error of the region itself: a few units of its arithmetic in f32.
    scale = np.maximum(np.abs(low), np.abs(high)) + (np.abs(sums) if body else 0)
    bits = {"f32": 24, "bf16": 8, "f16": 11}[type_]
    slack = (16 * 2.0**-24 * scale if body else 0) + 2.0**-bits * np.maximum(np.abs(low), np.abs(high)) + 2.0**-24
    test.expect_numbers("result", found, (low + high) / 2, (high - low) / 2 + slack)


CASES = [
    Case(129, 136, 96, "f32", "bias"),
    Case(129, 127, 96, "bf16", "residual"),
    Case(1, 1, 32, "f32", "residual"),
    Case(1, 272, 64, "bf16", "silu", dynamic=True),
    Case(260, 1, 64, "f16", "bias", dynamic=True),
    Case(256, 256, 160, "bf16", "none", tile=256),
    Case(256, 256, 160, "f16", "mask", tile=256, alpha=True),
    Case(200, 248, 96, "f32", "clamp", dynamic=True, alpha=True, accumulate=True),
    Case(130, 100, 64, "bf16", "none", accumulate=True),
    Case(130, 264, 64, "f16", "silu", accumulate=True, alpha=True),
    Case(129, 136, 96, "f32", "bias", epilogue="tma_store"),
    Case(129, 256, 96, "bf16", "residual", epilogue="tma_store"),
    Case(257, 512, 96, "bf16", "none", epilogue="tma_store", tile=256),
    Case(257, 520, 96, "f32", "none", epilogue="tma_store", dynamic=True, tile=256),
    Case(300, 264, 64, "f32", "none", epilogue="tma_store", accumulate=True, alpha=True),
    Case(1, 8, 32, "f16", "clamp", epilogue="tma_store", dynamic=True),
    Case(129, 256, 96, "f16", "silu", epilogue="tma_store", alpha=True),
    Case(200, 104, 64, "bf16", "mask", epilogue="tma_store"),
]

test = Harness("mx_run", "folder", "order", "?part")
part, parts = map(int, (test.part or "0/1").split("/"))
for case in test.select(CASES[part::parts]):
    run(case, np.random.default_rng([int(test.order), CASES.index(case)]))
test.finish()
