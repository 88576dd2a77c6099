// RUN: %corpus %s

// collapse_shape merges batch and sequence into rows, expand_shape splits the rows, and a cast drops a static size.
!x = tensor<3x7x64xbf16>
!r = tensor<21x64xbf16>
!e = tensor<21x64xf8E4M3FN>
!s = tensor<21x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<40x64xf8E4M3FN>
!ws = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%x: !x, %w: !w, %ws: !ws) -> tensor<?x7x40xf32> {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : !x into !r
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%rows : !r) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty() : tensor<21x40xf32>
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !e, !s, !w, !ws) outs(%y0 : tensor<21x40xf32>) -> tensor<21x40xf32>
  %z = tensor.expand_shape %y [[0, 1], [2]] output_shape [3, 7, 40] : tensor<21x40xf32> into tensor<3x7x40xf32>
  %c = tensor.cast %z : tensor<3x7x40xf32> to tensor<?x7x40xf32>
  return %c : tensor<?x7x40xf32>
}
