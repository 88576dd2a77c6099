#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host time of a call from C, from Python, and of torch.mm for comparison.

usage: host_time.py [--device=auto] [--count=1000] [--cc=cc]

The function is a bf16 matmul with MXFP8 weights: one kernel with three tensor maps. On a GPU
the arrays are PyTorch tensors, small enough that the GPU always waits for the host. On the
simulator the arrays have no rows, so nothing is launched and only mx's own host time remains.
Prints the fastest of seven repetitions in microseconds. Exits with 1 if a limit is exceeded on
a GPU: 5 us from C for repeated calls, 1.5 times torch.mm from Python."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import mx_compiler as mx
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
M, N, K = 128, 256, 256
SCALES = (N // 128, K // 128, 32, 4, 4)
TEXT = """
!x = tensor<?x${k}xbf16>
!w = tensor<${n}x${k}xf8E4M3FN>
!s = tensor<${n}x${blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x: !x, %w: !w, %s: !s) -> tensor<?x${n}xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : !x
  %init = tensor.empty(%m) : tensor<?x${n}xbf16>
  %y = mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%init : tensor<?x${n}xbf16>) -> tensor<?x${n}xbf16>
  return %y : tensor<?x${n}xbf16>
}
"""


# Cases of host_time.c. A call on new addresses also encodes tensor maps in the driver.
FROM_C = {"equal": "the same again", "turns": "two in turns",
          "entries": "8 programs in turns", "new": "on new places"}
LIMITED = ("equal", "turns", "entries")


def measure(call, count, wait):
    call()
    wait()
    rows = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        rows.append((time.perf_counter() - begin) / count * 1e6)
        wait()
    return min(rows)


def measure_c(program, args, rows):
    """Runs host_time.c with the same runtime. Returns microseconds by case, or nothing without
    a C compiler."""
    if not shutil.which(args.cc):
        return {}
    runtime = pathlib.Path(mx.library.candidates()[0]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        program.save(f"{folder}/program")
        source = pathlib.Path(__file__).with_suffix(".c")
        subprocess.run([args.cc, "-O2", source, f"-I{ROOT}/runtime/include", runtime,
                        f"-Wl,-rpath,{runtime.parent}", "-o", f"{folder}/host_time"],
                       check=True)
        shapes = [(rows, K), (N, K), SCALES]
        done = subprocess.run(
            [f"{folder}/host_time", f"{folder}/program", mx.device_name(),
             str(args.count), *("x".join(map(str, s)) for s in shapes)],
            check=True, capture_output=True, text=True)
    return {what: float(time) for what, time in map(str.split, done.stdout.splitlines())}


def report(what, microseconds):
    print(f"{what:44}{microseconds:8.2f} us")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--cc", default="cc")
    args = parser.parse_args()
    mx.set_device(args.device)
    program = mx.compile(TEXT, n=N, k=K, blocks=K // 32)
    main_entry, info = program["main"], mx.device_info()
    print(f"{info.name}, {args.count} calls in a row")
    is_gpu = info.kind == "cuda"
    c = measure_c(program, args, M if is_gpu else 0)
    for name, what in FROM_C.items():
        if c:
            report(f"launch from C, {what}", c[name])
    if not c:
        print("no C compiler found")
    if not is_gpu:
        arrays = [mx.empty((0, K), ml_dtypes.bfloat16),
                  mx.array(np.zeros((N, K), ml_dtypes.float8_e4m3fn)),
                  mx.array(np.zeros(SCALES, ml_dtypes.float8_e8m0fnu))]
        results = main_entry.make_results(*arrays)
        report("launch from Python into results",
               measure(lambda: main_entry.launch(arrays, results), args.count,
                       mx.synchronize))
        report("call from Python",
               measure(lambda: main_entry(*arrays), args.count, mx.synchronize))
        return 0
    import torch
    device = mx.device_name()
    x = torch.ones((M, K), dtype=torch.bfloat16, device=device)
    w = torch.ones((N, K), device=device).to(torch.float8_e4m3fn)
    s = torch.full(SCALES, 127, dtype=torch.uint8, device=device)
    y, = main_entry(x, w, s)
    assert torch.all(y == K), "the matmul is wrong"
    dense = torch.ones((K, N), dtype=torch.bfloat16, device=device)
    results = [torch.empty_like(y)]
    report("launch from Python into results",
           measure(lambda: main_entry.launch((x, w, s), results), args.count,
                   torch.cuda.synchronize))
    python = measure(lambda: main_entry(x, w, s), args.count, torch.cuda.synchronize)
    report("call from Python", python)
    q = mx.Quantized(w, s, (N, K), mx.FORMATS["mxfp8"])
    function = measure(lambda: mx.matmul(x, q), args.count, torch.cuda.synchronize)
    report("mx.matmul", function)
    mm = measure(lambda: torch.mm(x, dense), args.count, torch.cuda.synchronize)
    report("torch.mm", mm)
    print(f"{'call from Python to torch.mm':44}{python / mm:8.2f}")
    print(f"{'mx.matmul to torch.mm':44}{function / mm:8.2f}")
    return int(any(c[name] > 5 for name in LIMITED if c) or max(python, function) > 1.5 * mm)


if __name__ == "__main__":
    sys.exit(main())
