"""Runs mx-run with several ranks. One rank causes all other ranks to fail. The process ends in time, with a message
that names the rank, the entry and the collective, on the reference path and on a simulated device.

RUN: env MX_CUDA_DRIVER=none %python %s mx-run %t
REQUIRES: compiler, numpy
"""

import resource
import subprocess
import sys
import time

import numpy as np
from work_folder import enter, write

mx_run, work = sys.argv[1:]
enter(work)
CPU, SIM = ["--device=cpu"], ["--device=sim", "--chip=sm_90a"]


def run(program, ranks, device, *arguments, descriptors=None):
    def limit():
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    begin = time.time()
    done = subprocess.run([mx_run, program, f"--ranks={ranks}", *device, *arguments], capture_output=True, text=True,
                          preexec_fn=limit, timeout=120)
    return done.returncode, done.stderr.strip(), time.time() - begin


def expect(found, status, *texts):
    assert found[0] == status and found[1] in texts, f"expected {status} and one of {texts}, found {found}"


# A rank that computes for a very long time: a random generator with a huge step count.
write("slow.mlir", """mx.group @ep size = 3 tokens = 1
func.func @forward(%x: tensor<1x4xf32>, %n: index) -> (tensor<3x4xf32>, tensor<3x4xf32>, i64) {
  %w0 = mx.window @ep : tensor<3x4xf32>
  %a = mx.all_gather @ep ins(%x : tensor<1x4xf32>) outs(%w0 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seed = arith.constant 88172645463325252 : i64
  %c13 = arith.constant 13 : i64
  %c7 = arith.constant 7 : i64
  %state = scf.for %i = %c0 to %n step %c1 iter_args(%s = %seed) -> i64 {
    %s1 = arith.shli %s, %c13 : i64
    %s2 = arith.xori %s, %s1 : i64
    %s3 = arith.shrui %s2, %c7 : i64
    %s4 = arith.xori %s2, %s3 : i64
    scf.yield %s4 : i64
  }
  %number = arith.sitofp %state : i64 to f32
  %first = tensor.insert %number into %x[%c0, %c0] : tensor<1x4xf32>
  %w1 = mx.window @ep : tensor<3x4xf32>
  %b = mx.all_gather @ep ins(%first : tensor<1x4xf32>) outs(%w1 : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %a, %b, %state : tensor<3x4xf32>, tensor<3x4xf32>, i64
}
""")
np.save("x.npy", np.ones((1, 4), np.float32))
for rank, steps in enumerate((0, 1 << 50, 5)):
    np.save(f"n-{rank}.npy", np.int64(steps))
slow = ["--entry=forward", "--arg=x.npy", "--arg=n-{rank}.npy"]
found = run("slow.mlir", 3, CPU, *slow, "--timeout=0.5")
expect(found, 1, *(f"mx-run: rank {rank}: entry 'forward': all_gather, collective 2 of @forward: rank 1 did not arrive "
                   "(waited 0.5 s)" for rank in (0, 2)))
assert found[2] < 60, found
np.save("n-1.npy", np.int64(7))
assert run("slow.mlir", 3, CPU, *slow, "--timeout=100")[0] == 0
for value, shown in ("0", "0"), ("-1", "-1"), ("2e6", "2e+06"), ("nan", "nan"):
    expect(run("slow.mlir", 3, CPU, *slow, f"--timeout={value}"), 2,
           f"mx-run: --timeout: expected more than 0 and at most a million seconds, found {shown}")

# If a rank refuses the data, both paths print the same message.
write("many.mlir", """mx.group @ep size = 2 tokens = 4
func.func @main(%x: tensor<?x8xf32>) -> tensor<8x8xf32> {
  %w = mx.window @ep : tensor<8x8xf32>
  %y = mx.all_gather @ep ins(%x : tensor<?x8xf32>) outs(%w : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
""")
for rank, rows in enumerate((4, 5)):
    np.save(f"rows-{rank}.npy", np.ones((rows, 8), np.float32))
for device in CPU, SIM:
    expect(run("many.mlir", 2, device, "--arg=rows-{rank}.npy"), 2,
           "mx-run: rank 1: entry 'main': many.mlir:4:8: expected at most 4 tokens per rank of group ep, found 5")

# If the ranks need too many file descriptors, an error is reported at once. The reference path needs no descriptors.
COUNT = 20
write("wide.mlir", f"""mx.group @ep size = {COUNT} tokens = 1
func.func @main(%x: tensor<1x4xf32>) -> tensor<{COUNT}x4xf32> {{
  %w = mx.window @ep : tensor<{COUNT}x4xf32>
  %y = mx.all_gather @ep ins(%x : tensor<1x4xf32>) outs(%w : tensor<{COUNT}x4xf32>) -> tensor<{COUNT}x4xf32>
  return %y : tensor<{COUNT}x4xf32>
}}
""")
found = run("wide.mlir", COUNT, SIM, "--arg=x.npy", descriptors=200)
expect(found, 2, *(f"mx-run: rank {rank}: group ep: expected at least {COUNT * (2 * COUNT + 1) + 16} file descriptors in the "
                   f"process of rank 0, which has {COUNT} of the {COUNT} ranks, found a limit of 200: raise the limit "
                   "(ulimit -n), or start ranks in several processes" for rank in range(COUNT)))
assert run("wide.mlir", COUNT, CPU, "--arg=x.npy", descriptors=200)[0] == 0
print("right")
