// RUN: %corpus %s

// Stacked bf16 weights of four layers: a static slice is quantized and multiplied.
!all = tensor<4x56x64xbf16>
!w = tensor<56x64xbf16>
!x = tensor<29x64xbf16>
!e = tensor<29x64xf8E4M3FN>
!s = tensor<29x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!we = tensor<56x64xf8E4M3FN>
!ws = tensor<56x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<29x56xf32>
func.func @main(%x: !x, %all: !all) -> !y {
  %w = tensor.extract_slice %all[2, 0, 0] [1, 56, 64] [1, 1, 1] : !all to !w
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %we0 = tensor.empty() : !we
  %ws0 = tensor.empty() : !ws
  %p:2 = mx.quantize ins(%w : !w) outs(%we0, %ws0 : !we, !ws) -> !we, !ws
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%q#0, %q#1, %p#0, %p#1 : !e, !s, !we, !ws) outs(%y0 : !y) -> !y
  return %y : !y
}
