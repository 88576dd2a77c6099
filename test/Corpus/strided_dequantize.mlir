// RUN: %corpus %s

// Dequantization with every second column of the scales, as if a file interleaved the scales of two models.
!e = tensor<?x96xf8E5M2>
!s = tensor<?x6xf8E8M0FNU>
!p = tensor<?x3xf8E8M0FNU>
!f = tensor<?x96xbf16>
func.func @main(%e: !e, %all: !s) -> !f {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %e, %c0 : !e
  %s = tensor.extract_slice %all[0, 1] [%n, 3] [1, 2] : !s to !p
  %d0 = tensor.empty(%n) : !f
  %d = mx.dequantize ins(%e, %s : !e, !p) outs(%d0 : !f) -> !f
  return %d : !f
}
