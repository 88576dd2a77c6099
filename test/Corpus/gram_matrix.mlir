// RUN: %corpus %s

// X Xᵀ: one quantized tensor is both operands of a matmul.
!x = tensor<47x96xf32>
!e = tensor<47x96xf8E4M3FN>
!s = tensor<47x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<47x47xf32>
func.func @main(%x: !x) -> !y {
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%q#0, %q#1, %q#0, %q#1 : !e, !s, !e, !s) outs(%y0 : !y) -> !y
  return %y : !y
}
