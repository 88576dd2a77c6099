"""Chip under test, with the numbers and schedules that depend on it.

MX_CHIP selects it, for mx-run and for the tests; the default is sm_100a.
"""

import os
import re

import ml_dtypes
import numpy as np

CHIP = os.environ.get("MX_CHIP", "sm_100a")
# Elements of operands become bf16 before they are multiplied.
IS_DEQUANTIZED = CHIP == "sm_90a"
# Warps multiply elements from registers in their own format: 8-bit and 4-bit elements need no padding in memory.
IS_MMA_SYNC = CHIP.startswith("sm_12")
FP4 = "f4E2M1FN"


def count_roundings(k, a="f8E4M3FN", b="f8E4M3FN"):
    """Returns the number of f32 roundings in a sum of `k` products of elements `a` and `b`: one per matrix instruction.
    For dequantized elements, four instructions share 64 elements, each taking some of every 16."""
    if IS_DEQUANTIZED:
        return -(-k // 64) * 4
    return -(-k // (64 if a == b == FP4 else 32))


def reduction_multiple(a, b):
    """Returns the multiple of K required by blocks, the tensor core and the copy engine."""
    if a == b == FP4 and not IS_DEQUANTIZED:
        return 64
    return 128 if FP4 in (a, b) and not IS_DEQUANTIZED and not IS_MMA_SYNC else 32


def as_operand(values):
    """Returns the operand values that the tensor core multiplies instead of exact elements times scales."""
    if not IS_DEQUANTIZED:
        return values
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(ml_dtypes.bfloat16).astype(np.float64)


def adapt_schedule(schedule):
    """Converts a schedule of sm_100a to the nearest schedule of the chip: its default strategy instead of a tcgen05
    strategy, and a tile with an accumulator that fits in registers. If memory is short, uses as many stages as fit, and
    one buffer of rows to store. A schedule with a strategy of the chip is unchanged."""
    if not IS_DEQUANTIZED and not IS_MMA_SYNC or "mma_sync" in schedule:
        return schedule
    if IS_MMA_SYNC:
        schedule = re.sub(r"(, )?(stages|staging) = \d+", "", schedule)
        schedule = schedule.replace("epilogue = tma_store", "epilogue = tma_store, staging = 1")
    schedule = re.sub(r"(, )?strategy = #mxgpu\.tcgen05_\w+(<[^>]*>)?", "", schedule).removeprefix(", ")

    def adapt(match):
        columns = max(size for size in (64, 128, 256) if size <= max(int(match[2]), 64))
        depth = 128 if IS_MMA_SYNC else 64
        return f"tile = [{min(int(match[1]), 32768 // columns)}, {columns}, {depth}]"

    return re.sub(r"tile = \[(\d+), (\d+), \d+\]", adapt, schedule)


def adapt_quantize_schedule(schedule, chip):
    """Returns the schedule of an operation or, for a chip with little shared memory, a schedule with smaller tiles and
    fewer stages."""
    if not chip.startswith("sm_12"):
        return schedule
    if "stage_rows" not in schedule:
        schedule = schedule.replace("vector = 32", "vector = 32, stage_rows = 32")
    for field, most in ("threads", 64), ("stage_rows", 32), ("stages", 2), ("ctas", 1):
        schedule = re.sub(rf"\b{field} = (\d+)", lambda match: f"{field} = {min(int(match[1]), most)}", schedule)
    schedule = re.sub(r"input_stages = [2-9]", lambda match: f"input_stages = {int(match[0][-1]) - 1}", schedule)
    return re.sub(r"tile = \[\d+, \d+\]", "tile = [128, 128]", schedule)
