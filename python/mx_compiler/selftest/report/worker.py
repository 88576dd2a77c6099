# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a family of cases in a separate process, because a GPU fault may end the process:

    python -m mx_compiler.selftest.report.worker FAMILY DEVICE FILE

The process appends a line of JSON to FILE when a case begins, and another line with its result."""

import contextlib
import json
import sys
import time
import traceback
import warnings
from importlib.util import find_spec

import mx_compiler as mx

from .. import reference
from .cases import FAMILIES, Place
from .timing import Clock


def find_torch(place):
    """Returns PyTorch if it supports this GPU, else None."""
    if not place.is_gpu or not find_spec("torch"):
        return None
    import torch
    return torch if torch.cuda.is_available() else None


def times_of(place, clock, made):
    handle = place.stream.handle.value
    times = {"mx": clock.measure(made.launches, handle), "torch": None}
    if made.torch:
        what, launches = made.torch
        stream = place.torch.cuda.ExternalStream(handle)
        with place.torch.cuda.stream(stream):
            times["torch"] = {"what": what, **clock.measure(launches, handle)}
    return times


def run_case(row, name, place, clock):
    """Returns the result of a case. A failure is recorded and does not stop other cases."""
    sizes = row.sizes if place.is_gpu else row.tiny
    found = {"passed": False, "comparison": None, "times": None, "error": None}
    start = time.perf_counter()
    try:
        made = row.make(place, name, **sizes)
        found["comparison"] = made.check()
        found["passed"] = reference.is_right(found["comparison"])
        if not found["passed"]:
            found["error"] = "the results differ from the reference"
        if clock:
            found["times"] = times_of(place, clock, made)
    except Exception as error:
        traceback.print_exc()
        found["passed"] = False
        found["error"] = f"{type(error).__name__}: {error}"
    found["seconds"] = round(time.perf_counter() - start, 2)
    return found


def main(family, device, path):
    with open(path, "a", encoding="utf-8") as file:
        def tell(**line):
            print(json.dumps(line), file=file, flush=True)

        mx.set_device(device)
        row, place = FAMILIES[family], Place(device)
        place.torch = find_torch(place)
        clock = Clock(int(device.partition(":")[2] or 0)) if place.is_gpu else None
        for name in row.names:
            tell(begins=name)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", mx.SimulatorWarning)
                found = run_case(row, name, place, clock)
            for warning in told:
                if issubclass(warning.category, mx.SimulatorWarning):
                    found["passed"] = False
                    found["error"] = found["error"] or str(warning.message)
            tell(ends=name, **found)
    with contextlib.suppress(Exception):
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
