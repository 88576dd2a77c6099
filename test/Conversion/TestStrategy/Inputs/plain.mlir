!a = tensor<?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<?x?xf32>
func.func @main(%a: !a, %as: !s, %b: !a, %bs: !s, %out: !d) -> !d {
  %d = mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%out : !d) -> !d
  return %d : !d
}
