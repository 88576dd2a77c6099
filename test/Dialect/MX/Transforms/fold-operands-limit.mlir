// RUN: mx-opt %s --split-input-file --mx-fold-operands=limit=8 --cse --verify-diagnostics | FileCheck %s

!x = tensor<?x512xbf16>
!q = tensor<?x512xf8E4M3FN>
!s = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<96x512xf8E5M2>
!ws = tensor<96x16xf8E8M0FNU>
!c = tensor<?x96xbf16>

// Wide elements are those of the operands before folding. A quantizer writes these operands only if a row is wide.
// CHECK-LABEL: func @default(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x512xbf16>, %[[W:[^:]*]]: tensor<96x512xf8E5M2>, %[[WS:[^:]*]]: tensor<96x16xf8E8M0FNU>, %[[OUT:[^:]*]]: tensor<?x96xbf16>
// CHECK:         %[[Q:.*]]:3 = mx.fused_quantize ins(%[[X]] : {{.*}} block_size = 128 spreads scale_rounding = floor
// CHECK:         %[[R:.*]]:3 = mx.fold ins(%[[W]], %[[WS]] : {{.*}} block_size = row spreads
// CHECK:         %[[C:.*]]:2 = mx.row_classes ins(%[[Q]]#2, %[[R]]#2 : tensor<?x4xi8>, tensor<96x1xi8>) outs(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<3xi32>) axes = [1, 1] limit = 8
// CHECK:         %[[E:.*]]:2 = mx.fused_quantize ins(%[[X]] : tensor<?x512xbf16>) if_any(%[[C]]#0, %[[C]]#1 : {{.*}}) outs(%{{.*}}, %{{.*}} : tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) scale_rounding = floor
// CHECK:         %[[NARROW:.*]] = mx.matmul ins(%[[Q]]#0, %[[Q]]#1, %[[R]]#0, %[[R]]#1 : {{.*}} alpha(%{{.*}}) where narrow(%[[C]]#0, %[[C]]#1 : tensor<?xi32>, tensor<3xi32>) outs(%[[OUT]] : {{.*}}) block_size = 128 b_block_size = row promote = 128 accumulate {tag}
// CHECK:         %[[WIDE:.*]] = mx.matmul ins(%[[E]]#0, %[[E]]#1, %[[W]], %[[WS]] : {{.*}} alpha(%{{.*}}) where wide(%[[C]]#0, %[[C]]#1 : tensor<?xi32>, tensor<3xi32>) outs(%[[NARROW]] : tensor<?x96xbf16>) accumulate {tag}
// CHECK:         return %[[WIDE]]
func.func @default(%x: !x, %w: !w, %ws: !ws, %c: !c, %alpha: f32) -> !c {
  %zero = arith.constant 0 : index
  %d = tensor.dim %x, %zero : !x
  %e = tensor.empty(%d) : !q
  %f = tensor.empty(%d) : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e, %f : !q, !s) scale_rounding = floor -> !q, !s
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !q, !s, !w, !ws) alpha(%alpha) outs(%c : !c) accumulate {tag} -> !c
  return %y : !c
}

// -----

!w = tensor<384x512xbf16>
!g = tensor<256x384xbf16>
!wq = tensor<384x512xf8E4M3FN>
!ws = tensor<384x16xf8E8M0FNU>
!wtq = tensor<512x384xf8E4M3FN>
!wts = tensor<512x12xf8E8M0FNU>
!gq = tensor<256x384xf8E4M3FN>
!gs = tensor<256x12xf8E8M0FNU>
!c = tensor<256x512xf32>

// Only the folded axis is quantized again.
// CHECK-LABEL: func @axes(
// CHECK:         %[[Q:.*]]:3 = mx.fused_quantize ins(%{{.*}} : tensor<384x512xbf16>) {{.*}} axes = [0] block_size = row spreads
// CHECK:         mx.row_classes ins(%{{.*}}, %[[Q]]#2 : tensor<256x3xi8>, tensor<1x512xi8>) {{.*}} axes = [1, 0] limit = 8
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<384x512xbf16>) if_any({{.*}}) outs(%{{.*}}, %{{.*}} : tensor<512x384xf8E4M3FN>, tensor<512x12xf8E8M0FNU>) axes = [0] ->
// CHECK:         where narrow
// CHECK:         where wide
func.func @axes(%w: !w, %g: !g, %c: !c) -> (!c, !wq, !ws) {
  %e = tensor.empty() : !wq
  %f = tensor.empty() : !ws
  %et = tensor.empty() : !wtq
  %ft = tensor.empty() : !wts
  %eg = tensor.empty() : !gq
  %fg = tensor.empty() : !gs
  %q:4 = mx.quantize ins(%w : !w) outs(%e, %f, %et, %ft : !wq, !ws, !wtq, !wts) axes = [1, 0] -> !wq, !ws, !wtq, !wts
  %p:2 = mx.quantize ins(%g : !g) outs(%eg, %fg : !gq, !gs) -> !gq, !gs
  %0 = mx.matmul ins(%p#0, %p#1, %q#2, %q#3 : !gq, !gs, !wtq, !wts) outs(%c : !c) -> !c
  return %0, %q#0, %q#1 : !c, !wq, !ws
}

// -----

!a = tensor<64x256xf8E4M3FN>
!s = tensor<64x8xf8E8M0FNU>
!c = tensor<64x64xf32>

func.func @blocks(%a: !a, %s: !s, %f: tensor<64x1xf8E8M0FNU>, %c: !c) -> !c {
  // expected-remark @below {{not folded with a limit: an operand is in blocks of row}}
  %0 = mx.matmul ins(%a, %s, %a, %f : !a, !s, !a, tensor<64x1xf8E8M0FNU>) outs(%c : !c) b_block_size = row -> !c
  return %0 : !c
}

func.func @batch(%a: tensor<2x3x64x256xf8E4M3FN>, %s: tensor<2x3x64x8xf8E8M0FNU>, %c: tensor<2x3x64x64xf32>) -> tensor<2x3x64x64xf32> {
  // expected-remark @below {{not folded with a limit: it is a batch in several dimensions}}
  %0 = mx.matmul ins(%a, %s, %a, %s : tensor<2x3x64x256xf8E4M3FN>, tensor<2x3x64x8xf8E8M0FNU>, tensor<2x3x64x256xf8E4M3FN>, tensor<2x3x64x8xf8E8M0FNU>) outs(%c : tensor<2x3x64x64xf32>) -> tensor<2x3x64x64xf32>
  return %0 : tensor<2x3x64x64xf32>
}
