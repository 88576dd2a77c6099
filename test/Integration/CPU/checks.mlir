// RUN: mx-opt %s --mx-to-cpu > %t
// RUN: not mlir-runner %t -e quantize_k -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=QUANTIZE-K
// RUN: not mlir-runner %t -e matmul_k -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=MATMUL-K
// RUN: not mlir-runner %t -e matmul_outs -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=MATMUL-OUTS
// RUN: not mlir-runner %t -e scales -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: mlir-runner %t -e decreasing -entry-point-result=void
// RUN: mlir-runner %t -e beyond -entry-point-result=void
// RUN: mlir-runner %t -e negative -entry-point-result=void
// RUN: not mlir-runner %t -e encode -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=ENCODE
// RUN: not mlir-runner %t -e input_scales -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=INPUT-SCALES
// RUN: not mlir-runner %t -e input_blocks -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=INPUT-BLOCKS
// RUN: not mlir-runner %t -e packed_outs -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=PACKED-OUTS
// RUN: not mlir-runner %t -e packed_b -entry-point-result=void 2>&1 | FileCheck %s --check-prefix=PACKED-B
// RUN: mlir-runner %t -e fits -entry-point-result=void

// Mismatched sizes end the program with exit(2) and a one-line message; `not`
// would treat a crash as a failure of the test.

!x = memref<?x?xf32>
!e = memref<?x?xf8E4M3FN>
!s = memref<?x?xf8E8M0FNU>

func.func private @quantize(%rows: index, %columns: index, %scale_rows: index) {
  %c32 = arith.constant 32 : index
  %blocks = arith.divui %columns, %c32 : index
  %x = memref.alloc(%rows, %columns) : !x
  %e = memref.alloc(%rows, %columns) : !e
  %s = memref.alloc(%scale_rows, %blocks) : !s
  // QUANTIZE-K: checks.mlir:[[@LINE+2]]:3: error: expected dimension 1 of input to be a multiple of 32, found 33; the nearest are 32 and 64
  // SCALES: checks.mlir:[[@LINE+1]]:3: error: expected dimension 0 of scales to be 4, found 5
  mx.quantize ins(%x : !x) outs(%e, %s : !e, !s)
  return
}

func.func @quantize_k() {
  %c4 = arith.constant 4 : index
  %c33 = arith.constant 33 : index
  call @quantize(%c4, %c33, %c4) : (index, index, index) -> ()
  return
}

func.func @scales() {
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  call @quantize(%c4, %c64, %c5) : (index, index, index) -> ()
  return
}

func.func @fits() {
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  call @quantize(%c4, %c64, %c4) : (index, index, index) -> ()
  return
}

func.func private @matmul(%ka: index, %kb: index, %rows: index) {
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %blocks_a = arith.divui %ka, %c32 : index
  %blocks_b = arith.divui %kb, %c32 : index
  %a = memref.alloc(%c4, %ka) : !e
  %sa = memref.alloc(%c4, %blocks_a) : !s
  %b = memref.alloc(%c4, %kb) : !e
  %sb = memref.alloc(%c4, %blocks_b) : !s
  %c = memref.alloc(%rows, %c4) : !x
  // MATMUL-K: error: expected dimension 1 of b to be 64, found 96
  // MATMUL-OUTS: error: expected dimension 0 of outs to be 4, found 3
  mx.matmul ins(%a, %sa, %b, %sb : !e, !s, !e, !s) outs(%c : !x)
  return
}

func.func @matmul_k() {
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  call @matmul(%c64, %c96, %c4) : (index, index, index) -> ()
  return
}

func.func @matmul_outs() {
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  call @matmul(%c64, %c64, %c3) : (index, index, index) -> ()
  return
}

