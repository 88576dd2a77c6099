// RUN: %corpus %s

// insert_slice writes new keys into a cache at a position from an argument. The cache is returned.
!cache = tensor<2x3x40x16xbf16>
!new = tensor<2x3x?x16xbf16>
func.func @main(%cache: !cache, %new: !new, %position: index) -> !cache {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %new, %c2 : !new
  %y = tensor.insert_slice %new into %cache[0, 0, %position, 0] [2, 3, %n, 16] [1, 1, 1, 1] : !new into !cache
  return %y : !cache
}
