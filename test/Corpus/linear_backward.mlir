// RUN: %corpus %s

// Backward of a bf16 linear layer: dx = dy w, dw = dyᵀ x. mx-quantize-matmuls quantizes both, with dy in E5M2.
!dy = tensor<64x96xbf16>
!x = tensor<64x128xbf16>
!w = tensor<96x128xbf16>
!dx = tensor<64x128xf32>
!dw = tensor<96x128xf32>
func.func @main(%dy: !dy, %x: !x, %w: !w) -> (!dx, !dw) {
  %zero = arith.constant 0.0 : f32
  %a0 = tensor.empty() : !dx
  %a1 = linalg.fill ins(%zero : f32) outs(%a0 : !dx) -> !dx
  %dx = linalg.matmul {mx.recipe = ["mxfp8-e5m2", "mxfp8"]} ins(%dy, %w : !dy, !w) outs(%a1 : !dx) -> !dx
  %b0 = tensor.empty() : !dw
  %b1 = linalg.fill ins(%zero : f32) outs(%b0 : !dw) -> !dw
  %dw = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      {mx.recipe = ["mxfp8-e5m2", "mxfp8"]} ins(%dy, %x : !dy, !x) outs(%b1 : !dw) -> !dw
  return %dx, %dw : !dx, !dw
}
