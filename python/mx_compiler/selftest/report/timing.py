# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of launches by CUDA events of the driver, on the stream of the launches.

A burst is one launch after the other, each on operands of its own. Before it the GPU
fills memory with zeros, as often as the host needs to issue the burst: that empties the
caches, and the launches follow each other without a gap. Where no such fill is long
enough, as for launches that wait for the GPU, the host was measured, and the time of
the GPU is not known."""

import ctypes
import math
import statistics
import time

BURSTS, LAUNCHES = 15, 8
# In the first burst kernels may still be loaded; the second one shows the host's time.
TRIALS = 2
FILL, FILLS, MOST_FILLS = 1 << 30, 2, 64
METHOD = ("microseconds of a launch: in a burst of launches, each on other operands, "
          "after a fill of memory, between two CUDA events; the median, least and "
          "largest of the bursts")


class Clock:
    def __init__(self, number):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), number)
        # That of the runtime and of PyTorch.
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.fill, self.events = ctypes.c_uint64(), []

    def prepare(self):
        """What all measurements use, once."""
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
        """Of CUDA that the driver has: 13000 is 13.0."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def between(self, begin, end):
        """Milliseconds."""
        taken = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(taken), begin, end)
        return taken.value

    def measure(self, launches, stream):
        """Of `launches` in turn, on the stream with this handle."""
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
