# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Directories that mx-compile wrote, through the C interface of libmx_runtime
(runtime/include/mx_program.h)."""

import ctypes
import os

import numpy as np


class Sized(ctypes.Structure):
    """It begins with its size."""

    def __init__(self, *values):
        super().__init__(ctypes.sizeof(type(self)), *values)


class Argument(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("data", ctypes.c_void_p),
                ("shape", ctypes.POINTER(ctypes.c_int64))]


class ValueInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("type", ctypes.c_char_p),
                ("dtype", ctypes.c_char_p), ("item_bytes", ctypes.c_int32),
                ("is_number", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("is_taken", ctypes.c_int32)]


class EntryInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("arguments", ctypes.c_int32),
                ("results", ctypes.c_int32)]


def byte_shape(shape, dtype):
    """Of a result as bytes; a number is a row of them."""
    size = np.dtype(dtype).itemsize
    return shape if size == 1 else (*(shape[:-1] or (1,)), size)


class Runtime:
    """The library, on one device: "cuda" or "sim"."""

    def __init__(self, path, device):
        self.library = ctypes.CDLL(path)
        self.library.mxGetLastError.restype = ctypes.c_char_p
        self.library.mxSetErrorPolicy(1)  # return statuses
        self.call("mxSetDevice", device.encode())

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments):
            text = self.library.mxGetLastError().decode()
            self.library.mxClearError()
            raise RuntimeError(f"{name}: {text}")

    def alloc(self, count):
        memory = ctypes.c_void_p()
        self.call("mxMemAlloc", ctypes.byref(memory), ctypes.c_size_t(count))
        return memory.value

    def free(self, memory):
        self.call("mxMemFree", ctypes.c_void_p(memory))

    def fill(self, memory, byte, count):
        self.call("mxMemset", ctypes.c_void_p(memory), ctypes.c_uint8(byte),
                  ctypes.c_size_t(count), None)

    def upload(self, array):
        array = np.ascontiguousarray(array)
        memory = self.alloc(array.nbytes)
        self.call("mxMemcpyToDevice", ctypes.c_void_p(memory),
                  array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes), None)
        return memory

    def download(self, memory, shape, dtype):
        array = np.empty(shape, dtype)
        self.call("mxMemcpyToHost", array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_void_p(memory), ctypes.c_size_t(array.nbytes), None)
        return array

    def synchronize(self):
        self.call("mxSynchronize")


class Entry:
    """The entry `main` of a directory. Numbers are passed as arrays of NumPy
    without dimensions, arrays as (device address, shape)."""

    def __init__(self, runtime, directory):
        self.runtime = runtime
        self.program, self.entry = ctypes.c_void_p(), ctypes.c_void_p()
        runtime.call("mxProgramLoad", ctypes.byref(self.program),
                     os.fsencode(directory))
        runtime.call("mxProgramGetEntry", ctypes.byref(self.entry), self.program,
                     b"main")
        info = EntryInfo()
        runtime.call("mxEntryGetInfo", self.entry, ctypes.byref(info))
        self.result_count = info.results

    def close(self):
        self.runtime.call("mxProgramUnload", self.program)

    def pack(self, arguments):
        """(the C array, what it points to)."""
        packed = (Argument * len(arguments))(*[Argument() for _ in arguments])
        keep = []
        for slot, value in zip(packed, arguments):
            if isinstance(value, np.ndarray):
                slot.data = value.ctypes.data
                keep.append(value)
                continue
            address, shape = value
            keep.append((ctypes.c_int64 * len(shape))(*shape))
            slot.data, slot.shape = address, keep[-1]
        return packed, keep

    def result_shapes(self, arguments):
        """(shape, dtype) of each result."""
        packed, _keep = self.pack(arguments)
        found = []
        for i in range(self.result_count):
            info = ValueInfo()
            self.runtime.call("mxEntryGetResult", self.entry, i,
                              ctypes.byref(info))
            shape = (ctypes.c_int64 * max(1, info.rank))()
            self.runtime.call("mxEntryGetResultShape", self.entry, packed,
                              len(arguments), i, shape)
            found.append((tuple(shape[:info.rank]), info.dtype.decode()))
        return found

    def workspace_bytes(self, arguments):
        packed, _keep = self.pack(arguments)
        count = ctypes.c_size_t()
        self.runtime.call("mxEntryGetWorkspaceBytes", self.entry, packed,
                          len(arguments), ctypes.byref(count))
        return count.value

    def launch(self, arguments, results, workspace=None, workspace_bytes=0,
               stream=None):
        """Results and workspace are device addresses."""
        packed, _keep = self.pack(arguments)
        addresses = (ctypes.c_void_p * len(results))(*results)
        self.runtime.call("mxEntryLaunch", self.entry, packed, len(arguments),
                          addresses, len(results), ctypes.c_void_p(workspace),
                          ctypes.c_size_t(workspace_bytes),
                          ctypes.c_void_p(stream))
