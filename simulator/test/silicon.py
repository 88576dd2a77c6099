#!/usr/bin/env python3
"""Compares arithmetic bit by bit with an H200. Every instruction of
Inputs/instruction_set.py with register operands runs on 1024 sets of inputs, which
include edge cases. One hash per instruction represents the results of the GPU.

RUN: %python %s check %t
REQUIRES: numpy

silicon.py check DIR   run mx-sim, compare with Inputs/silicon.json.xz
silicon.py record DIR  run on a GPU of sm_90 instead (needs ptxas and a driver)
                       and write Inputs/silicon.json.xz anew
"""

import ctypes
import hashlib
import json
import lzma
import os
import random
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "Inputs"))
import instruction_set

GOLDEN = os.path.join(HERE, "Inputs", "silicon.json.xz")
FAMILIES = ["INTEGER", "VIDEO", "FLOAT", "CONVERT", "COMPARE", "MOVE"]
LANES = 1024
IN_KERNEL = 60

# Skip instructions that are not arithmetic, or approximate within an error bound.
SKIP = re.compile(
    r"approx|div\.full|clock|globaltimer|%pm|envreg|smid|gridid|\bsm\b|\bgl\b|cvta"
    r"|mapa|getcta|createpolicy|smem|graph|warpid|isspacep|%(n?tid|n?ctaid|n?cluster)")
# The assembler swaps the factors, so the result has the payload of the other NaN.
SWAPPED = re.compile(r"(add\.rm|mul\.rn|(fma|mad)\.(rz|rp))\.f64")
# The assembler's expansion differs from the ISA for unsigned 32-bit
# saturation, and for merging into the upper half.
EXPANDED = re.compile(r"v(add|sub|absdiff)\.u32\.\S*\.sat %r\d, %r\d, %r\d;"
                      r"|vshl\S*\.sat|v\w+\.u32\S* %r\d\.h1,")

EDGES = {
    16: [0, 1, 2, 0x7FFF, 0x8000, 0xFFFF, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE01,
         0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1,
         127, 128, 0x7F7F, 0xFF7F, 0x8001, 0x3555, 47, 255, 0x100],
    32: [0, 1, 2, 5, 8, 16, 24, 31, 32, 33, 63, 64, 127, 128, 255, 0x100, 0x7FFF, 0x8000, 0xFFFF,
         0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0xBF800000,
         0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF812345, 1,
         0x80000001, 0x7FFFFF, 0x800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F7FFFFF,
         0x3F800001, 0x4F000000, 0xCF000000, 0x4F800000, 0x5F000000, 0xDF000000,
         0x5F800000, 0x477FE000, 0x477FF000, 0x47800000, 0x33800000, 0x33000000,
         0x38800000, 0x387FC000, 0x42FE0000, 0x43E00000, 0x43E80001, 0xC3000000,
         0x7E800000, 0x7F000000, 0x400000, 0x3F000000, 0x40490FDB],
    64: [0, 1, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x3FF0000000000000,
         0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
         0xFFF8000000000001, 0x7FF0000000000001, 0xFFFFFFFFFFFFF, 0x10000000000000,
         0x7FEFFFFFFFFFFFFF, 0x36A0000000000000, 0x380FFFFFC0000000, 0x47EFFFFFE0000000,
         0x47EFFFFFEFFFFFFF, 0x43E0000000000000, 0x43F0000000000000, 0xC3E0000000000000,
         0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000, 0x40EFFFE000000000,
         0x3FF8000000000000, 0x4004000000000000, 32, 31],
}


def inputs():
    rng = random.Random(5)

    def scaled(low, high):
        return rng.uniform(-4, 4) * 2.0 ** rng.randrange(low, high)

    def value():
        kind = rng.randrange(8)
        if kind == 0:
            return rng.getrandbits(64)
        if kind == 1:
            return rng.choice(EDGES[64])
        if kind == 2:
            return rng.choice(EDGES[32]) | rng.choice(EDGES[32]) << 32
        if kind == 3:
            return sum(rng.choice(EDGES[16]) << 16 * k for k in range(4))
        if kind == 4:
            return struct.unpack("<Q", struct.pack("<d", scaled(-40, 66)))[0]
        if kind == 5:
            return struct.unpack("<Q", struct.pack("<ff", scaled(-30, 40), scaled(-8, 12)))[0]
        if kind == 6:
            return rng.randrange(-40, 300) & (2**64 - 1)
        return struct.unpack("<Q", struct.pack("<4e", *(scaled(-14, 12) for _ in range(4))))[0]

    return b"".join(struct.pack("<Q", value()) for _ in range(8 * LANES))


def instructions():
    for family in FAMILIES:
        for text in instruction_set.instructions(family):
            if not ("[" in text or SKIP.search(text) or SWAPPED.search(text)
                    or EXPANDED.search(text)):
                yield text


