#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tables from CUDA's headers: the names of errors, the first CUDA of each version of a
function, and a definition of each function that the library does not define itself.

    generate.py INCLUDE OUTPUT    # writes OUTPUT/{Errors,Versions}.inc and OUTPUT/Missing.c

Missing functions are weak, so the library's own replace them. Variants for a default stream of each
thread (_ptsz, _ptds) jump to the function itself."""

import pathlib
import re
import sys

JUMP = r"""#if defined(__x86_64__)
#define JUMP(to) "jmp " to "@PLT"
#elif defined(__aarch64__)
#define JUMP(to) "b " to
#endif
#define SAME(name, to) __asm__(".globl " name "\n.type " name ", %function\n" name ": " JUMP(to))
#define STUB(name, call) __attribute__((weak, visibility("default"))) int name(void) { return call(#name); }
int mxSimMissing(const char *name), mxSimNothing(const char *name);
"""
# Functions without effect on the simulator, in all versions.
NOTHING = """
    cuCtxSetCacheConfig cuDevicePrimaryCtxRelease cuDevicePrimaryCtxSetFlags cuFuncSetCacheConfig
    cuFuncSetSharedMemConfig cuGraphUpload cuInit cuMemAdvise cuMemPrefetchAsync cuMemUnmap cuProfilerStart
    cuProfilerStop cuStreamAttachMemAsync cuThreadExchangeStreamCaptureMode cudaCtxResetPersistingL2Cache
    cudaDeviceGraphMemTrim cudaDeviceSetCacheConfig cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig cudaGraphUpload
    cudaMemAdvise cudaMemPoolSetAccess cudaMemPoolTrimTo cudaMemPrefetchAsync cudaProfilerStart cudaProfilerStop
    cudaSetDeviceFlags cudaSetValidDevices cudaStreamAttachMemAsync cudaThreadExchangeStreamCaptureMode
""".split()


def main():
    include, output = map(pathlib.Path, sys.argv[1:])
    text = "".join(re.sub(r"/\*.*?\*/", "", path.read_text(errors="replace"), flags=re.S)
                   for path in sorted(include.glob("cuda*.h")))
    names = set(re.findall(r"\b(?:CUresult\s+CUDAAPI|cudaError_t\s+CUDARTAPI)\s+(cu\w+)\s*\(", text))
    names |= set(re.findall(r"#define cu\w+ +(?:__CUDA_API_PT[SD][ZS]\()?(cu\w+)", text))
    threads = set(re.findall(r"__CUDA(?:RT)?_API_PT(SZ|DS)\((cu\w+)\)", text))
    names |= {name for _, name in threads}
    same = {f"{name}_pt{suffix.lower()}": name for suffix, name in threads}
    same["__cudaLaunchKernel_ptsz"] = "__cudaLaunchKernel"
    same["cudaLaunchKernelEx"] = "cudaLaunchKernelExC"  # name of CuTe DSL
    names = {name for name in names if re.fullmatch(r"cu(da)?[A-Z]\w*", name)} - same.keys()
    lines = [f"STUB({name}, mxSim{'Nothing' if re.sub('_v[0-9]$', '', name) in NOTHING else 'Missing'})"
             for name in sorted(names)]
    lines += [f'SAME("{name}", "{to}");' for name, to in sorted(same.items())]
    (output / "Missing.c").write_text(JUMP + "\n".join(lines) + "\n")

    versions = {}
    for name, number in re.findall(r"\bPFN_(cu\w+?)_v(\d+)\)", (include / "cudaTypedefs.h").read_text(errors="replace")):
        versions.setdefault(name, set()).add(int(number))
    (output / "Versions.inc").write_text("".join(f'{{"{name}_v{place}", {number}}},\n' for name, found in versions.items()
                                                 for place, number in enumerate(sorted(found), 1) if place > 1))

    types = (include / "driver_types.h").read_text(errors="replace")
    codes = {int(number): [f'"{name}"', "0", name]
             for name, number in re.findall(r"\b(CUDA_(?:SUCCESS|ERROR_\w+)) *= *(\d+)", text)}
    for name, number in re.findall(r"\b(cuda(?:Success|Error\w+)) *= *(\d+)", types):
        entry = codes.setdefault(int(number), ["0", "0", name])
        entry[1], entry[2] = f'"{name}"', name
    words = {number: re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removeprefix("cudaError").removeprefix("cuda")).lower()
             .removeprefix("cuda_error_").replace("_", " ") for number, (_, _, name) in codes.items()}
    words[0] = "no error"
    (output / "Errors.inc").write_text("".join(
        f'{{{number}, {a}, {b}, "{words[number]}"}},\n' for number, (a, b, _) in sorted(codes.items())))


if __name__ == "__main__":
    main()
