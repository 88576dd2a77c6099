"""Prints how many copies of 2048 bytes mx-sim counts in cases of the group
tma-warp: count_copies.py DIRECTORY COUNTER KERNEL..."""

import json
import os
import subprocess
import sys

directory, counter, *kernels = sys.argv[1:]
for kernel in kernels:
    found = []
    for lanes in (1, 5, 32):
        for step, words in ((0, "at one place"), (8, "apart")):
            launch = os.path.join(directory, f"{kernel}_{lanes}_{step}.json")
            report = launch + ".report"
            subprocess.run(["mx-sim", launch, "--report=" + report], check=True)
            with open(report, encoding="utf-8") as file:
                roles = json.load(file)["launches"][0]["roles"]
            count = sum(role["bytes"][counter] for role in roles) / 2048
            found.append(f"{lanes} lanes {words} {count:g}")
    print(f"{kernel}: {', '.join(found)}")
