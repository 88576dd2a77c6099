# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether this installation works: compiles small programs, runs them, and
compares the results with NumPy.

    python -m mx.selftest [--device=sim|cuda|cuda:N]
    python -m mx.selftest --write=DIR      # compile only, for another machine
    python -m mx.selftest --program=DIR    # run what --write made

Without --device it uses the simulator, then the GPU if there is one. Without a
compiler it tests the runtime, and with --program a compiled program. Exit
status 1 if something is wrong."""

import argparse
import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int,
                    c_int32, c_size_t, c_void_p)

import ml_dtypes
import numpy as np

import mx

# Rows of X, with a scale for 32 numbers. Tensor cores read scales in a layout.
_QUANTIZE = """
  %{0}_rows = tensor.dim %{0}, %c0 : tensor<?x?xbf16>
  %{0}_elements = tensor.empty(%{0}_rows, %k) : tensor<?x?xf8E4M3FN>
  %{0}_scales = tensor.empty(%{0}_rows, %blocks) : {1}
  %{0}q:2 = mx.quantize ins(%{0} : tensor<?x?xbf16>)
      outs(%{0}_elements, %{0}_scales : tensor<?x?xf8E4M3FN>, {1})
      -> tensor<?x?xf8E4M3FN>, {1}
"""
_SIZES = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %k = tensor.dim %x, %c1 : tensor<?x?xbf16>
  %blocks = arith.divui %k, %c32 : index
"""
SOURCE = f"""
!scales = tensor<?x?xf8E8M0FNU>
!tiles = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func @quantize(%x: tensor<?x?xbf16>) -> (tensor<?x?xf8E4M3FN>, !scales) {{
{_SIZES}
{_QUANTIZE.format("x", "!scales")}
  return %xq#0, %xq#1 : tensor<?x?xf8E4M3FN>, !scales
}}

func.func @matmul(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>) -> tensor<?x?xf32> {{
{_SIZES}
{_QUANTIZE.format("x", "!tiles")}
{_QUANTIZE.format("w", "!tiles")}
  %init = tensor.empty(%x_rows, %w_rows) : tensor<?x?xf32>
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1
                     : tensor<?x?xf8E4M3FN>, !tiles, tensor<?x?xf8E4M3FN>, !tiles)
      outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}}
"""

# --- The compiler, in this process ---------------------------------------------

_MESSAGE = CFUNCTYPE(None, c_int, c_char_p, c_void_p)


class _Options(Structure):  # mxcCompileOptions
    _fields_ = [("chip", c_char_p), ("entries", POINTER(c_char_p)),
                ("entry_count", c_size_t), ("ptxas", c_char_p),
                ("prefix", c_char_p), ("no_fusion", c_int32)]


_FUNCTIONS = {
    "mxcContextCreate": (c_void_p, [_MESSAGE, c_void_p]),
    "mxcContextDestroy": (None, [c_void_p]),
    "mxcModuleParse": (c_void_p, [c_void_p, c_char_p, c_size_t, c_char_p]),
    "mxcModuleDestroy": (None, [c_void_p]),
    "mxcCompile": (c_int, [POINTER(c_void_p), c_void_p, POINTER(_Options)]),
    "mxcCompiledWrite": (c_int, [c_void_p, c_char_p]),
    "mxcCompiledDestroy": (None, [c_void_p]),
}


def _compile(text, chip, directory):
    """Compiles text to a directory. Raises ImportError without a compiler, and
    RuntimeError with the compiler's messages."""
    library = ctypes.CDLL(mx.library.compiler_path())
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    messages = []
    # A name: C may call it for as long as there is the context.
    tell = _MESSAGE(lambda severity, text, user: messages.append(text.decode()))

    def check(isRight):
        if not isRight:
            raise RuntimeError("\n".join(messages))
        return isRight

    source = text.encode()
    with contextlib.ExitStack() as stack:
        context = check(library.mxcContextCreate(tell, None))
        stack.callback(library.mxcContextDestroy, context)
        module = check(library.mxcModuleParse(context, source, len(source),
                                              b"selftest"))
        stack.callback(library.mxcModuleDestroy, module)
        compiled = c_void_p()
        options = _Options(chip=chip.encode())
        check(library.mxcCompile(byref(compiled), module, options) == 0)
        stack.callback(library.mxcCompiledDestroy, compiled)
        check(library.mxcCompiledWrite(compiled, os.fsencode(directory)) == 0)


# --- What programs have to compute, in float64 ----------------------------------

BLOCK, LARGEST = 32, 448.0  # of f8E4M3FN


def _quantize(x):
    """Values, elements and scales (as bits) of rows of X: the scale of a block is
    the smallest power of two with which nothing is beyond the largest element,
    and elements are rounded to nearest even."""
    blocks = x.astype(np.float64).reshape(x.shape[0], -1, BLOCK)
    ratio = np.abs(blocks).max(axis=-1) / LARGEST
    mantissa, exponent = np.frexp(ratio)
    exponent = exponent - (mantissa == 0.5)  # of the next power of two
    scale = np.ldexp(1.0, exponent)[..., None]
    elements = (blocks / scale).astype(ml_dtypes.float8_e4m3fn)
    values = elements.astype(np.float64) * scale
    return (values.reshape(x.shape), elements.reshape(x.shape).view(np.uint8),
            (exponent + 127).astype(np.uint8))


