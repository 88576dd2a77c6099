// RUN: %corpus %s

// A matmul that accumulates into a tensor filled with 1.0.
!a = tensor<?x64xf8E4M3FN>
!as = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<24x64xf8E4M3FN>
!bs = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x24xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !y {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%n) : !y
  %y1 = linalg.fill ins(%one : f32) outs(%y0 : !y) -> !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y1 : !y) accumulate -> !y
  return %y : !y
}