func.func private @grouped(%first: i32, %second: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = memref.alloc() : memref<2xi32>
  memref.store %first, %o[%c0] : memref<2xi32>
  memref.store %second, %o[%c1] : memref<2xi32>
  %x = memref.alloc() : memref<8x32xf32>
  %e = memref.alloc() : memref<8x32xf8E4M3FN>
  %s = memref.alloc() : memref<8x1xf8E8M0FNU>
  // Invalid offsets have a defined result (test/Integration/Run/wrong-offsets.py).
  mx.quantize ragged = rows ins(%x : memref<8x32xf32>)
      offsets(%o : memref<2xi32>)
      outs(%e, %s : memref<8x32xf8E4M3FN>, memref<8x1xf8E8M0FNU>)
  return
}

func.func @decreasing() {
  %first = arith.constant 5 : i32
  %second = arith.constant 4 : i32
  call @grouped(%first, %second) : (i32, i32) -> ()
  return
}

func.func @beyond() {
  %first = arith.constant 5 : i32
  %second = arith.constant 9 : i32
  call @grouped(%first, %second) : (i32, i32) -> ()
  return
}

func.func @negative() {
  %first = arith.constant -1 : i32
  %second = arith.constant 8 : i32
  call @grouped(%first, %second) : (i32, i32) -> ()
  return
}

func.func @encode() {
  %x = memref.alloc() : memref<8x32xf32>
  %e = memref.alloc() : memref<8x32xf4E2M1FN>
  %s = memref.alloc() : memref<8x2xf8E4M3FN>
  %zero = arith.constant 0.0 : f32
  // ENCODE: error: expected a finite global_scale greater than 0, found the bits 0
  mx.quantize ins(%x : memref<8x32xf32>) global_scale(%zero)
      outs(%e, %s : memref<8x32xf4E2M1FN>, memref<8x2xf8E4M3FN>)
  return
}

func.func private @requantize(%columns: index, %scale_rows: index) {
  %c32 = arith.constant 32 : index
  %blocks = arith.ceildivui %columns, %c32 : index
  %x = memref.alloc(%c32, %columns) : !e
  %n = memref.alloc(%scale_rows, %blocks) : !s
  %e = memref.alloc(%columns, %c32) : !e
  %c1 = arith.constant 1 : index
  %s = memref.alloc(%columns, %c1) : !s
  // INPUT-SCALES: error: expected dimension 0 of input_scales to be 32, found 31
  // INPUT-BLOCKS: error: expected dimension 1 of input to be a multiple of 32, found 40; the nearest are 32 and 64
  mx.fused_quantize ins(%x : !e) input_scales(%n : !s) outs(%e, %s : !e, !s) axes = [0] prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    mx.yield %a : bf16
  }
  return
}

func.func @input_scales() {
  %c64 = arith.constant 64 : index
  %c31 = arith.constant 31 : index
  call @requantize(%c64, %c31) : (index, index) -> ()
  return
}

func.func @input_blocks() {
  %c40 = arith.constant 40 : index
  %c32 = arith.constant 32 : index
  call @requantize(%c40, %c32) : (index, index) -> ()
  return
}

!p = memref<?x?x128x32xf8E4M3FN>

// 100 rows and 64 columns fill 2 x 1 tiles.
func.func private @pack(%tiles: index) {
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %c1 = arith.constant 1 : index
  %w = memref.alloc(%c100, %c64) : !e
  %p = memref.alloc(%tiles, %c1) : !p
  // PACKED-OUTS: checks.mlir:[[@LINE+1]]:3: error: expected dimension 0 of outs to be 2, found 3
  mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : !e) outs(%p : !p)
  return
}

func.func @packed_outs() {
  %c3 = arith.constant 3 : index
  call @pack(%c3) : (index) -> ()
  return
}

// The number of columns of the result determines the number of weight rows.
func.func @packed_b() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c129 = arith.constant 129 : index
  %x = memref.alloc(%c4, %c64) : memref<?x?xbf16>
  %p = memref.alloc(%c2, %c1) : !p
  %s = memref.alloc(%c129, %c2) : !s
  %y = memref.alloc(%c4, %c129) : !x
  // PACKED-B: checks.mlir:[[@LINE+1]]:3: error: expected dimension 0 of b to be 3, found 2
  mx.matmul ins(%x, %p, %s : memref<?x?xbf16>, !p, !s) outs(%y : !x) b_order = #mxgpu.fragment_64x64
  return
}
