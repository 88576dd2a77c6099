"""Runs the cases of the report on the simulator as they run on a GPU: with device arrays, a stream and rotating
operands. PyTorch runs on the host. The driver is a fake that records calls."""

import contextlib
import ctypes
import types
from importlib.util import find_spec

import mx_compiler as mx
import numpy as np
from mx_compiler.selftest.report import cases, timing, worker

mx.set_device("sim")


class Driver:
    """Events at intervals of a millisecond."""

    def __init__(self):
        self.calls, self.time, self.recorded = [], 0.0, {}

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            if name == "cuEventCreate":
                arguments[0]._obj.value = len(self.calls)
            if name == "cuEventRecord":
                self.time += 1.0
                self.recorded[arguments[0].value] = self.time
            if name == "cuEventElapsedTime":
                arguments[0]._obj.value = (self.recorded[arguments[2].value] -
                                           self.recorded[arguments[1].value])
            return 0
        return call


driver = Driver()
timing.ctypes = types.SimpleNamespace(**{**vars(ctypes), "CDLL": lambda name: driver})
timing.BURSTS = timing.LAUNCHES = 2
# Host time per burst in seconds: the difference between two reads of the clock.
host, looks = [0.0005], iter(range(1 << 30))
timing.time = types.SimpleNamespace(perf_counter=lambda: next(looks) * host[0])
torch = None
if find_spec("torch"):
    import torch
    torch.cuda.ExternalStream = lambda handle: handle
    torch.cuda.stream = lambda stream: contextlib.nullcontext()

clock = timing.Clock(0)
for row in cases.TABLE:
    place = cases.Place("cpu", torch)
    place.is_gpu, place.stream, place.torch = True, mx.Stream(), torch
    name, row = row.names[-1], row._replace(sizes=row.tiny)
    found = worker.run_case(row, name, place, clock)
    assert found["passed"], (row.family, found)
    # A burst of two launches takes a millisecond. A fill of one millisecond precedes it.
    assert found["times"]["mx"]["median_us"] == 500, found
    assert found["times"]["mx"]["fill_us"] == 1000, found
    assert (found["times"]["torch"] is None) == (torch is None), found
assert driver.calls.count("cuMemsetD8Async") == (
    len(cases.TABLE) * (1 + (torch is not None)) * (timing.TRIALS + 2) * timing.FILLS)

# A slow host needs longer fills, here of one millisecond each. If even the longest fill is too short, no GPU time is
# reported.
for seconds, fills, known in ((0.0009, 3, True), (0.0199, 60, False), (10, 64, False)):
    host[0], driver.calls = seconds, []
    found = clock.measure([lambda: None], 0)
    assert (found["median_us"] is not None) == known, found
    assert abs(found["host_us"] - seconds * 1e6 / 2) < 0.01, found
    assert driver.calls.count("cuMemsetD8Async") == (
        timing.TRIALS * timing.FILLS + timing.BURSTS * fills), driver.calls

# PyTorch returns the results of mx.
if torch:
    place = cases.Place("cpu", torch)
    place.torch = torch
    for row, tolerance in ((cases.FAMILIES["matmul"], 0.1),
                           (cases.FAMILIES["weight_only"], 0.1),
                           (cases.FAMILIES["grouped_matmul"], 0.1),
                           (cases.FAMILIES["simple_kernels"], 0.0)):
        for name in row.names[:1] if tolerance else row.names:
            made = row.make(place, name, **row.tiny)
            found = made.launches[0]()
            found = found[0] if isinstance(found, list) else found
            beside = made.torch[1][0]()
            beside = torch.cat(beside) if isinstance(beside, list) else beside
            a, b = np.asarray(found).astype(np.float64), beside.double().numpy()
            assert np.abs(a - b).max() <= tolerance * np.abs(b).max(), (row.family, name)
print("all is well")
