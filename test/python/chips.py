"""The chip under test, and numbers and schedules that depend on the chip.

MX_CHIP selects the chip, for mx-run and for the tests; the default is sm_100a.
"""

import os
import re

import ml_dtypes
import numpy as np

CHIP = os.environ.get("MX_CHIP", "sm_100a")
# sm_90a converts operand elements to bf16 before the matmul.
IS_DEQUANTIZED = CHIP == "sm_90a"
# mma.sync reads 8-bit and 4-bit elements from registers in their own format, so the elements need no padding in memory.
IS_MMA_SYNC = CHIP.startswith("sm_12")
FP4 = "f4E2M1FN"


def count_roundings(k, a="f8E4M3FN", b="f8E4M3FN"):
    """Returns the number of f32 roundings in a sum of `k` products of elements `a` and `b`. Each matrix instruction
    rounds once. Four instructions multiply every 64 dequantized elements, and each of the instructions multiplies some
    of every 16 elements."""
    if IS_DEQUANTIZED:
        return -(-k // 64) * 4
    return -(-k // (64 if a == b == FP4 else 32))


def reduction_multiple(a, b):
    """Returns the divisor of K required by blocks, the tensor core and the copy engine."""
    if a == b == FP4 and not IS_DEQUANTIZED:
        return 64
    return 128 if FP4 in (a, b) and not IS_DEQUANTIZED and not IS_MMA_SYNC else 32


def as_operand(values):
    """Returns the values that the tensor core multiplies for these operands: on sm_90a, values rounded to bf16."""
    if not IS_DEQUANTIZED:
        return values
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(ml_dtypes.bfloat16).astype(np.float64)


def adapt_schedule(schedule):
    """Converts an sm_100a schedule to the nearest schedule for the chip. The default strategy replaces a tcgen05
    strategy, and the tile shrinks until the accumulator fits in registers. On a chip with little shared memory, the
    schedule uses as many stages as fit and one staging buffer. A schedule with a strategy of the chip is unchanged."""
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
    """Returns the schedule of an operation. For a chip with little shared memory, the schedule has smaller tiles and
    fewer stages."""
    if not chip.startswith("sm_12"):
        return schedule
    if "stage_rows" not in schedule:
        schedule = schedule.replace("vector = 32", "vector = 32, stage_rows = 32")
    for field, most in ("threads", 64), ("stage_rows", 32), ("stages", 2), ("ctas", 1):
        schedule = re.sub(rf"\b{field} = (\d+)", lambda match: f"{field} = {min(int(match[1]), most)}", schedule)
    schedule = re.sub(r"input_stages = [2-9]", lambda match: f"input_stages = {int(match[0][-1]) - 1}", schedule)
    return re.sub(r"tile = \[\d+, \d+\]", "tile = [128, 128]", schedule)
