"""Costs of lines, compared with arithmetic: latencies are set, and waits change with them.

usage: check_time_lines.py MX_SIM LINES.ptx DIRECTORY LIST_MACHINE_CODE
"""

import json
import os
import subprocess
import sys

MX_SIM, PTX, DIRECTORY, LIST = sys.argv[1:]
CAUSES = ("issues", "waits_slot", "waits_result", "waits_mbarrier", "waits_barrier", "waits_group", "waits_mma")
with open(PTX, encoding="utf-8") as source:
    TEXT = source.read().split("\n")


def line_of(mark):
    """Returns the number of the line that ends with the text."""
    (line,) = (k + 1 for k, text in enumerate(TEXT) if text.endswith("// " + mark))
    return line


def run(kernel, block, *args, options=(), grid=1, lines=True):
    """Returns the report of a launch."""
    args = [{"buffer": arg} if isinstance(arg, str) else {"u32": arg} for arg in args]
    launch = {"buffers": {"in": {"bytes": 1024}, "out": {"bytes": 4096}}, "kernel": kernel, "grid": [grid, 1, 1],
              "block": [block, 1, 1], "dynamic_smem": 16384, "args": args}
    path, report = os.path.join(DIRECTORY, "launch.json"), os.path.join(DIRECTORY, "report.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(launch, file)
    command = [MX_SIM, PTX, path, "--time=h200", f"--report={report}", *options, *(["--time-lines"] if lines else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["launches"][0]


def at(report, mark):
    """Returns the cost of the line."""
    found = [one for one in report["time"]["lines"] if one["line"] == line_of(mark)]
    return found[0] if found else sys.exit(f"expected the line of {mark} among the lines with a cost")


def expect(what, found, expected, tolerance=0):
    if abs(found - expected) > tolerance:
        sys.exit(f"{what}: expected {expected} within {tolerance}, found {found}")


def check_sums(name, report):
    """The costs of lines add up to the lifetimes of the warps; execution counts match the recorder."""
    time, roles = report["time"], report["roles"]
    expect(f"{name}: cycles of all lines", sum(one["cycles"] for one in time["lines"]),
           sum(role["cycles"]["alive"] for role in roles))
    counts = {}
    for role in roles:
        for line, count in role["instructions_by_line"]:
            counts[line] = counts.get(line, 0) + count
    found = {one["line"]: one["executed"] for one in time["lines"]}
    if found != counts:
        sys.exit(f"{name}: expected executed {counts}, found {found}")
    for one in time["lines"]:
        expect(f"{name}: causes of line {one['line']}", sum(one[cause] for cause in CAUSES), one["cycles"])
        if one["text"] != TEXT[one["line"] - 1].strip():
            sys.exit(f"{name}: expected the text of line {one['line']}, found {one['text']}")
    if [one["line"] for one in time["lines"]] != sorted(found):
        sys.exit(f"{name}: expected lines in their order")


def check_without(name, report, kernel, *args, **more):
    """Accounting does not change the result, and is omitted unless requested."""
    plain = run(kernel, *args, lines=False, **more)
    expect(f"{name}: cycles with an account", report["time"]["cycles"], plain["time"]["cycles"])
    if "lines" in plain["time"] or "source_lines" in plain["time"]:
        sys.exit(f"{name}: expected no lines without a request")


def check(kernel, *args, **more):
    """Returns the report of a launch; the sums must be right with and without checks."""
    report = run(kernel, *args, **more)
    check_sums(kernel, report)
    check_without(kernel, report, kernel, *args, **more)
    more["options"] = (*more.get("options", ()), "--checks=none", "--data=none")
    fast = run(kernel, *args, **more)
    if fast["time"]["lines"] != report["time"]["lines"]:
        sys.exit(f"{kernel}: expected lines to cost the same without checks")
    return report


def check_chase():
    """15 of 16 loads wait for the preceding load. Each wait is the latency less the issue cycle."""
    for latency in (30, 200):
        one = at(check("chase", 32, options=[f"--time-figure=shared-latency={latency}"]), "CHASE")
        expect("waits of a chain of loads", one["waits_result"], 15 * (latency - 1), 2)
        expect("issue of a chain of loads", one["issues"], 16, 1)


def check_fmas():
    """Seven of eight multiply-adds wait for the latency less the issue cycle. The test waits for the eighth."""
    for latency in (4, 20):
        few, report = (check("fmas", 32, "out", count, options=[f"--time-figure=float-latency={latency}"])
                       for count in (100, 300))
        more = lambda mark, cause: at(report, mark)[cause] - at(few, mark)[cause]
        expect("waits of multiply-adds", more("FMAS", "waits_result"), 200 * 7 * (latency - 1))
        expect("issue of multiply-adds", more("FMAS", "issues"), 200 * 8)
        expect("a line without slot waits", more("FMAS", "waits_slot"), 0)
        expect("waits of the test", more("TEST", "waits_result"), 200 * (latency - 1))
    one = at(report, "FMAS")
    place = {"file": "src/chain.cu", "line": 7, "column": 3}
    if {key: one["source"][key] for key in place} != place:
        sys.exit(f"expected {place}, found {one['source']}")
    sources = report["time"]["source_lines"]
    if [(s["file"], s["line"]) for s in sources] != [("src/chain.cu", 7), ("src/chain.cu", 9)]:
        sys.exit(f"expected lines 7 and 9, the dearest first, found {sources}")
    expect("a line of the source", sources[0]["cycles"], one["cycles"])
    with_loc = [s for s in report["time"]["lines"] if s.get("source", {}).get("line") == 9]
    expect("several lines of the PTX", sources[1]["cycles"], sum(s["cycles"] for s in with_loc))


def check_shared_scheduler():
    """16 warps on four schedulers: each warp waits while others issue."""
    one = at(check("fmas", 512, "out", 100, options=["--time-figure=float-latency=4"]), "FMAS")
    expect("issue of 16 warps", one["issues"], 16 * 800, 16)
    if not one["waits_slot"] > 0:
        sys.exit("expected warps to wait for their scheduler")


def check_copies():
    """Each wait grows with the latency of the copy, and the branch after it with the latency of the test."""
    before, after = (at(check("copies", 32, "in", 50, options=[f"--time-figure=copy-l2-latency={latency}"]), "WAIT")
                     for latency in (300, 500))
    expect("waits for copies", after["waits_mbarrier"] - before["waits_mbarrier"], 50 * 200)
    # The transfer of 1024 bytes at 108 bytes per cycle adds to the wait; cycles before the wait reduce it.
    expect("a wait for a copy", before["waits_mbarrier"] / 50, 300, 100)
    quick, slow = (at(check("copies", 32, "in", 50, options=[f"--time-figure=mbarrier-woken={latency}"]), "WOKEN")
                   for latency in (20, 120))
    expect("a branch on the result of the test", slow["waits_mbarrier"] - quick["waits_mbarrier"], 50 * 100)


def check_barrier():
    """Three warps wait while the first runs its chain."""
    waits, rounds = [], []
    for latency in (17, 117):
        report = check("barrier", 128, "out", options=[f"--time-figure=special-latency={latency}"])
        waits.append(at(report, "MEET")["waits_barrier"])
        rounds.append(sum(at(report, mark)["cycles"] for mark in ("SLOW", "COUNT", "MORE", "AGAIN")))
    expect("rounds", rounds[1] - rounds[0] > 20 * 3 * 90, True)
    expect("waits at a barrier", waits[1] - waits[0], 3 * (rounds[1] - rounds[0]))
    expect("all of them", waits[0], 3 * rounds[0], 4 * 60)


def check_wgmmas():
    """Each of the four warps waits for each MMA."""
    before, after = (at(check("wgmmas", 128, 20, options=[f"--time-figure=wgmma-latency={latency}"]), "WGMMAS")
                     for latency in (40, 140))
    expect("waits for wgmma", after["waits_mma"] - before["waits_mma"], 4 * 20 * 100, 4 * 20)


def check_mma_sync():
    """The second MMA waits for the first, as for any result."""
    before, after = (at(check("mmas", 32, options=[f"--time-figure=mma-sync-latency={latency}"]), "MMA")
                     for latency in (30, 130))
    expect("waits for mma.sync", after["waits_mma"] - before["waits_mma"], 100)


def check_lanes():
    """Lanes diverge, and each cycle is counted once."""
    expect("rounds of lanes", at(check("lanes", 64, grid=3), "ROUNDS")["executed"], 2 * 3 * 32)


def check_jumps():
    """A jump is one instruction, however the simulator executes it."""
    expect("jumps by a table", at(check("jumps", 64, grid=2), "TABLE")["executed"], 2 * 2)


def check_machine_code():
    """In machine code order (if the tools are installed), sums are right, and warps wait for their scheduler."""
    listing = os.path.join(DIRECTORY, "listing")
    done = subprocess.run([sys.executable, LIST, PTX, "-o", listing], capture_output=True, text=True)
    if done.returncode:
        print(f"skipped: machine code: {done.stderr}")
        return
    options = [f"--machine-code={listing}"]
    alone, many = (at(check("fmas", block, "out", 100, options=options), "FMAS") for block in (32, 1024))
    expect("slot waits of a single warp", alone["waits_slot"], 0)
    expect("a round of the chain, by the stalls that ptxas writes", alone["cycles"] / 100, 8 * 4, 4)
    expect("slot waits of many warps", many["waits_slot"] > 0, True)
    check("barrier", 128, "out", options=options)
    check("wgmmas", 128, 20, options=options)
    check("copies", 32, "in", 20, options=options)


check_chase()
check_fmas()
check_shared_scheduler()
check_copies()
check_barrier()
check_wgmmas()
check_mma_sync()
check_lanes()
check_jumps()
check_machine_code()
