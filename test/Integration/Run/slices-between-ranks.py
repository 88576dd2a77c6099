"""Tests collectives of slices with offsets or with gaps between rows. Each rank must receive the bytes of the NumPy
slice, on the reference path and on a simulated device, for tensors and memrefs.

RUN: env MX_CUDA_DRIVER=none %python %s mx-run %t
REQUIRES: compiler, numpy
"""

import numpy as np
from harness import Harness

test = Harness("mx_run", "folder", seed=1)
RANKS, TOKENS = 3, 4
PROGRAM = """
mx.group @ep size = 3 tokens = 4
!w = tensor<12x64xf32>
!part = memref<12x64xf32, strided<[128, 1], offset: 320>>
func.func @main(%x: tensor<8x64xf32>, %y: tensor<3x128xf32>, %z: tensor<16x64xf32>, %n: index, %ids: tensor<6x4xi32>) -> (!w, !w, !w, !w, tensor<12x2xi32>) {
  %w0 = mx.window @ep : !w
  %middle = tensor.extract_slice %x[2, 0] [%n, 64] [1, 1] : tensor<8x64xf32> to tensor<?x64xf32>
  %r0 = mx.all_gather @ep ins(%middle : tensor<?x64xf32>) outs(%w0 : !w) -> !w
  %w1 = mx.window @ep : !w
  %right = tensor.extract_slice %y[0, 64] [3, 64] [1, 1] : tensor<3x128xf32> to tensor<3x64xf32>
  %r1 = mx.all_gather @ep ins(%right : tensor<3x64xf32>) outs(%w1 : !w) -> !w
  %w2 = mx.window @ep : !w
  %last = tensor.extract_slice %z[4, 0] [12, 64] [1, 1] : tensor<16x64xf32> to !w
  %r2 = mx.all_to_all @ep ins(%last : !w) outs(%w2 : !w) -> !w
  %w3 = mx.window @ep : !w
  %first = tensor.extract_slice %z[0, 0] [12, 64] [1, 1] : tensor<16x64xf32> to !w
  %r3 = mx.all_to_all @ep ins(%first : !w) outs(%w3 : !w) -> !w
  %wi = mx.window @ep : tensor<12x2xi32>
  %some = tensor.extract_slice %ids[2, 1] [3, 2] [1, 2] : tensor<6x4xi32> to tensor<3x2xi32>
  %ri = mx.dispatch @ep experts = 3 ids(%some : tensor<3x2xi32>) ins() outs(%wi : tensor<12x2xi32>) -> tensor<12x2xi32>
  return %r0, %r1, %r2, %r3, %ri : !w, !w, !w, !w, tensor<12x2xi32>
}
func.func @memrefs(%z: memref<16x128xf32>, %out: memref<12x64xf32>) -> memref<12x64xf32> {
  %w = mx.window @ep : memref<12x64xf32>
  %part = memref.subview %z[2, 64] [12, 64] [1, 1] : memref<16x128xf32> to !part
  mx.all_to_all @ep ins(%part : !part) outs(%w : memref<12x64xf32>)
  return %w : memref<12x64xf32>
}
"""
sent = {name: [test.rng.standard_normal(shape).astype(np.float32) for _ in range(RANKS)]
        for name, shape in (("x", (8, 64)), ("y", (3, 128)), ("z", (16, 64)), ("wide", (16, 128)), ("out", (12, 64)))}
sent["ids"] = [test.rng.integers(0, 3, (6, 4)).astype(np.int32) for _ in range(RANKS)]
sent["n"] = [np.int64(n) for n in (4, 1, 0)]


def run(chip, entry, names, results):
    return test.run_ranks(RANKS, PROGRAM, [sent[name] for name in names], results, f"--entry={entry}", chip=chip)


def check_gathered(window, parts):
    for rank, part in enumerate(parts):
        test.expect(f"gathered from {rank}", window[rank * TOKENS:rank * TOKENS + len(part)], part)


def check_exchanged(window, rank, arrays):
    mine = slice(rank * TOKENS, (rank + 1) * TOKENS)
    test.expect(f"exchanged by {rank}", window, np.concatenate([array[mine] for array in arrays]))


for chip in test.select(("cpu", "sm_90a")):
    for rank, (r0, r1, r2, r3, ids) in enumerate(run(chip, "main", ("x", "y", "z", "n", "ids"), 5)):
        check_gathered(r0, [x[2:2 + n] for x, n in zip(sent["x"], sent["n"])])
        check_gathered(r1, [y[:, 64:] for y in sent["y"]])
        check_exchanged(r2, rank, [z[4:] for z in sent["z"]])
        check_exchanged(r3, rank, [z[:12] for z in sent["z"]])
        check_gathered(ids, [np.vstack([ids[2:5, 1::2], [[-1, -1]]]).astype(np.int32) for ids in sent["ids"]])
    for rank, found in enumerate(run(chip, "memrefs", ("wide", "out"), 3)):
        check_exchanged(found[0], rank, [z[2:14, 64:] for z in sent["wide"]])
test.finish(least=15000)
