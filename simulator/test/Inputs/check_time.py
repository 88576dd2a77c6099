"""Modeled times of small kernels, compared with the rates of the chip.

usage: check_time.py MX_SIM TIME.ptx DIRECTORY
"""

import json
import os
import subprocess
import sys

import numpy as np

MX_SIM, PTX, DIRECTORY = sys.argv[1:]
MHZ, SMS = 1980, 132
# Bytes per cycle for thread loads from L2: each half of the chip provides half of 4500, and the larger
# half contains 68 SMs.
L2_LOADS = 4500 / 2 / 68 * SMS
MIB = 1 << 20


def run(launches, *options, **buffers):
    """Returns the launches of a report, and the warnings."""
    path = os.path.join(DIRECTORY, "launch.json")
    report = os.path.join(DIRECTORY, "report.json")
    buffers = {name: value if isinstance(value, dict) else {"bytes": value} for name, value in buffers.items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"buffers": buffers, "launches": launches}, file)
    command = [MX_SIM, PTX, path, "--time=h200", f"--report={report}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["launches"], done.stderr


def launch(kernel, grid, block, *args):
    """Describes a launch; the arguments are buffer names and numbers."""
    args = [{"buffer": arg} if isinstance(arg, str) else {"u32": arg} for arg in args]
    return {"kernel": kernel, "grid": [grid, 1, 1], "block": [block, 1, 1], "dynamic_smem": 16384, "args": args}


def near(what, found, expected, tolerance):
    if abs(found - expected) > tolerance * expected:
        sys.exit(f"{what}: expected {expected:.1f} within {100 * tolerance:.0f} %, found {found:.1f}")


def cycles(launches):
    return [one["time"]["cycles"] for one in launches]


def check_mmas():
    """An MMA with few columns takes 16 + N / 4 cycles, whether or not values are computed."""
    two = [launch("mmas", SMS, 128, "out", count) for count in (128, 256)]
    few, many = cycles(run(two, "--data=none", out=512)[0])
    near("cycles of an MMA", (many - few) / 128, 18, 0.01)
    if cycles(run(two, out=512)[0]) != [few, many]:
        sys.exit("expected MMAs to take the same time with and without computed values")


def check_memory():
    """Reads HBM, then the same data from L2."""
    read = lambda count: launch("read", 2 * SMS, 1024, "in", count) | {"dynamic_smem": 0}
    step = 2 * SMS * 1024 * 16
    few, many = (run([read(count)] * 2, "--checks=none", **{"in": count * step})[0] for count in (4, 8))
    rates = [4 * step / (b - a) for a, b in zip(cycles(few), cycles(many))]
    near("TB/s of HBM", rates[0] * MHZ / 1e6, 4.52, 0.03)
    near("L2 bytes per cycle", rates[1], L2_LOADS, 0.02)
    near("L2 hit rate of the first reads", many[0]["time"]["l2_hit_rate"] + 1, 1, 0.001)
    near("L2 hit rate of repeated reads", few[1]["time"]["l2_hit_rate"], 1, 0.01)


def check_copies():
    """A sector read by several lanes of cp.async is fetched once."""
    copy = lambda count: launch("copy", 2 * SMS, 1024, "in", count) | {"dynamic_smem": 0}
    step = 2 * SMS * 1024 * 16
    few, many = (run([copy(count)] * 2, "--checks=none", **{"in": count * step})[0] for count in (2, 6))
    if many[1]["time"]["l2_bytes"] != 6 * step:
        sys.exit(f"expected {6 * step} bytes of L2, found {many[1]['time']['l2_bytes']}")
    near("cp.async bytes per cycle", 4 * step / (cycles(many)[1] - cycles(few)[1]), L2_LOADS, 0.02)


def check_barriers():
    """A handover takes 75 cycles, estimated without machine code."""
    few, many = cycles(run([launch("handOver", 1, 64, rounds) for rounds in (64, 128)])[0])
    near("cycles of a handover", (many - few) / 128, 75.2, 0.1)


def check_peeks():
    """A test that can never succeed gives up, and the thread continues."""
    few, many = cycles(run([launch("peeks", 1, 1, count) for count in (8, 16)])[0])
    if not few < many:
        sys.exit(f"expected more tests to take longer, found {few} and {many}")


def check_machine_code():
    """The stalls in a machine code listing add to the time, three in each round of the first warp.
    A listing of a different kernel text adds none."""
    with open(PTX, encoding="utf-8") as file:
        line = next(n for n, words in enumerate(file, 1) if "COUNTS" in words)

    def rounds(stall, line=line):
        path = os.path.join(DIRECTORY, "listing")
        code = f'.text.handOver:\n\t//## File ".nv_debug_ptx_txt", line {line}\n'
        for place, opcode in enumerate(("FADD", "FMUL.FTZ", "FFMA")):
            code += f"        /*{16 * place:04x}*/    @!P0 {opcode} R1, R1, R1 ;    /* 0x0000000000000000 */\n"
            code += f"                                /* 0x{stall << 41:016x} */\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n" + code)
        found = run([launch("handOver", 1, 64, n) for n in (64, 128)], f"--machine-code={path}")[0]
        few, many = cycles(found)
        return (many - few) / 64, found[0]["time"]["machine_code"]

    slow, fast = rounds(15), rounds(5)
    near("cycles that 30 stalls add", slow[0] - fast[0], 30, 0.1)
    if not slow[1] or rounds(15, line + 100000)[1]:
        sys.exit("expected a listing to be used if and only if its lines match the kernel")


