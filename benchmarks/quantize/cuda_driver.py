# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a cubin through the CUDA driver, in the primary context."""

import ctypes


class Driver:

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def use_primary_context(self):
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)


class Module:

    def __init__(self, driver, path):
        self.driver, self.functions = driver, {}
        self.module = ctypes.c_void_p()
        with open(path, "rb") as file:
            image = file.read()
        driver.call("cuModuleLoadData", ctypes.byref(self.module), image)

    def function(self, name):
        if name not in self.functions:
            function = ctypes.c_void_p()
            self.driver.call("cuModuleGetFunction", ctypes.byref(function),
                             self.module, name.encode())
            self.functions[name] = function
        return self.functions[name]

    def launch(self, name, grid, threads, arguments, stream=None):
        """Launches a kernel; `arguments` are ctypes values."""
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.addressof(a) for a in arguments])
        self.driver.call("cuLaunchKernel", self.function(name), grid, 1, 1,
                         threads, 1, 1, 0, ctypes.c_void_p(stream), pointers,
                         None)
