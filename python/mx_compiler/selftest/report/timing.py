# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of launches by CUDA events of the driver, on the stream of the launches.

A burst is one launch after the other, each on operands of its own. Before it the GPU
fills memory with zeros: that empties the caches, and takes longer than the host needs
to issue the burst, whose launches therefore follow each other without a gap, as far as
`host_us` (what the host takes for a launch) is below the fill."""

import ctypes
import statistics
import time

BURSTS, LAUNCHES = 15, 8
FILL, FILLS = 1 << 30, 2
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
        times, hosts, fills, at = [], [], [], 0
        for burst in range(BURSTS + 1):
            self.call("cuEventRecord", first, stream)
            for _ in range(FILLS):
                self.call("cuMemsetD8Async", self.fill, ctypes.c_ubyte(0),
                          ctypes.c_size_t(FILL), stream)
            self.call("cuEventRecord", begin, stream)
            started = time.perf_counter()
            for _ in range(LAUNCHES):
                launches[at % len(launches)]()
                at += 1
            issued = time.perf_counter() - started
            self.call("cuEventRecord", end, stream)
            self.call("cuStreamSynchronize", stream)
            if burst:  # the first may still load kernels
                times.append(self.between(begin, end) * 1e3 / LAUNCHES)
                hosts.append(issued * 1e6 / LAUNCHES)
                fills.append(self.between(first, begin) * 1e3)
        return {"median_us": round(statistics.median(times), 2),
                "min_us": round(min(times), 2), "max_us": round(max(times), 2),
                "host_us": round(statistics.median(hosts), 2),
                "fill_us": round(statistics.median(fills), 1)}
