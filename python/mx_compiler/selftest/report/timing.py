# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times launches with CUDA events on the stream of the launches.

A burst is a sequence of launches, each on its own operands. Before a burst, the GPU fills memory
with zeros for as long as the host needs to issue the burst. The fill clears the caches and prevents
gaps between launches. If no fill is long enough, for example because the launches wait for the GPU,
the events measure the host, and the GPU's time is unknown."""

import ctypes
import math
import statistics
import time

BURSTS, LAUNCHES = 15, 8
# Bursts that are not reported. The first may load kernels, and the second measures the host.
TRIALS = 2
FILL, FILLS, MOST_FILLS = 1 << 30, 2, 64
METHOD = ("microseconds per launch, between two CUDA events around a burst of launches that use "
          "different operands, after the GPU filled memory; the median, minimum and maximum "
          "of the bursts")


class Clock:
    def __init__(self, number):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), number)
        # The runtime and PyTorch also use the primary context.
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.fill, self.events = ctypes.c_uint64(), []

    def prepare(self):
        """Allocates the memory to fill and the events, once."""
        if self.events:
            return
        self.call("cuMemAlloc_v2", ctypes.byref(self.fill), ctypes.c_size_t(FILL))
        self.events = [ctypes.c_void_p() for _ in range(3)]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

    def version(self):
        """Returns the driver's CUDA version, such as 13000 for 13.0."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def between(self, begin, end):
        """Returns the milliseconds between two events."""
        taken = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(taken), begin, end)
        return taken.value

    def measure(self, launches, stream):
        """Measures bursts of `launches`, which are called in turn. `stream` is a handle."""
        self.prepare()
        first, begin, end = self.events
        stream = ctypes.c_void_p(stream)
        times, hosts, fills, at, count = [], [], [], 0, FILLS
        for burst in range(TRIALS + BURSTS):
            self.call("cuEventRecord", first, stream)
            for _ in range(count):
                self.call("cuMemsetD8Async", self.fill, ctypes.c_ubyte(0),
                          ctypes.c_size_t(FILL), stream)
            self.call("cuEventRecord", begin, stream)
            started = time.perf_counter()
            for _ in range(LAUNCHES):
                launches[at % len(launches)]()
                at += 1
            issued = (time.perf_counter() - started) * 1e6
            self.call("cuEventRecord", end, stream)
            self.call("cuStreamSynchronize", stream)
            filled = self.between(first, begin) * 1e3
            if burst >= TRIALS:
                times.append(self.between(begin, end) * 1e3 / LAUNCHES)
                hosts.append(issued / LAUNCHES)
                fills.append(filled)
            elif burst:
                wanted = math.ceil(1.5 * issued * count / filled)
                count = min(max(wanted, FILLS), MOST_FILLS)
        host, fill = statistics.median(hosts), statistics.median(fills)
        found = {"median_us": statistics.median(times), "min_us": min(times),
                 "max_us": max(times)}
        if host * LAUNCHES > fill:
            found = dict.fromkeys(found)
        return {name: value and round(value, 2) for name, value in
                {**found, "host_us": host, "fill_us": fill}.items()}
