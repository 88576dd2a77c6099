"""Checks the order of the kernels launched by the examples. Operations with a dedicated kernel, and operations fused
into such a kernel, must not become simple kernels.

REQUIRES: compiler
RUN: %python %s %examples mx-opt
"""

import glob
import os
import re
import subprocess
import sys

examples, mx_opt = sys.argv[1:3]

# Kernel names assigned by --mx-to-mxgpu for each file and entry, with one schedule for all sizes. A kernel is named
# after its entry, or after an earlier entry with an equal kernel.
LAUNCHES = {
    ("grouped_matmul", "main"): "quantize quantize_0 grouped_matmul",
    ("grouped_schedule", "rows"): "grouped_matmul",
    ("grouped_schedule", "reduction"): "grouped_matmul",
    ("grouped_schedule", "parts"): "grouped_matmul",
    ("linalg_matmul", "main"): "quantize quantize_0 matmul",
    ("matmul", "main"): "quantize quantize matmul",
    ("matmul_f32", "main"): "quantize quantize_0 matmul",
    ("matmul_schedule", "main"): "quantize quantize matmul",
    ("moe_layer", "quantize_weights"): "quantize quantize_0",
    ("moe_layer", "forward"):
        "quantize grouped_matmul quantize_0 grouped_matmul_0 combine_count combine_start combine_place combine_order combine",
    ("moe_layer", "backward"):
        "forward_quantize grouped_matmul grouped_matmul_0 reduce quantize_0 grouped_matmul_1 forward_combine_count "
        "forward_combine_start forward_combine_place forward_combine_order forward_combine grouped_matmul_2",
    # Between the collectives, ids are padded and pairs are sorted. Rows are summed before they are sent and again
    # after they are received.
    ("moe_layer_ranks", "quantize_weights"): "quantize quantize_0",
    ("moe_layer_ranks", "forward"):
        "quantize linalg_map copy group_count group_sum group_ends group_place linalg_generic quantize_0 "
        "quantize_0_rest grouped_matmul quantize_1 quantize_1_rest grouped_matmul_0 linalg_generic_0 combine_count "
        "combine_start combine_place combine_order combine linalg_generic_1 linalg_generic_2 combine_count_0 "
        "combine_start combine_place_0 combine_order_0 combine_0",
    ("moe_layer_ranks", "quantize_and_forward"):
        "forward_quantize forward_linalg_map forward_copy quantize_weights_quantize quantize_weights_quantize_0 "
        "forward_group_count forward_group_sum forward_group_ends forward_group_place forward_linalg_generic "
        "forward_quantize_0 forward_quantize_0_rest forward_grouped_matmul forward_quantize_1 "
        "forward_quantize_1_rest forward_grouped_matmul_0 "
        "forward_linalg_generic_0 forward_combine_count forward_combine_start forward_combine_place "
        "forward_combine_order forward_combine forward_linalg_generic_1 forward_linalg_generic_2 "
        "forward_combine_count_0 forward_combine_start forward_combine_place_0 forward_combine_order_0 "
        "forward_combine_0",
    ("moe_layer_ranks", "backward"):
        "forward_quantize forward_quantize_0 forward_quantize_0_rest grouped_matmul grouped_matmul_0 reduce quantize_1 "
        "quantize_1_rest grouped_matmul_1 forward_linalg_generic_0 forward_combine_count forward_combine_start "
        "forward_combine_place forward_combine_order forward_combine forward_linalg_map forward_copy "
        "forward_linalg_generic_1 forward_linalg_generic_2 forward_combine_count forward_combine_start "
        "forward_combine_place forward_combine_order combine_0 grouped_matmul_2 "
        "forward_combine_count_0 forward_combine_start forward_combine_place_0 forward_combine_order_0 "
        "forward_combine_0 forward_linalg_generic_1 linalg_generic_3",
    ("moe_linalg", "forward"): "quantize quantize_0 grouped_matmul quantize_1 quantize_2 grouped_matmul_0",
    ("moe_linalg", "backward"):
        "quantize quantize_0 grouped_matmul quantize_1 grouped_matmul_0 reduce quantize_2 quantize_3 "
        "grouped_matmul_1 quantize_4 grouped_matmul_2",
    # Matmuls with weights use matmul kernels. bf16 matmuls and the operations in between become simple kernels.
    ("transformer_block", "block"):
        "reduce linalg_generic relayout matmul linalg_generic_0 linalg_generic_1 linalg_generic_2 linalg_fill "
        "linalg_generic_3 linalg_generic_4 linalg_generic_5 linalg_generic_6 linalg_generic_7 linalg_generic_8 "
        "linalg_generic_9 relayout_0 matmul_0 reduce linalg_generic linalg_matmul linalg_fill_0 linalg_generic_11 "
        "linalg_generic_12 reduce_1 linalg_generic_13 linalg_generic_14 linalg_generic_15 reduce_2 linalg_generic_16 "
        "linalg_generic_17 linalg_generic_18 linalg_generic_19 quantize relayout_1 grouped_matmul relayout_2 "
        "grouped_matmul_0 linalg_generic_20 linalg_generic_21",
}


# Passes that run before --mx-to-mxgpu, by file.
BEFORE = {
    "linalg_matmul": ["--mx-quantize-matmuls=recipe=mxfp8"],
    "moe_linalg": ["--mx-quantize-matmuls=recipe=mxfp8", "--cse"],
    "transformer_block": ["--mx-import-scaled", "--mx-quantize-matmuls=recipe=mxfp8", "--cse", "--canonicalize"],
}


def find_launches(file, passes):
    """Yields pairs of an entry and its launched kernels."""
    text = subprocess.run([mx_opt, file, *passes, "--mx-to-mxgpu=max-schedules=1"], capture_output=True, text=True, check=True).stdout
    for function in re.split(r"^  func\.func ", text, flags=re.MULTILINE)[1:]:
        entry = re.match(r"(?:private )?@(\w+)", function).group(1)
        yield entry, [name.removeprefix(entry + "_") for name in re.findall(r"mxgpu\.launch @kernels::@(\w+)", function)]


wrong, found = 0, set()
for file in sorted(glob.glob(os.path.join(examples, "*.mlir"))):
    name = os.path.basename(file).removesuffix(".mlir")
    for entry, launches in find_launches(file, BEFORE.get(name, [])):
        found.add((name, entry))
        if "--write" in sys.argv:
            print(f'    ("{name}", "{entry}"): "{" ".join(launches)}",')
        elif launches != LAUNCHES.get((name, entry), "").split():
            wrong += 1
            print(f"{name}, {entry}: expected launches of {LAUNCHES.get((name, entry))}, found {' '.join(launches)}")
if "--write" not in sys.argv and found != set(LAUNCHES):
    sys.exit(f"expected the entries {sorted(LAUNCHES)}, found {sorted(found)}")
sys.exit(wrong != 0)
