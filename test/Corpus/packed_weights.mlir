// RUN: %corpus %s

// One function packs weights for tensor cores (mx.pack_operand) and multiplies bf16 activations by them.
!x = tensor<?x128xbf16>
!w = tensor<40x128xf4E2M1FN>
!p = tensor<40x128xf4E2M1FN, #mxgpu.fragment_64x64>
!s = tensor<40x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x40xbf16>
func.func @main(%x: !x, %w: !w, %s: !s) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %p0 = tensor.empty() : !p
  %p = mx.pack_operand ins(%w : !w) outs(%p0 : !p) -> !p
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%x, %p, %s : !x, !p, !s) outs(%y0 : !y) -> !y
  return %y : !y
}
