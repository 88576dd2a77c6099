// RUN: %corpus %s

// An MXFP8 key cache: quantizes new keys, writes their elements and scales at a position, and dequantizes all keys.
!new = tensor<?x64xbf16>
!e = tensor<20x64xf8E4M3FN>
!s = tensor<20x2xf8E8M0FNU>
!ne = tensor<?x64xf8E4M3FN>
!ns = tensor<?x2xf8E8M0FNU>
func.func @main(%e: !e, %s: !s, %new: !new, %position: index) -> (!e, !s, tensor<20x64xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %new, %c0 : !new
  %e0 = tensor.empty(%n) : !ne
  %s0 = tensor.empty(%n) : !ns
  %q:2 = mx.quantize ins(%new : !new) outs(%e0, %s0 : !ne, !ns) -> !ne, !ns
  %e1 = tensor.insert_slice %q#0 into %e[%position, 0] [%n, 64] [1, 1] : !ne into !e
  %s1 = tensor.insert_slice %q#1 into %s[%position, 0] [%n, 2] [1, 1] : !ns into !s
  %d0 = tensor.empty() : tensor<20x64xbf16>
  %d = mx.dequantize ins(%e1, %s1 : !e, !s) outs(%d0 : tensor<20x64xbf16>) -> tensor<20x64xbf16>
  return %e1, %s1, %d : !e, !s, tensor<20x64xbf16>
}
