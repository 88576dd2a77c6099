// RUN: %corpus %s

// Matmuls in a dynamic batch of pre-quantized rank-3 tensors.
!a = tensor<?x21x64xf8E4M3FN>
!as = tensor<?x21x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<?x40x64xf8E4M3FN>
!bs = tensor<?x40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x21x40xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  return %y : !y
}
