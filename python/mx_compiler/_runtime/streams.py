# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams of the runtime and of other libraries."""

import ctypes
from typing import Any

from .closing import Closing
from .device import require_device
from .internal import internal
from .library import call


class Stream(Closing):
    """Stream of the runtime. `handle` is the runtime's handle, a CUstream on a GPU."""

    def __init__(self) -> None:
        self._handle = None
        require_device("mx_compiler.Stream", "omit the stream, because calls on cpu are complete "
                       "when they return")
        self._handle = ctypes.c_void_p()
        # Host arrays of pending copies.
        self._read = []
        call("mxStreamCreate", self._handle)

    @property
    def handle(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the stream was closed")
        return self._handle

    def __cuda_stream__(self):
        """Implements the stream protocol of CUDA's Python libraries. Returns (version, handle)."""
        return 0, self.handle.value or 0

    @internal
    def keep(self, memory):
        """Keeps host memory alive until the stream is synchronized."""
        self._read.append(memory)

    def synchronize(self) -> None:
        read = len(self._read)
        call("mxStreamSynchronize", self.handle)
        del self._read[:read]

    def wait(self, other: Any = None) -> None:
        """Orders later work on this stream after the current work on `other`, which may be any value
        that `stream_handle` accepts. The host does not wait."""
        call("mxStreamWait", self.handle, stream_handle(other))

    def close(self) -> None:
        """Waits for the work on the stream and destroys the stream."""
        if self._handle is None:
            return
        self.synchronize()
        handle, self._handle = self._handle, None
        call("mxStreamDestroy", handle)


def stream_handle(stream):
    """Returns the handle of a stream as a number, or 0 for None, the default stream. Accepts a
    Stream, an int, a torch.cuda.Stream, a cupy.cuda.Stream, or an object with __cuda_stream__.
    Raises TypeError."""
    if stream is None:
        return 0
    if isinstance(stream, Stream):
        return stream.handle.value or 0
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        found = stream.__cuda_stream__
        return int((found() if callable(found) else found)[1])
    for name in ("cuda_stream", "ptr"):  # PyTorch, CuPy
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    raise TypeError("expected a stream to be an mx_compiler.Stream, None, the number of a "
                    f"CUstream, or a stream of PyTorch or CuPy, found {type(stream).__name__}")


def wait(stream):
    """Waits for a stream. Does not wait for the default stream, because its copies are already
    complete."""
    if isinstance(stream, Stream):
        stream.synchronize()
    elif stream_handle(stream):
        call("mxStreamSynchronize", stream_handle(stream))
