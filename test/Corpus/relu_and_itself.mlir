// RUN: %corpus %s

// Returns a matmul and its relu, so the matmul is used twice.
!a = tensor<41x64xf8E4M3FN>
!as = tensor<41x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<24x64xf8E4M3FN>
!bs = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<41x24xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> (!y, !y) {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %zero = arith.constant dense<0.0> : !y
  %z = arith.maximumf %y, %zero : !y
  return %y, %z : !y, !y
}
