// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --mx-generalize-quantize --canonicalize | FileCheck %s

!e = tensor<?x64xf4E2M1FN>
!s = tensor<?x4xf8E4M3FN>

// The block size is derived from the scales, and attributes are kept.
// CHECK-LABEL: func @plain(
// CHECK:         mx.fused_quantize ins(%{{.*}}) global_scale(%{{.*}}) seed(%{{.*}}) outs(%{{.*}} : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) block_size = 16 square {mx.note} ->
func.func @plain(%x: tensor<?x64xbf16>, %g: f32, %seed: i64, %e: !e, %s: !s) -> (!e, !s) {
  %q:2 = mx.quantize ins(%x : tensor<?x64xbf16>) global_scale(%g) seed(%seed) outs(%e, %s : !e, !s) square {mx.note} -> !e, !s
  return %q#0, %q#1 : !e, !s
}

!q = tensor<?x256xf8E4M3FN>
!r = tensor<?x2x32x4x4xf8E8M0FNU>
!f = tensor<?x1x32x4x4xf8E8M0FNU>

// CHECK-LABEL: func @fold(
// CHECK-SAME:      %[[Q:[^:]*]]: tensor<?x256xf8E4M3FN>, %[[R:[^:]*]]: tensor<?x2x32x4x4xf8E8M0FNU>, %[[O:[^:]*]]: tensor<3xi32>
// CHECK:         %[[N:.*]] = tensor.empty(%{{.*}}) : tensor<?x256xf32>
// CHECK:         %[[D:.*]] = mx.dequantize ragged = rows ins(%[[Q]], %[[R]] : {{.*}}) offsets(%[[O]] : tensor<3xi32>) outs(%[[N]] :
// CHECK-NEXT:    mx.fused_quantize ragged = rows ins(%[[D]] : tensor<?x256xf32>) offsets(%[[O]] : tensor<3xi32>) outs(%{{.*}}) block_size = 128 {mx.note} ->
func.func @fold(%q: !q, %r: !r, %o: tensor<3xi32>, %e: !q, %f: !f) -> (!q, !f) {
  %p:2 = mx.fold ragged = rows ins(%q, %r : !q, !r) offsets(%o : tensor<3xi32>) outs(%e, %f : !q, !f) block_size = 128 {mx.note} -> !q, !f
  return %p#0, %p#1 : !q, !f
}

!w = tensor<?x96x256xf8E4M3FN>
!t = tensor<?x96x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!u = tensor<?x96x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// A batch is folded as a matrix of all rows, with row-major scales.
// CHECK-LABEL: func @fold_batch(
// CHECK:         mx.relayout {{.*}} -> tensor<?x96x8xf8E8M0FNU>
// CHECK:         mx.dequantize ins({{.*}} : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>)
// CHECK:         mx.fused_quantize ins({{.*}} : tensor<?x256xf32>) {{.*}} block_size = row -> tensor<?x256xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
// CHECK:         tensor.expand_shape {{.*}} into tensor<?x96x1xf8E8M0FNU>
// CHECK:         mx.relayout {{.*}} -> tensor<?x96x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @fold_batch(%w: !w, %t: !t, %e: !w, %f: !u) -> (!w, !u) {
  %p:2 = mx.fold ins(%w, %t : !w, !t) outs(%e, %f : !w, !u) block_size = row -> !w, !u
  return %p#0, %p#1 : !w, !u
}

!d = tensor<?x96x1xi8>

// Spreads are row-major, so they need no relayout.
// CHECK-LABEL: func @fold_spreads(
// CHECK:         mx.fused_quantize ins({{.*}} : tensor<?x256xf32>) {{.*}} block_size = row spreads -> tensor<?x256xf8E4M3FN>, tensor<?x1xf8E8M0FNU>, tensor<?x1xi8>
// CHECK:         mx.relayout
// CHECK:         %[[D:.*]] = tensor.expand_shape {{.*}} into tensor<?x96x1xi8>
// CHECK:         return %{{.*}}, %{{.*}}, %[[D]] :
func.func @fold_spreads(%w: !w, %t: !t, %e: !w, %f: !u, %d: !d) -> (!w, !u, !d) {
  %p:3 = mx.fold ins(%w, %t : !w, !t) outs(%e, %f, %d : !w, !u, !d) block_size = row spreads -> !w, !u, !d
  return %p#0, %p#1, %p#2 : !w, !u, !d
}

// -----

// TEMPLATE gather
// SET name = none
// SET count = tensor.dim %x, %c0 : !x
// SET row = %i
// SET column = linalg.index 1 : index
// SET from = %x[%i, %j] : !x
// SET result = !e, !s
// SET other = %q#0, %q#1
!x = tensor<?x64xbf16>
!list = tensor<?xi32>
!e = tensor<?x64xf8E4M3FN>
!s = tensor<?x2xf8E8M0FNU>
// BLOCK check
// END
func.func @${name}(%x: !x, %list: !list, %e: !e, %s: !s) -> (${result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %p = tensor.dim %list, %c0 : !list
  %rows = ${count}
  %init = tensor.empty(%p) : !x
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%list : !list) outs(%init : !x) {
  ^bb0(%number: i32, %out: bf16):
    %i = arith.index_cast %number : i32 to index
    %j = ${column}
    %clamped = arith.maxsi %i, %c0 : index
    %exists = arith.cmpi ult, ${row}, %rows : index
    %value = tensor.extract ${from}
    %element = arith.select %exists, %value, %zero : bf16
    linalg.yield %element : bf16
  } -> !x
  %q:2 = mx.quantize ins(%g : !x) outs(%e, %s : !e, !s) -> !e, !s
  return ${other} : ${result}
}

// -----

// CASES gather check
// SET name = gathered
// CHECK-LABEL: func @gathered(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x64xbf16>, %[[L:[^:]*]]: tensor<?xi32>
// CHECK-NOT:     linalg
// CHECK:         mx.fused_quantize ins(%[[X]] : tensor<?x64xbf16>) gather(%[[L]] : tensor<?xi32>)

// A gather is fused only if exactly the missing rows are zeros. Here all rows except rows 0 to 2 are zeros.
// In the next case a negative index selects row 0.
// SET name = fewer_rows
// SET count = arith.constant 3 : index
// CHECK-LABEL: func @fewer_rows(
// CHECK:         %[[G:.*]] = linalg.generic
// CHECK:         mx.fused_quantize ins(%[[G]] : tensor<?x64xbf16>) outs

// SET name = clamped_rows
// SET row = %clamped
// CHECK-LABEL: func @clamped_rows(
// CHECK:         %[[G:.*]] = linalg.generic
// CHECK:         mx.fused_quantize ins(%[[G]] : tensor<?x64xbf16>) outs

// A gather is not fused if its result has another use and is stored anyway.
// SET name = another_use
// SET result = !e, !s, !x
// SET other = %q#0, %q#1, %g
// CHECK-LABEL: func @another_use(
// CHECK:         %[[G:.*]] = linalg.generic
// CHECK:         mx.fused_quantize ins(%[[G]] : tensor<?x64xbf16>) outs

// A gather is not fused if the body reads a matrix defined inside the body.
// SET name = inner
// SET count = arith.constant 8 : index
// SET column = linalg.index 1 : index %own = arith.constant dense<1.0> : tensor<8x64xbf16>
// SET from = %own[%i, %j] : tensor<8x64xbf16>
// CHECK-LABEL: func @inner(
// CHECK:         %[[G:.*]] = linalg.generic
// CHECK:         mx.fused_quantize ins(%[[G]] : tensor<?x64xbf16>) outs
