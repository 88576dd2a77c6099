// RUN: %corpus %s

// Returns a matmul twice, and returns an argument unchanged.
!a = tensor<17x64xf8E4M3FN>
!as = tensor<17x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<24x64xf8E5M2>
!bs = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<17x24xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %other: tensor<5xf32>) -> (!y, tensor<5xf32>, !y) {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  return %y, %other, %y : !y, tensor<5xf32>, !y
}
