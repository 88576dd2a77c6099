// RUN: %corpus %s

// Strided slices of linear scales (every second layer) converted to tiles for a matmul.
!a = tensor<20x64xf8E4M3FN>
!as = tensor<40x2xf8E8M0FNU>
!b = tensor<24x64xf8E4M3FN>
!bs = tensor<24x2xf8E8M0FNU>
!ts = tensor<20x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!us = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<20x24xf32>
func.func @main(%a: !a, %all: !as, %b: !b, %bs: tensor<24x4xf8E8M0FNU>) -> !y {
  %as = tensor.extract_slice %all[1, 0] [20, 2] [2, 1] : !as to tensor<20x2xf8E8M0FNU>
  %cs = tensor.extract_slice %bs[0, 0] [24, 2] [1, 2] : tensor<24x4xf8E8M0FNU> to !bs
  %t0 = tensor.empty() : !ts
  %t = mx.relayout ins(%as : tensor<20x2xf8E8M0FNU>) outs(%t0 : !ts) -> !ts
  %u0 = tensor.empty() : !us
  %u = mx.relayout ins(%cs : !bs) outs(%u0 : !us) -> !us
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %t, %b, %u : !a, !ts, !b, !us) outs(%y0 : !y) -> !y
  return %y : !y
}
