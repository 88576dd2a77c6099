// RUN: %corpus %s

// Constant weights and scales with equal elements.
!e = tensor<21x64xf8E4M3FN>
!s = tensor<21x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<40x64xf8E4M3FN>
!l = tensor<40x2xf8E8M0FNU>
!ws = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<21x40xf32>
func.func @main(%a: !e, %as: !s) -> !y {
  %w = arith.constant dense<1.5> : !w
  %l = arith.constant dense<0.25> : !l
  %t0 = tensor.empty() : !ws
  %t = mx.relayout ins(%l : !l) outs(%t0 : !ws) -> !ws
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %w, %t : !e, !s, !w, !ws) outs(%y0 : !y) -> !y
  return %y : !y
}
