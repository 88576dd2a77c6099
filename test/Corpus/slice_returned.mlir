// RUN: %corpus %s

// Returns the last columns of a matmul: an extract_slice with an offset and a stride.
!a = tensor<39x64xf8E4M3FN>
!as = tensor<39x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<48x64xf8E4M3FN>
!bs = tensor<48x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<39x48xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> tensor<13x11xf32> {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %z = tensor.extract_slice %y[2, 26] [13, 11] [3, 2] : !y to tensor<13x11xf32>
  return %z : tensor<13x11xf32>
}
