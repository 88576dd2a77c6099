// RUN: %corpus %s

// Quantizes and dequantizes a tensor in three formats: E5M2, E2M3 and MXINT8.
!x = tensor<?x64xf32>
!e1 = tensor<?x64xf8E5M2>
!e2 = tensor<?x64xf6E2M3FN>
!e3 = tensor<?x64xi8>
!s = tensor<?x2xf8E8M0FNU>
func.func @main(%x: !x) -> (!x, !x, !x) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %s0 = tensor.empty(%n) : !s
  %d0 = tensor.empty(%n) : !x
  %e1 = tensor.empty(%n) : !e1
  %q1:2 = mx.quantize ins(%x : !x) outs(%e1, %s0 : !e1, !s) scale_rounding = even -> !e1, !s
  %d1 = mx.dequantize ins(%q1#0, %q1#1 : !e1, !s) outs(%d0 : !x) -> !x
  %e2 = tensor.empty(%n) : !e2
  %q2:2 = mx.quantize ins(%x : !x) outs(%e2, %s0 : !e2, !s) scale_rounding = floor -> !e2, !s
  %d2 = mx.dequantize ins(%q2#0, %q2#1 : !e2, !s) outs(%d0 : !x) -> !x
  %e3 = tensor.empty(%n) : !e3
  %q3:2 = mx.quantize ins(%x : !x) outs(%e3, %s0 : !e3, !s) scale_rounding = floor -> !e3, !s
  %d3 = mx.dequantize ins(%q3#0, %q3#1 : !e3, !s) outs(%d0 : !x) -> !x
  return %d1, %d2, %d3 : !x, !x, !x
}
