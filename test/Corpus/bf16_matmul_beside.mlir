// RUN: %corpus %s

// A layer's unquantized router as a bf16 linalg.matmul, and a quantized matmul of the same rows.
!x = tensor<26x64xbf16>
!e = tensor<26x64xf8E4M3FN>
!s = tensor<26x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<40x64xf8E4M3FN>
!ws = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<26x40xf32>
!r = tensor<26x5xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws, %router: tensor<64x5xbf16>) -> (!y, !r) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !e, !s, !w, !ws) outs(%y0 : !y) -> !y
  %r0 = tensor.empty() : !r
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : !r) -> !r
  %r = linalg.matmul ins(%x, %router : !x, tensor<64x5xbf16>) outs(%r1 : !r) -> !r
  return %y, %r : !y, !r
}
