// RUN: %corpus %s

// Returns one element of a matmul as a scalar. Its indices are arguments.
!a = tensor<19x64xf8E4M3FN>
!as = tensor<19x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<24x64xf8E4M3FN>
!bs = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<19x24xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %i: index, %j: index) -> (f32, !y) {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %z = tensor.extract %y[%i, %j] : !y
  return %z, %y : f32, !y
}
