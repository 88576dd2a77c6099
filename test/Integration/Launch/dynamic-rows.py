"""A matmul of unknown rows runs the schedule of the first case that the rows of a call fit,
which other cases may have too, and its result is right on both sides of each limit; the workspace is that of the case alone.

REQUIRES: compiler, numpy
RUN: rm -rf %t && mkdir %t
RUN: %python %s mx-compile mx-launch %t
"""

import json
import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "Run", "Inputs"), os.path.join(here, "..", "..", "python")]
import chips

compiler, launcher, directory = sys.argv[1:]
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


# By chip and operands: limits, and what runs up to each and above. Kernels by their number in the
# program: a split reduction has a second one, and a workspace one that dequantizes.
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
    from importlib import reload
    reload(chips)
    import matmul_formats
    reload(matmul_formats)
    names = ["a", "as", "b", "bs"] if a != "bf16" else ["a", "b", "bs"]
    attributes = "{mxgpu.schedules = [" + ", ".join(case(*one) for one in cases) + "]}" if cases else ""
    text = PROGRAM.format(
        n=N, k=K, blocks=K // 32, a=a, b=b, attributes=attributes,
        arguments=", ".join(f"%{name}: !{name}" for name in names),
        ins=", ".join(f"%{name}" for name in names) + " : " + ", ".join(f"!{name}" for name in names))
    place = os.path.join(directory, str(number))
    with open(place + ".mlir", "w") as file:
        file.write(text)
    # A person's own cases are compiled as they are, the model's are those it explains.
    done = subprocess.run([compiler, place + ".mlir", f"--chip={chip}", "--mx-explain", "-o", place],
                          capture_output=True, text=True)
    assert not done.returncode, done.stderr
    with open(os.path.join(place, "manifest.json")) as file:
        manifest = json.load(file)
    switches = [step for step in manifest["entries"][0]["steps"] if "switch" in step]
    assert len(switches) == 1, "the model has one schedule for all rows"
    found = len(switches[0]["do"])
    assert found == (len({schedule for _, schedule in cases}) if cases else done.stderr.count("\nschedule ")), found
    rng = np.random.default_rng(number)
    rows = both_sides(*(limit for limit, _ in cases or [(40, 0), (150, 0)] if limit))
    most = rows[-1]
    if a == "bf16":
        a_values = rng.standard_normal((most, K)).astype(np.float32)
        a_codes = (a_values.view(np.uint32) >> 16).astype(np.uint16)
        a_values = (a_codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
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
        command = [launcher, place, "--device=sim", "--result", place + ".npy"]
        for i, array in enumerate(arrays):
            np.save(f"{place}.{i}.npy", array)
            command += ["--arg", f"{place}.{i}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert not done.returncode and not done.stderr, f"{chip} {a} x {b}, {m} rows: {done.stderr}"
        found = (np.load(place + ".npy").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        assert found.shape == (m, N), found.shape
        exact, terms = a_values[:m] @ b_values.T, np.abs(a_values[:m]) @ np.abs(b_values).T
        bound = (chips.count_roundings(K, a, b) + 3) * 2.0**-23 * terms
        bound += (np.abs(exact) + bound) * 2.0**-8
        wrong = int((np.abs(found - exact) > bound).sum())
        assert not wrong, f"{chip} {a} x {b}, {m} rows: {wrong} wrong"
    print(f"{chip} {a} x {b}: right with {rows} rows, {found} schedules")


for number, form in enumerate(FORMS):
    check(number, *form)
