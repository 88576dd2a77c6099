// Each kind of bad input causes one message and exit status 2.
//
// REQUIRES: numpy
// RUN: %python %S/Inputs/make_arrays.py %t x:u2:64x96 w:u2:32x96 k64:u2:32x64 \
// RUN:   k40x:u2:8x40 k40w:u2:8x40 f:f4:64x96 i:i4:64x96 v:u2:96 fixed:f4:4
// RUN: head -c 500 %t/x.npy > %t/truncated.npy
// RUN: rm -f %t/y.npy
//
// RUN: not mx-run 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: mx-run: expected a file to run, found none
//
// RUN: not mx-run %t/missing.mlir --device=cpu 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: mx-run: cannot open input file '{{.*}}missing.mlir': No such file or directory
//
// RUN: not mx-run %s --device=tpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: mx-run: expected device auto, sim, sim:N, cuda, cuda:N or cpu, found 'tpu': a GPU is cuda or cuda:N
//
// RUN: not mx-run %s --device=cpu --check=gpu 2>&1 | FileCheck %s --check-prefix=CHECK-FLAG
// CHECK-FLAG: mx-run: expected --check=cpu, found --check=gpu
//
// RUN: not mx-run %s --device=cpu --entry=other 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: expected the entry to be one of [main, fixed, buffers, whole, caller], found 'other'
//
// RUN: not mx-run %s --device=cpu --entry=declared 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: expected the entry 'declared' to be a func.func with a body
//
// RUN: not mx-run %s --device=cpu --entry=buffers --arg %t/f.npy 2>&1 | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: entry 'buffers', argument 0: expected a memref of known rank with identity layout and no memory space, found memref<4xf32, strided<[2]>>
//
// RUN: not mx-run %s --device=cpu --entry=whole --check=cpu --arg %t/fixed.npy 2>&1 | FileCheck %s --check-prefix=CHECKED
// CHECKED: entry 'whole': --check requires a function on tensors, found memref arguments: compare the results of --device=cpu
//
// RUN: not mx-compile %s -o %t/called --entry=whole --entry=caller 2>&1 | FileCheck %s --check-prefix=CALLED
// CALLED: entry 'whole': expected no calls of an entry with memref arguments, found a call: move the body to a function that the entry and the caller call
//
// RUN: not mx-run %s --device=cpu --arg %t/x.npy 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: mx-run: expected 2 --arg, one for each argument of entry 'main', found 1
//
// RUN: not mx-run %s --device=cpu --arg %t/x.npy --arg %t/w.npy --result %t/y.npy --result %t/z.npy 2>&1 | FileCheck %s --check-prefix=RESULTS
// RESULTS: mx-run: expected 1 --result, one for each result of entry 'main', found 2
//
// RUN: not mx-run %s --device=cpu --arg %t/x.npy --arg %t/none.npy 2>&1 | FileCheck %s --check-prefix=NOARRAY
// NOARRAY: none.npy: cannot open: No such file or directory
//
// RUN: not mx-run %s --device=cpu --arg %t/truncated.npy --arg %t/w.npy --result %t/y.npy 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// TRUNCATED: truncated.npy: expected 12288 bytes of data after the header, found 372
//
// RUN: not mx-run %s --device=cpu --arg %t/i.npy --arg %t/w.npy 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: i.npy: argument 0 of type tensor<?x?xbf16>: expected ?x?xu2, found 64x96xi4: convert the array with x.astype(numpy.float32)
//
// RUN: not mx-run %s --device=cpu --arg %t/x.npy --arg %t/v.npy 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: v.npy: argument 1 of type tensor<?x?xbf16>: expected ?x?xu2, found 96xu2
//
// RUN: not mx-run %s --device=cpu --entry=fixed --arg %t/f.npy 2>&1 | FileCheck %s --check-prefix=EXTENT
// EXTENT: f.npy: argument 0 of type tensor<64x95xf32>: expected 64x95xf4, found 64x96xf4
//
// RUN: not mx-run %s --device=cpu --arg %t/x.npy --arg %t/w.npy --result %t/no/y.npy 2>&1 | FileCheck %s --check-prefix=NODIR
// NODIR: y.npy: cannot write: no directory '{{.*}}no'
//
// Inconsistent shapes are reported at the operation, before anything
// runs.
// RUN: not mx-run %s --device=cpu --arg %t/x.npy --arg %t/k64.npy --result %t/y.npy 2>&1 | FileCheck %s --check-prefix=SHAPES
// SHAPES: invalid.mlir:[[@LINE+30]]:{{[0-9]+}}: error: 'mx.matmul' op expected dimension 1 of b to be 96, found 64
// RUN: not mx-run %s --device=sim --arg %t/x.npy --arg %t/k64.npy --result %t/y.npy 2>&1 | FileCheck %s --check-prefix=SHAPES-SIM
// SHAPES-SIM: error: 'mx.matmul' op expected dimension 1 of b to be 96, found 64
// RUN: not mx-run %s --device=cpu --arg %t/k40x.npy --arg %t/k40w.npy --result %t/y.npy 2>&1 | FileCheck %s --check-prefix=K
// K: error: 'mx.quantize' op {{.*}}32{{.*}}40
//
// No failed run writes a result.
// RUN: not ls %t/y.npy

!matrix = tensor<?x?xbf16>
!elements = tensor<?x?xf8E4M3FN>
!scales = tensor<?x?xf8E8M0FNU>

func.func @main(%x: !matrix, %w: !matrix) -> !matrix {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = tensor.dim %x, %c0 : !matrix
  %n = tensor.dim %w, %c0 : !matrix
  %kx = tensor.dim %x, %c1 : !matrix
  %kw = tensor.dim %w, %c1 : !matrix
  %bx = arith.divui %kx, %c32 : index
  %bw = arith.divui %kw, %c32 : index
  %xe = tensor.empty(%m, %kx) : !elements
  %xs = tensor.empty(%m, %bx) : !scales
  %xq:2 = mx.quantize ins(%x : !matrix) outs(%xe, %xs : !elements, !scales) -> !elements, !scales
  %we = tensor.empty(%n, %kw) : !elements
  %ws = tensor.empty(%n, %bw) : !scales
  %wq:2 = mx.quantize ins(%w : !matrix) outs(%we, %ws : !elements, !scales) -> !elements, !scales
  %init = tensor.empty(%m, %n) : !matrix
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !elements, !scales, !elements, !scales)
      outs(%init : !matrix) -> !matrix
  return %y : !matrix
}

func.func @fixed(%x: tensor<64x95xf32>) {
  return
}

func.func @buffers(%x: memref<4xf32, strided<[2]>>) {
  return
}

func.func private @declared(%x: tensor<4xf32>)

func.func @whole(%x: memref<4xf32>) {
  return
}

func.func @caller(%x: memref<4xf32>) {
  call @whole(%x) : (memref<4xf32>) -> ()
  return
}
