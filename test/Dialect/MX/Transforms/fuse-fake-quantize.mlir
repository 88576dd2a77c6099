// RUN: mx-opt %s -split-input-file --mx-fuse-fake-quantize | FileCheck %s
// RUN: mx-opt %s -split-input-file --mx-fuse-fake-quantize=tile-bits=108 | FileCheck %s --check-prefixes=CHECK,TILE

!x = tensor<256x64xbf16>
!e = tensor<256x64xf8E4M3FN>
!s = tensor<256x2xf8E8M0FNU>

// The fused operation stores neither elements nor scales.

// CHECK-LABEL: func @pair(
// CHECK-SAME:    %[[X:.*]]: tensor<256x64xbf16>)
// CHECK-NEXT:    %[[INIT:.*]] = tensor.empty() : tensor<256x64xbf16>
// CHECK-NEXT:    %[[Y:.*]] = mx.fused_quantize ins(%[[X]] : tensor<256x64xbf16>) outs(%[[INIT]] : tensor<256x64xbf16>) dequantized = [f8E4M3FN] scale_rounding = even {mark = "kept"} -> tensor<256x64xbf16>
// CHECK-NEXT:    return %[[Y]]
func.func @pair(%x: !x) -> !x {
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:2 = mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s) scale_rounding = even {mark = "kept"} -> !e, !s
  %init = tensor.empty() : !x
  %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !x) -> !x
  return %y : !x
}

// Destinations may be the same tensor, because CSE merges equal tensors.

// CHECK-LABEL: func @same_outs(
// CHECK-NEXT:    mx.fused_quantize {{.*}} dequantized = [f8E4M3FN, f8E4M3FN] -> tensor<256x64xbf16>, tensor<256x64xbf16> prologue
// CHECK:         return
func.func @same_outs(%x: !x, %init: !x) -> (!x, !x) {
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:4 = mx.fused_quantize ins(%x : !x) outs(%e, %s, %e, %s : !e, !s, !e, !s) -> !e, !s, !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %column: index):
    %b = arith.negf %a : bf16
    mx.yield %a, %b : bf16, bf16
  }
  %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !x) -> !x
  %z = mx.dequantize ins(%q#2, %q#3 : !e, !s) outs(%init : !x) -> !x
  return %y, %z : !x, !x
}

// The pair is not fused if the elements or the scales have another use.

// CHECK-LABEL: func @read(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @read(%x: !x, %e: !e, %s: !s, %init: !x) -> (!x, !e) {
  %q:2 = mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s) -> !e, !s
  %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !x) -> !x
  return %y, %q#0 : !x, !e
}

// The pair is not fused if the quantizer writes spreads.

// CHECK-LABEL: func @spreads(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @spreads(%x: !x, %e: !e, %s: tensor<256x1xf8E8M0FNU>, %d: tensor<256x1xi8>, %init: !x) -> (!x, tensor<256x1xi8>) {
  %q:3 = mx.fused_quantize ins(%x : !x) outs(%e, %s, %d : !e, tensor<256x1xf8E8M0FNU>, tensor<256x1xi8>)
      block_size = row spreads -> !e, tensor<256x1xf8E8M0FNU>, tensor<256x1xi8>
  %y = mx.dequantize ins(%q#0, %q#1 : !e, tensor<256x1xf8E8M0FNU>) outs(%init : !x) block_size = row -> !x
  return %y, %q#2 : !x, tensor<256x1xi8>
}

// The pair is not fused if the scales belong to other elements.

// CHECK-LABEL: func @others(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @others(%x: !x, %e: !e, %s: !s, %init: !x) -> !x {
  %q:2 = mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s) -> !e, !s
  %r:2 = mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s) scale_rounding = floor -> !e, !s
  %y = mx.dequantize ins(%q#0, %r#1 : !e, !s) outs(%init : !x) -> !x
  return %y : !x
}

// The pair is not fused if only a branch dequantizes.

