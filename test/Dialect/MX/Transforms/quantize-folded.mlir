// RUN: mx-opt %s --mx-quantize-matmuls=recipe=mxfp8-fast --cse | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
!x = tensor<64x256xbf16>
!w = tensor<96x256xbf16>
!y = tensor<64x96xf32>
!q = tensor<96x256xf8E4M3FN>
!s = tensor<96x8xf8E8M0FNU>

// Both operands are quantized in wider blocks. Stored weights are folded from their source.
// CHECK-LABEL: func @folded(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<64x256xbf16>, %[[W:[^:]*]]: tensor<96x256xbf16>, %[[Q:[^:]*]]: tensor<96x256xf8E4M3FN>
// CHECK:         %[[A:.*]]:2 = mx.fused_quantize ins(%[[X]] : {{.*}} block_size = 128
// CHECK-SAME:      -> tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[B:.*]]:2 = mx.fused_quantize ins(%[[W]] : {{.*}} block_size = row
// CHECK-SAME:      -> tensor<96x256xf8E4M3FN>, tensor<96x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         mx.matmul ins(%[[A]]#0, %[[A]]#1, %[[B]]#0, %[[B]]#1 :
// CHECK-SAME:      block_size = 128 b_block_size = row promote = 128 accumulate
// CHECK:         %[[V:.*]]:2 = mx.fold ins(%[[Q]], %{{.*}} block_size = row
// CHECK:         mx.matmul ins(%[[A]]#0, %[[A]]#1, %[[V]]#0, %[[V]]#1 :
// CHECK-SAME:      block_size = 128 b_block_size = row promote = 128 accumulate
func.func @folded(%x: !x, %w: !w, %q: !q, %s: !s, %y: !y) -> (!y, !y) {
  %0 = tensor.empty() : !w
  %1 = mx.dequantize ins(%q, %s : !q, !s) outs(%0 : !w) -> !w
  %2 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : !x, !w) outs(%y : !y) -> !y
  %3 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %1 : !x, !w) outs(%y : !y) -> !y
  return %2, %3 : !y, !y
}
