"""Modeled times of small kernels, compared with published B200 figures.

usage: check_time_b200.py MX_SIM TIME.ptx DIRECTORY
"""

import json
import os
import subprocess
import sys

MX_SIM, PTX, DIRECTORY = sys.argv[1:]


def run(launches, *options, maps=None):
    """Returns the launches of a report, and the warnings."""
    path = os.path.join(DIRECTORY, "launch.json")
    report = os.path.join(DIRECTORY, "report.json")
    with open(path, "w", encoding="utf-8") as file:
        buffers = {"data": {"bytes": 1 << 20, "fill": "zero"}}
        json.dump({"buffers": buffers, "launches": launches, "tensor_maps": maps or {}}, file)
    command = [MX_SIM, PTX, path, "--time=b200", "--checks=none", f"--report={report}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["launches"], done.stderr


def launch(kernel, *args, grid=1, block=32):
    args = [{"tensor_map": arg} if isinstance(arg, str) else {"u32": arg} for arg in args]
    return {"kernel": kernel, "grid": [grid, 1, 1], "block": [block, 1, 1], "dynamic_smem": 65536, "args": args}


def near(what, found, expected, tolerance):
    if abs(found - expected) > tolerance * expected:
        sys.exit(f"{what}: expected {expected:.1f} within {100 * tolerance:.0f} %, found {found:.1f}")


def slope(make, *options, depths=(64, 128), **more):
    """Returns the cycles per repetition, without the constant part."""
    few, many = (one["time"]["cycles"] for one in run([make(n) for n in depths], *options, **more)[0])
    return (many - few) / (depths[1] - depths[0])


def descriptor(m, n):
    """bf16 * bf16 to f32."""
    return 1 << 4 | 1 << 7 | 1 << 10 | n >> 3 << 17 | m >> 4 << 24


def check_mmas():
    """Cycles of microbench-blackwell: N / 2, or the time to read the operands."""
    # M, N, cycles of one SM
    for m, n, cycles in ((128, 256, 128), (128, 128, 64), (128, 96, 56), (128, 64, 48), (64, 256, 128), (64, 64, 32)):
        take = lambda count: launch("mmas", count, descriptor(m, n))
        near(f"cycles of {m}x{n}", slope(take, "--data=none"), cycles, 0.01)
    for m, n, cycles in ((256, 256, 128), (256, 128, 64), (256, 64, 43), (128, 256, 64), (128, 128, 32)):
        take = lambda count: launch("pairs", count, descriptor(m, n), grid=2)
        near(f"cycles of {m}x{n} on a CTA pair", slope(take, "--data=none"), cycles, 0.01)
    # Two pairs on four SMs do not slow each other down; two CTAs of one SM do.
    two = lambda count: launch("pairs", count, descriptor(256, 256), grid=4)
    near("cycles of two pairs", slope(two, "--data=none"), 128, 0.01)
    # The time does not depend on whether values are computed.
    take = lambda count: launch("mmas", count, descriptor(128, 64))
    if slope(take) != slope(take, "--data=none"):
        sys.exit("expected MMAs to take the same time with and without computed values")


def check_latency():
    """Adds the read of 128 rows of A, N / 2 cycles, 12 for the mbarrier, 50 until the warp resumes, and the loop."""
    for n in (64, 128, 256):
        take = lambda count: launch("turns", count, descriptor(128, n))
        near(f"latency of N = {n}", slope(take, "--data=none"), 32 + n / 2 + 12 + 50 + 38, 0.02)


def check_registers():
    """Four warps read one register of each lane per cycle."""
    near("cycles of four loads", slope(lambda count: launch("registers", count, block=128), "--data=none"), 64, 0.02)


def check_boxes():
    """A row of 32 or of 128 bytes takes one cycle."""
    for row in (32, 64, 128):
        box = {"buffer": "data", "offset": 0, "type": "u8", "dims": [row, 256], "strides": [128], "box": [row, 256],
               "element_strides": [1, 1], "interleave": "none", "swizzle": "none", "l2": "none", "oob": "zero"}
        take = lambda count: launch("boxes", "map", count, 256 * row, block=1)
        near(f"cycles of a box of rows of {row} bytes", slope(take, depths=(12, 28), maps={"map": box}), 256, 0.03)


def check_control():
    """A request takes 600 cycles, an arrival and the end of a wait."""
    near("cycles of a request", slope(lambda count: launch("asks", count, block=1)), 600 + 13 + 50 + 38, 0.05)


def check_assumed():
    """The latency of an answer is an assumed figure that affects the result."""
    time = run([launch("asks", 64, block=1)], "--data=none")[0][0]["time"]
    if "launch-control" not in time["assumed"]:
        sys.exit(f"expected an assumed figure that matters, found {time['assumed']}")


def check_peeks():
    """20 cycles pass until a test gives up, 13 for an arrival, 75 for a test of a completed phase, and the loop."""
    near("cycles of a test that fails", slope(lambda count: launch("peeks", count, block=1)), 20 + 13 + 75 + 38, 0.03)


def check_dependence():
    """Branches on an accumulator: MMAs are computed, and the line is named."""
    launches, text = run([launch("depends", descriptor(128, 64))], "--data=none")
    with open(PTX, encoding="utf-8") as file:
        line = next(n for n, words in enumerate(file, 1) if "@%s bra DONE" in words)
    if launches[0]["time"].get("computed_for_line") != line or f"line {line} may depend" not in text:
        sys.exit(f"expected MMAs to be computed for line {line}, found {launches[0]['time']}: {text}")


check_mmas()
check_latency()
check_registers()
check_boxes()
check_control()
check_assumed()
check_peeks()
check_dependence()