def kernel(number, texts):
    """Returns a kernel that fills the registers before each instruction and stores two results."""
    out = [f".visible .entry k{number}(.param .u64 in, .param .u64 out)",
           instruction_set.PROLOGUE,
           """  .reg .b64 %in, %out, %t, %v<8>; .reg .b32 %i, %j, %cc;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mov.u32 %cc, %tid.x;
  mad.lo.u32 %i, %i, %j, %cc; mul.wide.u32 %t, %i, 8;
  add.u64 %in, %in, %t; add.u64 %out, %out, %t;"""]
    out += [f"  ld.global.u64 %v{k}, [%in+{k * LANES * 8}];" for k in range(8)]
    for n, text in enumerate(texts):
        out += [f"  mov.b64 %d{k}, %v{k}; cvt.u32.u64 %r{k}, %v{k}; cvt.u16.u64 %h{k}, %v{k};"
                f" and.b64 %t, %v{k}, 1; setp.ne.u64 %p{k}, %t, 0; cvt.u8.u64 %b{k}, %v{k};"
                f" mov.b128 %q{k}, {{%v{k}, %v{(k + 1) % 8}}};" for k in range(8)]
        opcode, _, operands = text.partition(" ")
        if opcode.startswith(("addc", "madc")):
            out.append("  add.cc.u32 %cc, %i, 0xffffff00;")
        if opcode.startswith("subc"):
            out.append("  sub.cc.u32 %cc, %i, 100;")
        out.append("  " + text)
        results = re.findall(r"%[a-z]+\d", re.match(r"(\{[^}]*\}|[^,]+)", operands)[1])[:2]
        if ".cc" in opcode:
            out.append("  addc.u32 %cc, 0, 0;")
            results.append("%cc")
        for k, r in enumerate(results):
            move = {"p": f"selp.u64 %t, 1, 0, {r};", "h": f"cvt.u64.u16 %t, {r};",
                    "d": f"mov.b64 %t, {r};", "b": f"cvt.u64.u8 %t, {r};",
                    "q": f"mov.b128 {{%t, _}}, {r};"}.get(r[1], f"cvt.u64.u32 %t, {r};")
            at = ((number * IN_KERNEL + n) * 2 + k) * LANES * 8
            out.append(f"  {move} st.global.u64 [%out+{at}], %t;")
    return out + ["  ret;", "}"]


def simulate(directory, kernels, size):
    import numpy as np

    np.save(os.path.join(directory, "in.npy"), np.frombuffer(inputs(), dtype="<u8"))
    launch = {
        "buffers": {"in": {"file": "in.npy"}, "out": {"bytes": size, "fill": "zero"}},
        "launches": [{"kernel": k, "grid": [LANES // 128], "block": [128],
                      "args": [{"buffer": "in"}, {"buffer": "out"}]} for k in kernels],
        "outputs": {"out": "out.npy"}}
    with open(os.path.join(directory, "launch.json"), "w") as f:
        json.dump(launch, f)
    subprocess.run(["mx-sim", os.path.join(directory, "k.ptx"),
                    os.path.join(directory, "launch.json")], check=True)
    return np.load(os.path.join(directory, "out.npy")).tobytes()


def run_on_gpu(directory, kernels, size):
    cubin = os.path.join(directory, "k.cubin")
    subprocess.run(["ptxas", "-arch=sm_90a", "-O1", os.path.join(directory, "k.ptx"),
                    "-o", cubin], check=True)
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        status = getattr(cuda, name)(*args)
        if status:
            sys.exit(f"{name}: error {status}")

    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    with open(cubin, "rb") as f:
        call("cuModuleLoadData", ctypes.byref(module), f.read())
    data, a, b = inputs(), ctypes.c_uint64(), ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(a), ctypes.c_size_t(len(data)))
    call("cuMemAlloc_v2", ctypes.byref(b), ctypes.c_size_t(size))
    call("cuMemcpyHtoD_v2", a, data, ctypes.c_size_t(len(data)))
    call("cuMemsetD8_v2", b, 0, ctypes.c_size_t(size))
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(a), ctypes.addressof(b))
    for name in kernels:
        function = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        call("cuLaunchKernel", function, LANES // 128, 1, 1, 128, 1, 1, 0, None, arguments, None)
    call("cuCtxSynchronize")
    out = ctypes.create_string_buffer(size)
    call("cuMemcpyDtoH_v2", out, b, ctypes.c_size_t(size))
    return out.raw


def main():
    mode, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    texts = list(instructions())
    lines = [".version 9.0", ".target sm_90a", ".address_size 64"]
    kernels = []
    for begin in range(0, len(texts), IN_KERNEL):
        lines += kernel(len(kernels), texts[begin:begin + IN_KERNEL])
        kernels.append(f"k{len(kernels)}")
    with open(os.path.join(directory, "k.ptx"), "w") as f:
        f.write("\n".join(lines) + "\n")
    size = len(texts) * 2 * LANES * 8
    step = 2 * LANES * 8
    out = (run_on_gpu if mode == "record" else simulate)(directory, kernels, size)
    found = {text: hashlib.sha256(out[k * step:(k + 1) * step]).hexdigest()[:12]
             for k, text in enumerate(texts)}
    if mode == "record":
        with lzma.open(GOLDEN, "wt") as f:
            json.dump(found, f, indent=0)
        return
    with lzma.open(GOLDEN) as f:
        golden = json.load(f)
    wrong = [text for text, digest in found.items() if golden.get(text) != digest]
    print(f"{len(found) - len(wrong)} of {len(found)} instructions equal the GPU")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
