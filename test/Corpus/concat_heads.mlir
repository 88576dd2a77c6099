// RUN: %corpus %s

// Outputs of three heads, computed by separate matmuls and concatenated.
!a = tensor<25x64xf8E4M3FN>
!as = tensor<25x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<16x64xf8E4M3FN>
!bs = tensor<16x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<25x16xbf16>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !b, %cs: !bs, %d: !b, %ds: !bs) -> tensor<25x48xbf16> {
  %y0 = tensor.empty() : !y
  %p = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %q = mx.matmul ins(%a, %as, %c, %cs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %r = mx.matmul ins(%a, %as, %d, %ds : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %z = tensor.concat dim(1) %p, %q, %r : (!y, !y, !y) -> tensor<25x48xbf16>
  return %z : tensor<25x48xbf16>
}
