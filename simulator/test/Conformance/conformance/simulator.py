"""Runs cases through mx-sim. A launch file contains the launches of many cases."""

import itertools
import os
import subprocess

from . import base

# Exit status of mx-sim after a finding or a trap, which correspond to GPU faults.
FAULT = 1
LARGEST_BATCH = 32


def batches(cases):
    """Splits cases into lists, one per process. A case that must fail or that prints runs alone."""

    def key(case):
        alone = case.traits.get("fails") or "stdout" in case.outputs
        return case.group.name, sums(case), case.name if alone else ""

    found = []
    for _, same in itertools.groupby(cases, key):
        same = list(same)
        found += [
            same[i : i + LARGEST_BATCH] for i in range(0, len(same), LARGEST_BATCH)
        ]
    return found


def sums(case):
    return case.traits.get("sums", "exact")


def run(cases, folder, seconds):
    """Runs a batch and returns {case: {"outputs": {name: bytes}} or {"error": text}}. The entry
    "broken" marks an error that is not a kernel fault. `folder`/GROUP contains the module."""
    here = os.path.join(folder, cases[0].group.name)
    path = base.write_launch_file(cases[0].name, cases, here)
    command = ["mx-sim", "--quiet", "--jobs=1", "--sums=" + sums(cases[0]), path]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds)
        status, text = done.returncode, done.stderr.decode(errors="replace").strip()
    except subprocess.TimeoutExpired:
        status, text = None, f"no answer within {seconds:g} s"
    if status != 0 and len(cases) > 1:
        # The first fault ends all launches, so run each case alone.
        results = {}
        for case in cases:
            results.update(run([case], folder, seconds / len(cases)))
        return results
    if status == FAULT:
        return {cases[0]: {"error": text}}
    if status != 0:
        end = "" if status is None else f"mx-sim ended with status {status}: "
        return {cases[0]: {"error": end + text, "broken": True}}
    results = {}
    for case in cases:
        outputs = {}
        for name in base.buffers_out(case):
            with open(os.path.join(here, base.output_file(case, name)), "rb") as f:
                outputs[name] = base.npy_data(f.read())
        if "stdout" in case.outputs:
            outputs["stdout"] = done.stdout
        results[case] = {"outputs": outputs}
    return results
