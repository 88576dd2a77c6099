// RUN: %corpus %s

// Weight-only quantization as a framework lowers it: dequantized weights in a bf16 linalg.matmul with f32 sums.
!x = tensor<?x64xbf16>
!we = tensor<24x64xf8E4M3FN>
!ws = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x24xf32>
func.func @main(%x: !x, %we: !we, %ws: !ws) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %w0 = tensor.empty() : tensor<24x64xbf16>
  %w = mx.dequantize ins(%we, %ws : !we, !ws) outs(%w0 : tensor<24x64xbf16>) -> tensor<24x64xbf16>
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : !x, tensor<24x64xbf16>) outs(%y1 : !y) -> !y
  return %y : !y
}