def _matrix(rng, rows, columns):
    """Blocks of very different sizes, as bf16 and its bits."""
    sizes = np.repeat(2.0 ** rng.integers(-12, 12, (rows, columns // BLOCK)),
                      BLOCK, axis=1)
    x = (rng.standard_normal((rows, columns)) * sizes).astype(ml_dtypes.bfloat16)
    return x, x.view(np.uint16)


# --- Checks: each raises an exception where something is wrong -------------------


def _expect(isRight, text):
    if not isRight:
        raise AssertionError(text)


def check_memory():
    """Copies to the device and back."""
    x = np.arange(1000, dtype=np.float32).reshape(10, 100)
    with mx.Stream() as stream:
        found = mx.array(x, stream).numpy(stream=stream)
    _expect(np.array_equal(x, found), "memory that was copied to the device and "
            "back is not the same")


def check_quantize(program):
    """Every bit of elements and scales."""
    x, bits = _matrix(np.random.default_rng(1), 100, 256)
    _, elements, scales = _quantize(x)
    found = program["quantize"](bits)
    for name, expected, array in zip(("elements", "scales"), (elements, scales), found):
        wrong = expected != array.view(np.uint8)
        _expect(not wrong.any(), f"{wrong.sum()} of {wrong.size} {name} are not "
                "as NumPy computes them")


def check_matmul(program):
    """Products of quantized matrices, against float64."""
    rng = np.random.default_rng(2)
    (x, x_bits), (w, w_bits) = _matrix(rng, 70, 256), _matrix(rng, 90, 256)
    a, b = _quantize(x)[0], _quantize(w)[0]
    found, = program["matmul"](x_bits, w_bits)
    # Each of K additions may round once, relative to all terms.
    bound = a.shape[1] * 2.0**-23 * (np.abs(a) @ np.abs(b).T)
    wrong = ~(np.abs(found - a @ b.T) <= bound)
    _expect(not wrong.any(), f"{wrong.sum()} of {wrong.size} products are beyond "
            "their bound of float64's")


def check_threads(program):
    """Calls from threads, each on a stream of its own."""
    rng = np.random.default_rng(3)
    inputs = [_matrix(rng, 64, 128) for _ in range(4)]
    found = [None] * len(inputs)

    def run(index):
        entry = program["quantize"]
        with mx.Stream() as stream:
            x = mx.array(inputs[index][1], stream)
            results = entry.make_results(x)
            entry.launch([x], results, entry.make_workspace(x), stream)
            found[index] = [r.numpy(stream=stream) for r in results]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (x, _), results in zip(inputs, found):
        _expect(results is not None, "a thread ended without results")
        for expected, array in zip(_quantize(x)[1:], results):
            _expect(np.array_equal(expected, array.view(np.uint8)),
                    "results of threads are not as NumPy computes them")


def check_messages(chip):
    """What is wrong with a text is told with its place."""
    try:
        _compile("func.func @f() {\n  return 1\n}", chip, os.devnull)
    except RuntimeError as error:
        _expect(str(error).startswith("selftest:2:"), "expected a message with a "
                f"place in the text, found '{error}'")
    else:
        raise AssertionError("a wrong text was compiled")


# --- Running them ----------------------------------------------------------------


def _run(name, check, *arguments):
    try:
        check(*arguments)
    except Exception as error:
        if not isinstance(error, AssertionError):
            traceback.print_exc()
        print(f"{name}: FAILED: {error}", flush=True)
        return False
    print(f"{name}: passed", flush=True)
    return True


def _chip():
    """What to compile for: the GPU, or what the simulator is."""
    info = mx.device_info()
    if info.kind == "sim":
        return "sm_100a"
    major, minor = info.capability
    return f"sm_{major}{minor}a"


def run_checks(device, directory):
    """All checks on one device; whether they passed."""
    mx.set_device(device)
    info = mx.device_info()
    print(f"mx {mx.__version__} on {info.kind}: {info.name}", flush=True)
    passed = _run("memory", check_memory)
    with tempfile.TemporaryDirectory() as temporary:
        if directory is None:
            try:
                mx.library.compiler_path()
            except ImportError:
                print("compile: left out, this installation has no compiler")
                return passed
            directory = os.path.join(temporary, "program")
            if not _run("compile", _compile, SOURCE, _chip(), directory):
                return False
            passed &= _run("messages", check_messages, _chip())
        with mx.Program(directory) as program:
            for name, check in (("quantize", check_quantize),
                                ("matmul", check_matmul),
                                ("threads", check_threads)):
                passed &= _run(name, check, program)
    return passed


def _has_gpu():
    """Whether NVIDIA's driver is there, with a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = c_int()
    return (driver.cuInit(0) == 0 and driver.cuDeviceGetCount(byref(count)) == 0
            and count.value > 0)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m mx.selftest", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--chip", default="sm_100a", help="of --write")
    parser.add_argument("--write", metavar="DIR")
    parser.add_argument("--program", metavar="DIR")
    args = parser.parse_args()
    if args.write:
        _compile(SOURCE, args.chip, args.write)
        return 0
    passed = run_checks(args.device or "sim", args.program)
    # A process has one device.
    if not args.device and not args.program and _has_gpu():
        passed &= subprocess.run(
            [sys.executable, "-m", "mx.selftest", "--device=cuda"]).returncode == 0
    print("selftest: " + ("passed" if passed else "FAILED"))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
