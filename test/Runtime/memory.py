"""Checks the library on a host with little address space: a failed allocation is an error of that call, and the next
call works.

RUN: %python %s %mx_libs/libmx_runtime%shlibext %mx_src/runtime/test/kernels.ptx %t
UNSUPPORTED: sanitizers
"""

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
from ctypes import byref, c_int64, c_size_t, c_void_p

library, kernels, work = sys.argv[1:4]
OUT_OF_MEMORY = 3
HEAD = b".version 8.8\n.target sm_100a\n.address_size 64\n"


class Config(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("grid", c_int64 * 3), ("block", c_int64 * 3), ("cluster", c_int64 * 3),
                ("shared", c_int64), ("stream", c_void_p), ("flags", ctypes.c_int32)]


def limit(mebibytes):
    """Limits further growth of this process to `mebibytes`."""
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20), -1))


def ok(mx, status):
    assert status == 0, (status, mx.mxGetLastError())


def load(mx, text):
    module = c_void_p()
    return mx.mxModuleLoad(byref(module), text, c_size_t(len(text)), b"k.ptx"), module


def launch(mx, module, name, grid, block, *values):
    function = c_void_p()
    ok(mx, mx.mxModuleGetFunction(byref(function), module, name))
    config = Config(ctypes.sizeof(Config), (grid, 1, 1), (block, 1, 1))
    pointers = (c_void_p * (len(values) + 1))(*(ctypes.cast(byref(v), c_void_p) for v in values))
    return mx.mxLaunch(function, byref(config), pointers, c_int64(len(values)))


def fails(mx, status):
    assert status == OUT_OF_MEMORY == mx.mxGetLastStatus(), (status, mx.mxGetLastError())
    assert b"out of memory" in mx.mxGetLastError(), mx.mxGetLastError()
    mx.mxClearError()


def works(mx):
    """Checks every byte of a kernel with many blocks."""
    text = open(kernels, "rb").read()
    status, module = load(mx, text)
    ok(mx, status)
    n = 8192
    memory = [c_void_p() for _ in range(3)]
    ones, sums = (ctypes.c_float * n)(*[1.0] * n), (ctypes.c_float * n)()
    for buffer in memory:
        ok(mx, mx.mxMemAlloc(byref(buffer), c_size_t(n * 4)))
        ok(mx, mx.mxMemcpyToDevice(buffer, ones, c_size_t(n * 4), None))
    ok(mx, launch(mx, module, b"vector_add", 64, 128, *memory, ctypes.c_uint32(n)))
    ok(mx, mx.mxMemcpyToHost(sums, memory[2], c_size_t(n * 4), None))
    assert list(sums) == [2.0] * n
    for buffer in memory:
        ok(mx, mx.mxMemFree(buffer))
    ok(mx, mx.mxModuleUnload(module))


def local(mx):
    """Requests 256 MiB of local memory for a block of 1024 threads."""
    status, module = load(mx, HEAD + b".visible .entry k() { .local .b8 a[262144];\n"
                      b".reg .b64 %rd1; mov.u64 %rd1, a; st.local.u8 [%rd1], 1; ret; }\n")
    ok(mx, status)
    limit(64)
    fails(mx, launch(mx, module, b"k", 1, 1024))
    fails(mx, launch(mx, module, b"k", 64, 1024))


def registers(mx):
    """Declares 100,000 64-bit registers. Each needs 256 bytes in each of a block's 32 warps."""
    uses = b"".join(b"mov.b64 %%rd%d, 1;\n" % i for i in range(100000))
    status, module = load(mx, HEAD + b".visible .entry k() { .reg .b64 %rd<100000>;\n" + uses + b"ret; }\n")
    ok(mx, status)
    limit(64)
    fails(mx, launch(mx, module, b"k", 1, 1024))


def text(mx):
    """Loads a module that is too large to copy."""
    module = HEAD + b"//" + b" " * (256 << 20) + b"\n.visible .entry k() { ret; }\n"
    limit(64)
    fails(mx, load(mx, module)[0])


def parsing(mx):
    """Loads a module with parts larger than its text."""
    module = HEAD + b".visible .entry k() {\n" + b"add.u32 %r1, %r1, 1;\n" * 500000 + b"ret; }\n"
    limit(64)
    fails(mx, load(mx, module.replace(b"{\n", b"{ .reg .b32 %r<2>;\n", 1))[0])


def manifest(mx):
    """Loads a manifest with many values, and with many nested arrays."""
    for name, value in ("values", [["mul", 1, 2]] * 1000000), ("steps", [[]] * 3000000):
        os.makedirs(name)
        with open(name + "/manifest.json", "w") as file:
            json.dump({"format": 2, "target": "sm_100a", "ptx": "k.ptx", "kernels": [],
                       "entries": [{"name": "e", name: value}]}, file)
    del value
    limit(64)
    for name in b"values", b"steps":
        fails(mx, mx.mxProgramLoad(byref(c_void_p()), name))


def threads(mx):
    """Limits address space so only the stack of one thread (1 GiB) fits. One thread suffices."""
    limit(512)
    works(mx)


def large_stacks():
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))


CASES = local, registers, text, parsing, manifest, threads
if len(sys.argv) > 4:
    os.environ.update(MX_DEVICE="sim", MX_CUDA_DRIVER="/no/such/libcuda.so")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mx = ctypes.CDLL(library)
    mx.mxGetLastError.restype = ctypes.c_char_p
    mx.mxSetErrorPolicy(1)
    if sys.argv[4] != "threads":
        works(mx)
    globals()[sys.argv[4]](mx)
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    works(mx)
    sys.exit()

shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
wrong = []
for case in CASES:
    done = subprocess.run([sys.executable, os.path.abspath(__file__), os.path.abspath(library),
                           os.path.abspath(kernels), work, case.__name__],
                          cwd=work, capture_output=True, text=True,
                          preexec_fn=large_stacks if case is threads else None)
    if done.returncode:
        wrong.append(f"{case.__name__}: {done.returncode}: {done.stdout}{done.stderr}")
sys.exit("\n".join(wrong) or 0)
