// RUN: %corpus %s

// A layer in a private function, called twice with different weights.
!x = tensor<52x64xbf16>
!e = tensor<52x64xf8E4M3FN>
!s = tensor<52x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<64x64xf8E4M3FN>
!ws = tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func private @layer(%x: !x, %w: !w, %ws: !ws) -> !x {
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty() : !x
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !e, !s, !w, !ws) outs(%y0 : !x) -> !x
  return %y : !x
}
func.func @main(%x: !x, %w1: !w, %s1: !ws, %w2: !w, %s2: !ws) -> !x {
  %h = call @layer(%x, %w1, %s1) : (!x, !w, !ws) -> !x
  %y = call @layer(%h, %w2, %s2) : (!x, !w, !ws) -> !x
  return %y : !x
}
