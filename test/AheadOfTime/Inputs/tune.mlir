// Two matmuls with the same form, one with another form, and one with a schedule.
!a = tensor<512x256xf8E4M3FN>
!as = tensor<512x8xf8E8M0FNU>
!b = tensor<384x256xf8E4M3FN>
!bs = tensor<384x8xf8E8M0FNU>
!y = tensor<512x384xbf16>
!z = tensor<512x384xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %c: !b) -> (!y, !y, !z, !y) {
  %y0 = tensor.empty() : !y
  %z0 = tensor.empty() : !z
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %x = mx.matmul ins(%a, %as, %c, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %z = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%z0 : !z) -> !z
  %w = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64]>} -> !y
  return %y, %x, %z, %w : !y, !y, !z, !y
}
