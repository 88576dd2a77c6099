"""A matmul with a dynamic number of rows runs the schedule of the first case whose row limit is sufficient. Several
cases may share a schedule. The result is correct on both sides of each limit. Only cases that need a workspace use it.

REQUIRES: compiler, numpy
RUN: %python %s mx-compile mx-launch %t
"""

import importlib
import json
import os
import sys

import numpy as np
from harness import Harness, widen

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Run", "Inputs"))
import chips

test = Harness("mx_compile", "mx_launch", "folder")
N, K = 136, 512
PROGRAM = """
!a = tensor<?x{k}x{a}>
!b = tensor<{n}x{k}x{b}>
!as = tensor<?x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x{n}xbf16>
func.func @main({arguments}) -> !y {{
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : !a
  %init = tensor.empty(%rows) : !y
  %y = mx.matmul ins({ins}) outs(%init : !y) {attributes} -> !y
  return %y : !y
}}
"""


def case(limit, schedule):
    limit = f"max_m = {limit}, " if limit else ""
    return f"#mxgpu.schedule_case<{limit}schedule = #mxgpu.schedule<{schedule}>>"


# Row limits and their schedules for each chip and pair of operand types. A split reduction and a workspace each add a
# kernel to the program. The workspace's kernel fills it with dequantized elements.
SWAP = "tile = [16, 64, 64], strategy = #mxgpu.wgmma_swap_ab"
WEIGHTS = [(3, SWAP + ", split_k = 2"), (17, SWAP), (33, "tile = [64, 64, 64]"), (40, SWAP), (130, "tile = [64, 64, 64]"),
           (None, "tile = [128, 128, 64], workspace = b, epilogue = tma_store")]
SCALED = [(2, "tile = [64, 64, 64], split_k = 3"), (20, SWAP + ", workspace = a"),
          (129, "tile = [128, 64, 64]"),
          (None, "tile = [128, 128, 64], workspace = ab")]
TCGEN05 = [(3, "tile = [128, 64, 128], split_k = 2"), (130, "tile = [128, 128, 128], epilogue = tma_store"),
           (None, "tile = [256, 128, 128], strategy = #mxgpu.tcgen05_block_scaled<ctas = 2>")]
FORMS = [("sm_90a", "bf16", "f4E2M1FN", WEIGHTS), ("sm_90a", "f8E4M3FN", "f8E4M3FN", SCALED),
         ("sm_100a", "f8E4M3FN", "f8E4M3FN", TCGEN05),
         ("sm_90a", "bf16", "f4E2M1FN", None), ("sm_100a", "f8E4M3FN", "f8E4M3FN", None)]


def both_sides(*limits):
    return sorted({rows for limit in limits for rows in (limit, limit + 1)} | {0, 1})


def check(number, chip, a, b, cases):
    os.environ["MX_CHIP"] = chip
    importlib.reload(chips)
    matmul_formats = importlib.reload(importlib.import_module("matmul_formats"))
    names = ["a", "as", "b", "bs"] if a != "bf16" else ["a", "b", "bs"]
    attributes = "{mxgpu.schedules = [" + ", ".join(case(*one) for one in cases) + "]}" if cases else ""
    text = PROGRAM.format(
        n=N, k=K, blocks=K // 32, a=a, b=b, attributes=attributes,
        arguments=", ".join(f"%{name}: !{name}" for name in names),
        ins=", ".join(f"%{name}" for name in names) + " : " + ", ".join(f"!{name}" for name in names))
    # Cases specified by the user are compiled unchanged. Cases selected by the performance model are also reported.
    done = test.execute(test.mx_compile, test.write("case.mlir", text), f"--chip={chip}", "--mx-explain",
                        "-o", test.path("compiled"))
    with open(test.path("compiled/manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    switches = [step for step in manifest["entries"][0]["steps"] if "switch" in step]
    test.require("schedules for some rows", len(switches) == 1)
    found = len(switches[0]["do"])
    expected = len({schedule for _, schedule in cases}) if cases else done.stderr.count("\nschedule ")
    test.require(f"{chip} {a} x {b}: {expected} schedules", found == expected, found)
    rng = np.random.default_rng(number)
    rows = both_sides(*(limit for limit, _ in cases or [(40, 0), (150, 0)] if limit))
    most = rows[-1]
    if a == "bf16":
        a_codes = (rng.standard_normal((most, K)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        a_values = widen(a_codes)
    else:
        a_codes, a_values = matmul_formats.make_codes(rng, most, K, a, False)
        a_scales, a_tiles = matmul_formats.make_scales(rng, most, K // 32, "f8E8M0FNU")
        a_values = a_values * a_scales.repeat(32, axis=1)
    b_codes, b_values = matmul_formats.make_codes(rng, N, K, b, False)
    b_scales, b_tiles = matmul_formats.make_scales(rng, N, K // 32, "f8E8M0FNU")
    b_values = b_values * b_scales.repeat(32, axis=1)
    for m in rows:
        arrays = [a_codes[:m], b_codes, b_tiles]
        if a != "bf16":
            arrays.insert(1, a_tiles[:-(-m // 128)])
        y, = test.launch(test.path("compiled"), arrays, 1, quiet=True)
        exact, terms = a_values[:m] @ b_values.T, np.abs(a_values[:m]) @ np.abs(b_values).T
        bound = (chips.count_roundings(K, a, b) + 3) * 2.0**-23 * terms
        bound += (np.abs(exact) + bound) * 2.0**-8
        test.expect_numbers(f"{chip} {a} x {b}, {m} rows", y, exact, bound)


for number, form in enumerate(FORMS):
    check(number, *form)
test.finish(least=200000)
