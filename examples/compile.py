#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles text in this process and runs it: mx-c/Compiler.h through ctypes, then the
package mx (docs/Python.md).

    PYTHONPATH=PREFIX/lib/python python3 examples/compile.py PREFIX/lib/libMXCAPI.so

docs/Embedding.md explains the library."""

import argparse
import ctypes
import tempfile
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

import mx
import numpy as np

TEXT = """
func.func @main(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %empty = tensor.empty(%m) : tensor<?x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                      affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>)
      outs(%zeros : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
"""

MESSAGE = CFUNCTYPE(None, c_int, c_char_p, c_void_p)
FUNCTIONS = {
    "mxcGetVersion": (c_char_p, []),
    "mxcContextCreate": (c_void_p, [MESSAGE, c_void_p]),
    "mxcContextDestroy": (None, [c_void_p]),
    "mxcModuleParse": (c_void_p, [c_void_p, c_char_p, c_size_t, c_char_p]),
    "mxcModuleDestroy": (None, [c_void_p]),
    "mxcModuleRunPasses": (c_int, [c_void_p, c_char_p]),
    "mxcCompile": (c_int, [POINTER(c_void_p), c_void_p, c_void_p]),
    "mxcCompiledWrite": (c_int, [c_void_p, c_char_p]),
    "mxcCompiledDestroy": (None, [c_void_p]),
}


class Compiler:
    """A context of libMXCAPI. Its errors become exceptions with its messages."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        self.messages = []
        # Kept for as long as C may call it.
        self.tell = MESSAGE(lambda severity, text, user: self.messages.append(text.decode()))
        self.context = self.check(self.library.mxcContextCreate(self.tell, None))

    def check(self, handle):
        if not handle:
            raise RuntimeError("\n".join(self.messages))
        return handle

    def compile(self, text, pipeline, directory):
        library, source = self.library, text.encode()
        self.messages.clear()
        compiled = c_void_p()
        module = self.check(
            library.mxcModuleParse(self.context, source, len(source), b"text"))
        try:
            self.check(library.mxcModuleRunPasses(module, pipeline.encode()) == 0)
            self.check(library.mxcCompile(byref(compiled), module, None) == 0)
            self.check(library.mxcCompiledWrite(compiled, directory.encode()) == 0)
        finally:
            library.mxcCompiledDestroy(compiled)
            library.mxcModuleDestroy(module)

    def close(self):
        self.library.mxcContextDestroy(self.context)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--device", default="sim")
    args = parser.parse_args()
    compiler = Compiler(args.library)
    mx.set_device(args.device)
    with tempfile.TemporaryDirectory() as directory:
        compiler.compile(TEXT, "builtin.module(mx-quantize-matmuls)", directory)
        x = np.ones((4, 64), np.float32) * [[1], [2], [3], [4]]
        w = np.ones((32, 64), np.float32)
        bits = [(a.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for a in (x, w)]
        with mx.Program(directory) as program:
            y, = program["main"](*bits)
        print("right" if (y == x @ w.T).all() else y)
    try:
        compiler.compile("func.func @f() { return 1 }", "builtin.module()", "none")
    except RuntimeError as error:
        print(error)
    compiler.close()


main()
