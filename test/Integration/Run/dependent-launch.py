"""Programs with several matmuls return the same bits with and without `pdl`.

TIER: slow
RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

The programs multiply quantized matrices, requantize the result and multiply again, and accumulate a third matmul into
the second in place, so each kernel reads its predecessor's output. All checks are on, under several schedules and
seeds.
"""

import numpy as np
import reference
from chips import adapt_schedule
from harness import Harness

test = Harness("mx_run", "folder", seed=5)
M, K, N, P = 256, 160, 160, 264
SIZES = {"x": (M, K), "w": (N, K), "v": (P, N), "u": (P, K)}


def quantize(name, rows, columns):
    elements = f"tensor<{rows}x{columns}xf8E4M3FN>"
    scales = f"tensor<{rows}x{columns // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>"
    return f"""
  %{name}e = tensor.empty() : {elements}
  %{name}s = tensor.empty() : {scales}
  %{name}q:2 = mx.quantize ins(%{name} : tensor<{rows}x{columns}xbf16>)
      outs(%{name}e, %{name}s : {elements}, {scales}) -> {elements}, {scales}""", f"{elements}, {scales}"


def matmul(result, a, b, types, out, kind, mode=""):
    return f"""
  %{result} = mx.matmul ins(%{a}q#0, %{a}q#1, %{b}q#0, %{b}q#1 : {types[a]}, {types[b]})
      outs(%{out} : {kind}) {mode} {{mxgpu.schedule = #mxgpu.schedule<SCHEDULE>}} -> {kind}"""


def get_program():
    types, lines = {}, {}
    for name, size in dict(SIZES, y=(M, N)).items():
        lines[name], types[name] = quantize(name, *size)
    arguments = ", ".join(f"%{name}: tensor<{r}x{c}xbf16>" for name, (r, c) in SIZES.items())
    y, z = f"tensor<{M}x{N}xbf16>", f"tensor<{M}x{P}xf32>"
    return "".join([
        f"func.func @main({arguments}) -> {z} {{",
        *(lines[name] for name in SIZES),
        f"\n  %y0 = tensor.empty() : {y}\n  %z0 = tensor.empty() : {z}",
        matmul("y", "x", "w", types, "y0", y),
        lines["y"],
        matmul("z1", "y", "v", types, "z0", z),
        matmul("z", "x", "u", types, "z1", z, "accumulate"),
        f"\n  return %z : {z}\n}}\n",
    ])


SCHEDULES = [
    "tile = [128, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<tile_loop = static>, epilogue = direct",
    "tile = [128, 64, 128], strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc>, epilogue = tma_store",
    "tile = [256, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<ctas = 2, tile_loop = static>, epilogue = tma_store",
    "tile = [128, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc>, split_k = 2",
]

arrays = [reference.make_input(test.rng, *size, "plain") for size in SIZES.values()]


def run(schedule, seed):
    text = get_program().replace("SCHEDULE", adapt_schedule(schedule))
    return test.run(text, arrays, 1, check=True, sms=3, seed=seed, env={"MX_SIM_CHECKS": "all"})[0]


for schedule in test.select(SCHEDULES):
    expected = run(schedule, 0)
    test.require("numbers", np.isfinite(expected).all() and np.count_nonzero(expected) > expected.size // 2)
    for seed in (0, 3):
        test.expect(f"pdl, seed {seed}", run(schedule + ", pdl", seed), expected)
test.finish(least=2 * len(SCHEDULES) * M * P)
