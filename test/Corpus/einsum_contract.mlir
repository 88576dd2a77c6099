// RUN: %corpus %s

// A projection into heads, the einsum "bsd,hkd->bhsk", as linalg.contract.
!x = tensor<2x?x24xbf16>
!y = tensor<2x3x?x5xf32>
func.func @main(%x: !x, %w: tensor<3x5x24xbf16>) -> !y {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c1 : !x
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.contract indexing_maps = [affine_map<(b, s, h, k, d) -> (b, s, d)>, affine_map<(b, s, h, k, d) -> (h, k, d)>,
      affine_map<(b, s, h, k, d) -> (b, h, s, k)>] ins(%x, %w : !x, tensor<3x5x24xbf16>) outs(%y1 : !y) -> !y
  return %y : !y
}
