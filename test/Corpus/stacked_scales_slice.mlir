// RUN: %corpus %s

// Stacked pre-quantized weights of all layers. Scales are sliced at a layer index from an argument.
!a = tensor<34x64xf8E4M3FN>
!as = tensor<34x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!all = tensor<5x40x64xf4E2M1FN>
!alls = tensor<5x40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<40x64xf4E2M1FN>
!ws = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ae = tensor<34x128xf8E4M3FN>
!y = tensor<34x40xbf16>
func.func @main(%x: tensor<34x64xbf16>, %all: !all, %alls: !alls, %layer: index) -> !y {
  %w = tensor.extract_slice %all[%layer, 0, 0] [1, 40, 64] [1, 1, 1] : !all to !w
  %ws = tensor.extract_slice %alls[%layer, 0, 0] [1, 40, 2] [1, 1, 1] : !alls to !ws
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%x, %w, %ws : tensor<34x64xbf16>, !w, !ws) outs(%y0 : !y) -> !y
  return %y : !y
}
