// Returns the elements and scales of a quantized operand, as in the main example.

!matrix = tensor<?x?xbf16>
!elements = tensor<?x?xf8E4M3FN>
!scales = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func @main(%x: !matrix) -> (!elements, !scales) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = tensor.dim %x, %c0 : !matrix
  %k = tensor.dim %x, %c1 : !matrix
  %blocks = arith.divui %k, %c32 : index
  %e = tensor.empty(%m, %k) : !elements
  %s = tensor.empty(%m, %blocks) : !scales
  %q:2 = mx.quantize ins(%x : !matrix)
      outs(%e, %s : !elements, !scales) -> !elements, !scales
  return %q#0, %q#1 : !elements, !scales
}
