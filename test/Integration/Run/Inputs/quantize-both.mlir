// Quantizes a matrix along both axes with a single read.

!matrix = tensor<?x?xbf16>
!elements = tensor<?x?xf8E4M3FN>
!scales = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

func.func @main(%x: !matrix) -> (!elements, !scales, !elements, !scales) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %m = tensor.dim %x, %c0 : !matrix
  %k = tensor.dim %x, %c1 : !matrix
  %blocksM = arith.divui %m, %c32 : index
  %blocksK = arith.divui %k, %c32 : index
  %e = tensor.empty(%m, %k) : !elements
  %s = tensor.empty(%m, %blocksK) : !scales
  %et = tensor.empty(%k, %m) : !elements
  %st = tensor.empty(%k, %blocksM) : !scales
  %q:4 = mx.quantize ins(%x : !matrix)
      outs(%e, %s, %et, %st : !elements, !scales, !elements, !scales)
      axes = [1, 0] -> !elements, !scales, !elements, !scales
  return %q#0, %q#1, %q#2, %q#3 : !elements, !scales, !elements, !scales
}
