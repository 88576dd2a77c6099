"""Causes of modeled time: the causes add up to the time and predict the effect of a changed figure, and
removing the limit of a part gains at most its share.

usage: check_time_causes.py MX_SIM TIME.ptx DIRECTORY
"""

import json
import os
import subprocess
import sys

MX_SIM, PTX, DIRECTORY = sys.argv[1:]
SMS, LAUNCH_US = 132, 0.53


def run(launch, *options):
    """Returns the time of a launch."""
    path = os.path.join(DIRECTORY, "causes.json")
    report = os.path.join(DIRECTORY, "causes-report.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(launch, file)
    command = [MX_SIM, PTX, path, "--time=h200", "--checks=none", "--data=none", f"--report={report}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["launches"][0]["time"]


def launch(kernel, grid, block, *args, **buffers):
    args = [{"buffer": arg} if isinstance(arg, str) else {"u32": arg} for arg in args]
    return {"buffers": {name: {"bytes": size} for name, size in buffers.items()}, "kernel": kernel,
            "grid": [grid, 1, 1], "block": [block, 1, 1], "dynamic_smem": 16384, "args": args}


# Maps each limiting part to a launch, the least share of the part, and the figures of the part.
MMAS = launch("mmas", 4, 128, "out", 1000, out=512)
READ = launch("read", 2 * SMS, 1024, "in", 10, **{"in": 10 * 2 * SMS * 1024 * 16}) | {"dynamic_smem": 0}
HAND_OVER = launch("handOver", 1, 64, 200)
BOUND = {
    "tensor core": (MMAS, 0.8, "tensor", ["wgmma-shared-least"]),
    "HBM": (READ, 0.8, "hbm", ["hbm-bytes"]),
    "barriers": (HAND_OVER, 0.6, "barriers", ["mbarrier-woken"]),
}


def near(what, found, expected, tolerance):
    if abs(found - expected) > tolerance:
        sys.exit(f"{what}: expected {expected:.4f} within {tolerance:.4f}, found {found:.4f}")


def check_figure(name, case, time, key):
    """The change agrees with the sensitivity to first order, within a tenth."""
    cause = next(c for c in time["causes"] if c["key"] == key)
    falls = "/" in cause["unit"]
    for factor in (0.75, 1.25):
        change = cause["us"] * ((1 / factor if falls else factor) - 1)
        found = run(case, f"--time-figure={key}={cause['value'] * factor}")["us"] - time["us"]
        near(f"{name}: what {key} x {factor} adds", found, change, 0.1 * abs(change) + 0.005 * time["us"])


def check_bound(name):
    case, least, part, keys = BOUND[name]
    time = run(case)
    share = time["bound_by"][name]
    if next(iter(time["bound_by"])) != name or share < least:
        sys.exit(f"expected to be bound by {name} to {least}, found {time['bound_by']}")
    near(f"{name}: sum of parts", sum(time["bound_by"].values()), 1, 1e-4)
    near(f"{name}: sum of causes", sum(c["us"] for c in time["causes"]), time["us"], 1e-3 * time["us"])
    near(f"{name}: share without a cause", time["bound_by"].get("other", 0), 0, 0.01)
    if not time["low_us"] < time["us"] < time["high_us"]:
        sys.exit(f"{name}: expected {time['us']} between {time['low_us']} and {time['high_us']}")
    for key in keys:
        check_figure(name, case, time, key)
    gain = 1 - run(case, f"--time-without={part}")["us"] / time["us"]
    if not 0.3 * share < gain < share + 0.01:
        sys.exit(f"{name}: expected a gain of at most {share}, found {gain}")
    return time


def check_clock(times):
    """Half the clock doubles the time, except for memory. MMAs lower the clock by themselves."""
    fast, slow = run(MMAS, "--clock=1980"), run(MMAS, "--clock=990")
    near("cycles at half the clock", slow["cycles"] / fast["cycles"], 1, 1e-6)
    near("time at half the clock", (slow["us"] - LAUNCH_US) / (fast["us"] - LAUNCH_US), 2, 1e-3)
    if not 1500 < times["tensor core"]["mhz"] <= 1850:
        sys.exit(f"expected a clock below 1850 MHz, found {times['tensor core']['mhz']}")
    # The clock of a continuous launch is the lower limit, and kernels without MMAs keep the full clock.
    steady = run(MMAS, "--clock=sustained")
    near("a sustained clock", steady["mhz"], run(MMAS, "--time-figure=tensor-clock-time=0.001")["mhz"], 1e-6)
    if not steady["mhz"] < times["tensor core"]["mhz"] - 0.05:
        sys.exit(f"expected a sustained clock below {times['tensor core']['mhz']} MHz, found {steady['mhz']}")
    near("a sustained clock without MMAs", run(HAND_OVER, "--clock=sustained")["mhz"], 1980, 0)
    near("a clock equal to the MMA clock", run(MMAS, "--clock=1850")["mhz"], 1850, 0)
    near("time of memory at half the clock", run(READ, "--clock=990")["us"] / times["HBM"]["us"], 1, 0.2)


def check_band():
    """A figure without a range does not contribute to the band."""
    wide = run(HAND_OVER)
    narrow = run(HAND_OVER, "--time-figure=mbarrier-woken=55", "--time-figure=mbarrier-test=66")
    if not narrow["high_us"] - narrow["low_us"] < wide["high_us"] - wide["low_us"]:
        sys.exit(f"expected a narrower band, found {narrow['low_us']} to {narrow['high_us']}")


def check_assumed():
    """The limiting figure is a measured figure."""
    if run(READ, "--time-without=launch")["assumed"]:
        sys.exit("expected no assumed figure that matters for a read from HBM")


check_clock({name: check_bound(name) for name in BOUND})
check_band()
check_assumed()
