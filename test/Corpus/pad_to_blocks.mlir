// RUN: %corpus %s

// Columns, padded with zeros to whole blocks, then quantized and multiplied.
!x = tensor<?x70xbf16>
!p = tensor<?x96xbf16>
!e = tensor<?x96xf8E4M3FN>
!s = tensor<?x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<24x96xf8E4M3FN>
!ws = tensor<24x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x24xf32>
func.func @main(%x: !x, %w: !w, %ws: !ws) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %n = tensor.dim %x, %c0 : !x
  %p = tensor.pad %x low[0, 0] high[0, 26] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : bf16
  } : !x to !p
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ins(%p : !p) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !e, !s, !w, !ws) outs(%y0 : !y) -> !y
  return %y : !y
}
