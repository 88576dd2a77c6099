// Matmul of folded operands with an explicit schedule.

!a = tensor<?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x?xbf16>

func.func @dense(%a: !a, %as: !s, %b: !a, %bs: !s) -> !y {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : !a
  %n = tensor.dim %b, %c0 : !a
  %init = tensor.empty(%m, %n) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%init : !y)
      block_size = 128 b_block_size = row promote = 128
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 3>} -> !y
  return %y : !y
}
