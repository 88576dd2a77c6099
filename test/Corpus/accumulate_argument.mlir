// RUN: %corpus %s

// A matmul accumulates into an argument and returns the sum, as over the micro-batches of a pipeline.
!a = tensor<45x96xf8E4M3FN>
!as = tensor<45x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<56x96xf8E4M3FN>
!bs = tensor<56x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<45x56xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %acc: !y) -> !y {
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%acc : !y) accumulate -> !y
  return %y : !y
}