def listed(order, one, **buffers):
    """Returns the cycles with machine code, given as (line, instruction, result counter, counters to wait for)."""
    with open(PTX, encoding="utf-8") as file:
        lines = {words.split("//")[1].strip(): n for n, words in enumerate(file, 1) if "//" in words}
    path = os.path.join(DIRECTORY, "listing")
    code = f"\n.text.{one['kernel']}:\n"
    for place, (name, instruction, counter, waits) in enumerate(order):
        code += f'\t//## File ".nv_debug_ptx_txt", line {lines[name]}\n'
        code += f"        /*{16 * place:04x}*/    {instruction} ;    /* 0x0000000000000000 */\n"
        code += f"                                /* 0x{4 << 41 | counter << 46 | waits << 52:016x} */\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    return cycles(run([one], f"--machine-code={path}", **buffers)[0])[0]


def early(order):
    return listed(order, launch("early", 1, 32, "in"), **{"in": 1 << 17})


NONE = 7  # no counter


def check_waits():
    """Machine code that uses a load before the next load also waits for it."""

    def takes(waits):
        return early((("FIRST", "LDG R1, R1, R1", 0, 0), ("USE", "IADD3 R1, R1, R1", NONE, waits),
                      ("SECOND", "LDG R1, R1, R1", 1, 0), ("BOTH", "IADD3 R1, R1, R1", NONE, 2),
                      ("STORE", "STG R1, R1, R1", NONE, 0)))

    # A load from HBM takes 490 to 770 cycles.
    if not 450 < takes(1) - takes(0) < 850:
        sys.exit(f"expected a load that waits for another one to add its latency, found {takes(0)} and {takes(1)}")


