// mx-opt --mx-quantize-matmuls=recipe=mxfp8
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<96x256xbf16>, %w: tensor<160x256xbf16>) -> tensor<96x160xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x160xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x160xf32>) -> tensor<96x160xf32>
  %y = linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<96x256xbf16>, tensor<160x256xbf16>)
      outs(%zeros : tensor<96x160xf32>) -> tensor<96x160xf32>
  return %y : tensor<96x160xf32>
}
