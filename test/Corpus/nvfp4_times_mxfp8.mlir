// RUN: %corpus %s

// An NVFP4 x MXFP8 matmul: the operands' scales have different types.
!a = tensor<37x64xf4E2M1FN>
!as = tensor<37x4xf8E4M3FN, #mx.scale_layout<sf_128x4>>
!b = tensor<40x64xf8E4M3FN>
!bs = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<37x40xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !y {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  return %y : !y
}
