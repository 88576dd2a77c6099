// RUN: %corpus %s

// MXINT8 weights, dequantized to bf16 without rounding, and a bf16 matmul.
!x = tensor<?x64xbf16>
!w = tensor<24x64xi8>
!s = tensor<24x2xf8E8M0FNU>
!d = tensor<24x64xbf16>
!y = tensor<?x24xf32>
func.func @main(%x: !x, %w: !w, %s: !s) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %d0 = tensor.empty() : !d
  %d = mx.dequantize ins(%w, %s : !w, !s) outs(%d0 : !d) -> !d
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %d : !x, !d) outs(%y1 : !y) -> !y
  return %y : !y
}