// CHECK-LABEL: func @branch(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @branch(%x: !x, %e: !e, %s: !s, %init: !x, %c: i1) -> !x {
  %q:2 = mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s) -> !e, !s
  %r = scf.if %c -> !x {
    %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !x) -> !x
    scf.yield %y : !x
  } else {
    scf.yield %x : !x
  }
  return %r : !x
}

// The pair is not fused if the destination depends on the quantization.

// CHECK-LABEL: func @depends(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @depends(%x: !x, %e: !e, %s: !s, %m: tensor<f32>) -> !x {
  %q:3 = mx.fused_quantize ins(%x : !x) outs(%e, %s, %m : !e, !s, tensor<f32>) amax -> !e, !s, tensor<f32>
  %a = tensor.extract %q#2[] : tensor<f32>
  %b = arith.truncf %a : f32 to bf16
  %init = tensor.splat %b : !x
  %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !x) -> !x
  return %y : !x
}

// -----

// The result takes the size of the quantizer's destination.

// CHECK-LABEL: func @sizes(
// CHECK-SAME:    %[[X:.*]]: tensor<?x64xbf16>, %[[E:.*]]: tensor<?x64xf8E4M3FN>, %[[S:.*]]: tensor<?x2xf8E8M0FNU>)
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[E]], %c0
// CHECK:         %[[INIT:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x64xf16>
// CHECK:         mx.fused_quantize ins(%[[X]] : tensor<?x64xbf16>) outs(%[[INIT]] : tensor<?x64xf16>) dequantized = [f8E4M3FN]
func.func @sizes(%x: tensor<?x64xbf16>, %e: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x64xf16> {
  %c0 = arith.constant 0 : index
  %q:2 = mx.fused_quantize ins(%x : tensor<?x64xbf16>) outs(%e, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %rows = tensor.dim %q#0, %c0 : tensor<?x64xf8E4M3FN>
  %init = tensor.empty(%rows) : tensor<?x64xf16>
  %y = mx.dequantize ins(%q#0, %q#1 : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) outs(%init : tensor<?x64xf16>) -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}

// -----

// Only the second axis is dequantized. The amax and the prologue are kept.

!e = tensor<256x64xf4E2M1FN>
!s = tensor<256x4xf8E4M3FN>
!et = tensor<64x256xf4E2M1FN>
!st = tensor<64x16xf8E4M3FN>

// CHECK-LABEL: func @mixed(
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<256x64xf32>, %[[E:[a-z0-9]*]]: f32, %[[D:[a-z0-9]*]]: f32
// CHECK:         %[[Q:.*]]:4 = mx.fused_quantize ins(%[[X]] : tensor<256x64xf32>) global_scale(%[[E]]) decode_factors(%[[D]]) outs(%{{.*}} : tensor<256x64xf4E2M1FN>, tensor<256x4xf8E4M3FN>, tensor<64x256xbf16>, tensor<f32>) axes = [1, 0] block_size = 16 amax dequantized = [none, f4E2M1FN] -> {{.*}} prologue {
// CHECK:           arith.negf
// CHECK:         return %[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3
func.func @mixed(%x: tensor<256x64xf32>, %encode: f32, %decode: f32, %e: !e, %s: !s, %et: !et, %st: !st, %m: tensor<f32>, %init: tensor<64x256xbf16>) -> (!e, !s, tensor<64x256xbf16>, tensor<f32>) {
  %q:5 = mx.fused_quantize ins(%x : tensor<256x64xf32>) global_scale(%encode) outs(%e, %s, %et, %st, %m : !e, !s, !et, !st, tensor<f32>) axes = [1, 0] block_size = 16 amax -> !e, !s, !et, !st, tensor<f32> prologue {
  ^bb0(%a: f32, %row: index, %column: index):
    %b = arith.negf %a : f32
    mx.yield %b : f32
  }
  %y = mx.dequantize ins(%q#2, %q#3 : !et, !st) global_scale(%decode) outs(%init : tensor<64x256xbf16>) block_size = 16 -> tensor<64x256xbf16>
  return %q#0, %q#1, %y, %q#4 : !e, !s, tensor<64x256xbf16>, tensor<f32>
}

// Only the first axis is fused, because the second axis is dequantized without the global scale.

// CHECK-LABEL: func @one_factor(
// CHECK:         mx.fused_quantize {{.*}} decode_factors(%{{.*}}) {{.*}} dequantized = [f4E2M1FN, none]
// CHECK:         mx.dequantize
func.func @one_factor(%x: tensor<256x64xf32>, %encode: f32, %decode: f32, %e: !e, %s: !s, %et: !et, %st: !st, %y: tensor<256x64xf32>, %yt: tensor<64x256xf32>) -> (tensor<256x64xf32>, tensor<64x256xf32>) {
  %q:4 = mx.fused_quantize ins(%x : tensor<256x64xf32>) global_scale(%encode) outs(%e, %s, %et, %st : !e, !s, !et, !st) axes = [1, 0] block_size = 16 -> !e, !s, !et, !st
  %0 = mx.dequantize ins(%q#0, %q#1 : !e, !s) global_scale(%decode) outs(%y : tensor<256x64xf32>) block_size = 16 -> tensor<256x64xf32>
  %1 = mx.dequantize ins(%q#2, %q#3 : !et, !st) outs(%yt : tensor<64x256xf32>) block_size = 16 -> tensor<64x256xf32>
  return %0, %1 : tensor<256x64xf32>, tensor<64x256xf32>
}

// -----

// Ragged rows are fused if the expert groups are the same. A ragged reduction is fused
// as one matrix or as padded segments, even if the offsets come from another operand.

!x = tensor<300x64xbf16>
!e = tensor<300x64xf8E4M3FN>
!s = tensor<6x1x32x4x4xf8E8M0FNU>
!et = tensor<64x896xf8E4M3FN>
!st = tensor<1x7x32x4x4xf8E8M0FNU>

// CHECK-LABEL: func @groups(
// CHECK:         mx.fused_quantize ragged = rows {{.*}} axes = [1, 0] dequantized = [f8E4M3FN, f8E4M3FN] -> tensor<300x64xbf16>, tensor<64x896xbf16>
// CHECK-NOT:     mx.dequantize
func.func @groups(%x: !x, %o: tensor<4xi32>, %e: !e, %s: !s, %et: !et, %st: !st, %y: !x, %yt: tensor<64x896xbf16>) -> (!x, tensor<64x896xbf16>) {
  %q:4 = mx.fused_quantize ragged = rows ins(%x : !x) offsets(%o : tensor<4xi32>) outs(%e, %s, %et, %st : !e, !s, !et, !st) axes = [1, 0] -> !e, !s, !et, !st
  %0 = mx.dequantize ragged = rows ins(%q#0, %q#1 : !e, !s) offsets(%o : tensor<4xi32>) outs(%y : !x) -> !x
  %1 = mx.dequantize ins(%q#2, %q#3 : !et, !st) outs(%yt : tensor<64x896xbf16>) -> tensor<64x896xbf16>
  return %0, %1 : !x, tensor<64x896xbf16>
}

// CHECK-LABEL: func @segments(
// CHECK:         mx.fused_quantize ragged = rows {{.*}} axes = [0] dequantized = [f8E4M3FN] -> tensor<64x896xbf16>
// CHECK-NOT:     mx.dequantize
func.func @segments(%x: !x, %o: tensor<4xi32>, %p: tensor<4xi32>, %et: !et, %st: !st, %yt: tensor<64x896xbf16>) -> tensor<64x896xbf16> {
  %q:2 = mx.fused_quantize ragged = rows ins(%x : !x) offsets(%o : tensor<4xi32>) outs(%et, %st : !et, !st) axes = [0] -> !et, !st
  %0 = mx.dequantize ragged = reduction padded ins(%q#0, %q#1 : !et, !st) offsets(%p : tensor<4xi32>) outs(%yt : tensor<64x896xbf16>) -> tensor<64x896xbf16>
  return %0 : tensor<64x896xbf16>
}

// Without `padded`, the dequantized segments are adjacent and no longer match
// the positions that the quantizer writes.

// CHECK-LABEL: func @moved(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @moved(%x: !x, %o: tensor<4xi32>, %et: !et, %st: !st, %yt: tensor<64x300xbf16>) -> tensor<64x300xbf16> {
  %q:2 = mx.fused_quantize ragged = rows ins(%x : !x) offsets(%o : tensor<4xi32>) outs(%et, %st : !et, !st) axes = [0] -> !et, !st
  %0 = mx.dequantize ragged = reduction ins(%q#0, %q#1 : !et, !st) offsets(%o : tensor<4xi32>) outs(%yt : tensor<64x300xbf16>) -> tensor<64x300xbf16>
  return %0 : tensor<64x300xbf16>
}

// The pair is not fused if the expert groups differ, because they select other rows.

// CHECK-LABEL: func @other_groups(
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized =
// CHECK:         mx.dequantize
func.func @other_groups(%x: !x, %o: tensor<4xi32>, %p: tensor<4xi32>, %e: !e, %s: !s, %y: !x) -> !x {
  %q:2 = mx.fused_quantize ragged = rows ins(%x : !x) offsets(%o : tensor<4xi32>) outs(%e, %s : !e, !s) -> !e, !s
  %0 = mx.dequantize ragged = rows ins(%q#0, %q#1 : !e, !s) offsets(%p : tensor<4xi32>) outs(%y : !x) -> !x
  return %0 : !x
}

// -----

// Two f32 values and four 16-bit tensors exceed `tile-bits`, so @wide is not fused. Kernels along rows need no tile.

!x = tensor<256x128xf32>
!e = tensor<256x128xf8E4M3FN>
!s = tensor<256x4xf8E8M0FNU>
!et = tensor<128x256xf8E4M3FN>
!st = tensor<128x8xf8E8M0FNU>
!y = tensor<256x128xbf16>
!yt = tensor<128x256xbf16>

// CHECK-LABEL: func @wide(
// TILE:          mx.dequantize
// TILE-LABEL:  func @wide_rows(
// TILE-NOT:      mx.dequantize
func.func @wide(%x: !x, %e: !e, %s: !s, %et: !et, %st: !st, %y: !y, %yt: !yt) -> (!y, !yt, !y, !yt) {
  %q:8 = mx.fused_quantize ins(%x : !x) outs(%e, %s, %et, %st, %e, %s, %et, %st : !e, !s, !et, !st, !e, !s, !et, !st) axes = [1, 0] -> !e, !s, !et, !st, !e, !s, !et, !st prologue {
  ^bb0(%a: f32, %row: index, %column: index):
    %b = arith.negf %a : f32
    mx.yield %a, %b : f32, f32
  }
  %0 = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%y : !y) -> !y
  %1 = mx.dequantize ins(%q#2, %q#3 : !et, !st) outs(%yt : !yt) -> !yt
  %2 = mx.dequantize ins(%q#4, %q#5 : !e, !s) outs(%y : !y) -> !y
  %3 = mx.dequantize ins(%q#6, %q#7 : !et, !st) outs(%yt : !yt) -> !yt
  return %0, %1, %2, %3 : !y, !yt, !y, !yt
}
func.func @wide_rows(%x: !x, %e: !e, %s: !s, %y: tensor<256x128xf32>) -> (!x, !x) {
  %q:4 = mx.fused_quantize ins(%x : !x) outs(%e, %s, %e, %s : !e, !s, !e, !s) -> !e, !s, !e, !s prologue {
  ^bb0(%a: f32, %row: index, %column: index):
    %b = arith.negf %a : f32
    mx.yield %a, %b : f32, f32
  }
  %0 = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%y : !x) -> !x
  %1 = mx.dequantize ins(%q#2, %q#3 : !e, !s) outs(%y : !x) -> !x
  return %0, %1 : !x, !x
}
