"""Compares the memory sizes printed by --mx-explain with the memory sizes of the kernels
after mxgpu-lower-rings.

usage: budgets.py MX_OPT DIRECTORY

Schedules combine the values of several fields. A schedule that the compiler rejects must
have an error, and its memory sizes are not compared.
"""

import itertools
import os
import re
import subprocess
import sys

mx_opt, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)

TYPES = """
!a = tensor<512x1024xf8E4M3FN>
!b = tensor<768x1024xf8E4M3FN>
!as = tensor<512x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<768x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
"""
FUNCTION = """
func.func @f{0}(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: tensor<512x768x{1}>) -> tensor<512x768x{1}> {{
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : tensor<512x768x{1}>)
      {{mxgpu.schedule = #mxgpu.schedule<{2}>}} -> tensor<512x768x{1}>
  return %0 : tensor<512x768x{1}>
}}
"""

tiles = [(pair, n, k) for pair in (False, True) for n in (64, 128, 192, 256) for k in (128, 256)]
accumulators = ["accumulators = 1", "accumulators = 2", "accumulators = 2, overlap = 64", "accumulators = 2, overlap = 128"]
# Additional fields of the strategy, and of the schedule.
extras = [
    ("", ""),
    (", scale_stages = 2", ""),
    ("", ", epilogue = tma_store"),
    ("", ", epilogue = tma_store, staging = 3"),
    (", tile_loop = clc", ""),
    (", tile_loop = clc, scale_stages = 2", ", epilogue = tma_store"),
    ("", ", split_k = 2"),
]
schedules = []
for (pair, n, k), slots, (own, extra) in itertools.product(tiles, accumulators, extras):
    # The default number of stages and two stages suffice, because all ring depths use the same formula.
    if "overlap" in slots and n != 256:
        continue
    ctas = 2 if pair else 1
    strategy = f"#mxgpu.tcgen05_block_scaled<ctas = {ctas}, {slots}{own}>"
    head = f"tile = [{128 * ctas}, {n}, {k}], strategy = {strategy}"
    schedules += [head + extra, head + extra + ", stages = 2"]

PIPELINE = """builtin.module(mx-select-schedule{explain}, mx-materialize-layouts,
    one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},
    convert-mx-to-mxgpu, gpu.module(mxgpu-overlap-epilogues, mxgpu-assign-warps, mxgpu-verify-pipelines, mxgpu-verify-resources, mxgpu-lower-work, mxgpu-lower-rings))"""

path = f"{directory}/kernels.mlir"
with open(path, "w") as file:
    file.write(
        "// -----\n".join(
            TYPES + FUNCTION.format(number, ("f32", "bf16")[number % 2], schedule)
            for number, schedule in enumerate(schedules)
        )
    )
done = subprocess.run(
    [mx_opt, path, "--split-input-file", f"--pass-pipeline={PIPELINE}"],
    capture_output=True,
    text=True,
)
if done.returncode not in (0, 1):
    sys.exit(f"exit status {done.returncode}\n{done.stderr[-2000:]}")

kernels = {
    int(number): (int(slot) + 4, int(columns))  # the tensor memory address is last
    for number, columns, slot in re.findall(
        r"mxgpu\.kernel @f(\d+)_matmul\(.*\n *%\w+ = mxbar\.tensor_memory columns\((\d+)\) slot\((\d+)\)", done.stdout
    )
}
explained = re.split(r"^mx\.matmul in @f(\d+):", done.stderr, flags=re.M)[1:]
if len(explained) != 2 * len(schedules):
    sys.exit(f"expected {len(schedules)} explanations, found {len(explained) // 2}\n{done.stderr[-2000:]}")
for number, text in zip(map(int, explained[::2]), explained[1::2]):
    schedule = schedules[number]
    if number not in kernels:
        # The error must contain the same limit as the explanation.
        if "error:" not in text:
            sys.exit(f"{schedule}: expected a kernel or an error, found neither")
        broken = re.search(r"op (expected at most \d+ (?:bytes|columns) of .*)", text)
        if broken and f"this schedule is refused: {broken[1]}" not in text:
            sys.exit(f"{schedule}: the error is '{broken[1]}', but the explanation is\n{text}")
        continue
    smem = re.search(r"shared memory of a CTA, bytes: (\d+) of", text)
    tmem = re.search(r"tensor memory, columns of 128 lanes: \d+ of \d+, (\d+) allocated", text)
    if not smem or not tmem:
        sys.exit(f"{schedule}: expected memory sizes in the explanation of the kernel, found\n{text}")
    promised = (int(smem[1]), int(tmem[1]))
    if kernels[number] != promised:
        sys.exit(f"{schedule}: expected memory sizes {promised} as explained, found {kernels[number]} in the kernel")
print(f"{len(kernels)} kernels have the memory sizes in their explanations")
