#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each kernel of a layer takes, in one program or several.

    cases.py build/gcc/bin/mx-compile OUT/programs layer-top2of8           # here
    PYTHONPATH=OUT MX_RUNTIME=OUT/libmx_runtime.so \\
        OUT/matmul/layer_kernels.py layer-top2of8 OUT/programs [DIR...]   # on the GPU

Each DIR has a program of the layer, as another compiler or other schedules make
it. All take turns: five rounds of launches back to back, of which the median
counts; then PyTorch's profiler says what the kernels of ten launches take. Results
that differ in a bit from those of the first are named: y and dx are sums of rows in
any order, and differ from run to run."""

import collections
import pathlib
import statistics
import sys

import cases
import layer
import mx_compiler as mx
import timing
import torch

LAUNCHES, ROUNDS = 10, 5
RESULTS = ("y", "dx", "dw1", "dw2", "dprobs")


def kernels(implementation):
    """Microseconds of a launch by kernel, in the order of their first launch."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(LAUNCHES):
            implementation.launch(0)
        torch.cuda.synchronize()
    found = collections.OrderedDict()
    events = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    for event in sorted(events, key=lambda e: e.time_range.start):
        found[event.name] = found.get(event.name, 0) + event.time_range.elapsed_us() / LAUNCHES
    return found


def main():
    name, *directories = sys.argv[1:]
    mx.set_device("cuda")
    case = next(case for case in cases.CASES if case.name == name)
    data = layer.Data(case)
    ours = {path: layer.MxLayer(pathlib.Path(path), data) for path in directories}
    times = {path: [] for path in ours}
    for path, implementation in ours.items():
        implementation.launch(0)
    torch.cuda.synchronize()
    first = next(iter(ours.values())).results
    differ = {path: [name for name, a, b in zip(RESULTS, implementation.results, first)
                     if not torch.equal(a.view(torch.int32), b.view(torch.int32))]
              for path, implementation in ours.items()}
    for _ in range(ROUNDS):
        for path, implementation in ours.items():
            seconds, _ = timing.sustained(implementation, 0.5, 0.02)
            times[path].append(seconds)
    for path, implementation in ours.items():
        print(f"{path}: {statistics.median(times[path]) * 1e3:.3f} ms, other bits: "
              f"{', '.join(differ[path]) or 'none'}")
        for kernel, microseconds in kernels(implementation).items():
            print(f"  {microseconds:9.1f} us  {kernel}")


if __name__ == "__main__":
    main()
