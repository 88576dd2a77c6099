// A matmul with weights of static size and a dynamic number of rows.

!a = tensor<?x8192xf8E4M3FN>
!as = tensor<?x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<8192x8192xf8E4M3FN>
!bs = tensor<8192x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x8192xbf16>

func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) -> !y
  return %0 : !y
}