def check_constants():
    """The first access to a 64-byte line of constants takes 73 more cycles. For a load, only the result is delayed."""

    def takes(*order):
        return early([("PARAMETER", *one) for one in order] + [("FIRST", "LDG R1, R1, R1", NONE, 3)])

    def more(expected, what, found):
        if found != expected:
            sys.exit(f"expected {what} to take {expected} cycles more, found {found}")

    load = lambda place, counter: (f"LDC R2, c[0x0][{place}]", counter, 0)
    use = lambda counter: ("IADD3 R1, R1, R1", NONE, 1 << counter)
    warm = lambda order: (("S2R R2, SR_TID.X", *one[1:]) if "LDC" in one[0] else one for one in order)
    cold = lambda *order: takes(*order) - takes(*warm(order))
    more(73, "a line", cold(load("0x210", 0)))
    more(73, "a line, and then the same", cold(load("0x210", 0), use(0), load("0x23c", 1)))
    more(146, "a line, and then another", cold(load("0x210", 0), use(0), load("0x240", 1)))
    more(73, "two lines at a time", cold(load("0x210", 0), load("0x240", 0)))
    more(0, "a line without a waiting instruction", cold(load("0x210", NONE)))
    more(0, "a line of a guarded load", cold(("@!P0 LDC R2, c[0x0][0x210]", 0, 0)))
    # The kernel's start cost is attributed to the first line with operands.
    operands = lambda place: takes(*((f"ULDC UR4, c[0x0][{at}]", NONE, 0) for at in ("0x0", place)))
    more(73, "a second line of operands", operands("0x210") - operands("0x4"))
    # Parameters begin at 0x210.
    pick = lambda at: listed((("AT", "LDC R1, c[0x0][0x210]", 0, 0), ("ADDRESS", "IADD3 R1, R1, R1", NONE, 1),
                              ("PICK", "LDC R1, c[0x0][R1+0x210]", 1, 0), ("PICKED", "IADD3 R1, R1, R1", NONE, 2),
                              ("KEEP", "STS R1, R1", NONE, 0)), launch("picks", 1, 32, at, *[0] * 16))
    more(73, "a parameter of another line", pick(48) - pick(44))


def check_ends():
    """A kernel ends after its stores, and after the chip has registered the ends of all CTAs."""
    store = lambda grid, count: launch("store", grid, 128, "out", count) | {"dynamic_smem": 0}
    sizes = ((SMS, 0), (SMS, 1), (8 * SMS, 0), (8 * SMS, 8))
    nothing, one, many, much = cycles(run([store(*size) for size in sizes], "--checks=none", out=1 << 25)[0])
    if not 300 < one - nothing < 600:
        sys.exit(f"expected a store to add 330 cycles and its own cycles, found {nothing} and {one}")
    if not 500 < many - nothing < 1300:
        sys.exit(f"expected 924 more CTAs to add about a cycle each, found {nothing} and {many}")
    # Each thread stores 16 bytes, at 2150 bytes per cycle.
    near("cycles in which stores drain", much - many, 8 * 8 * SMS * 128 * 16 / 2150, 0.15)


def check_repeats():
    """Reports are bitwise equal for any number of host threads, and for a second run."""
    launches = [launch("mmas", 300, 128, "out", 64), launch("handOver", 300, 64, 20)]
    found = [run(launches, f"--jobs={jobs}", out=512) for jobs in (1, 4, 4)]
    if found[0] != found[1] or found[1] != found[2]:
        sys.exit("expected the same report for any number of threads")
    # 300 CTAs run on 132 SMs, one at a time on each SM if the CTA fills shared memory.
    one, = cycles(run([launch("mmas", 1, 128, "out", 64)], out=512)[0])
    if not cycles(found[0][0])[0] > one:
        sys.exit("expected more CTAs to take longer")


def check_dependence():
    """Branches on the result of an MMA: the MMA is computed, and the line is named."""
    out = {"bytes": 512, "fill": "zero"}
    launches, text = run([launch("depends", 1, 128, "out")], "--data=none", "--checks=-uninit-smem", out=out)
    with open(PTX, encoding="utf-8") as file:
        line = next(n for n, words in enumerate(file, 1) if "@!%p bra done" in words)
    if launches[0]["time"].get("computed_for_line") != line or f"line {line} may depend" not in text:
        sys.exit(f"expected MMAs to be computed for line {line}, found {launches[0]['time']}: {text}")


check_mmas()
check_memory()
check_copies()
check_barriers()
check_peeks()
check_machine_code()
check_waits()
check_constants()
check_ends()
check_repeats()
check_dependence()
