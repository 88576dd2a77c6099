// RUN: %corpus %s

// Experts with ragged rows: sorted tokens, group ends on the device, and an expert without tokens.
!x = tensor<?x64xbf16>
!e = tensor<?x64xf8E4M3FN>
!s = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!w = tensor<4x40x64xf8E4M3FN>
!ws = tensor<4x40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x40xbf16>
func.func @main(%x: !x, %ends: tensor<4xi32>, %w: !w, %ws: !ws) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ragged = rows ins(%x : !x) offsets(%ends : tensor<4xi32>) outs(%e0, %s0 : !e, !s) -> !e, !s
  %y0 = tensor.empty(%n) : !y
  %y = mx.grouped_matmul ragged = rows ins(%q#0, %q#1, %w, %ws : !e, !s, !w, !ws) offsets(%ends : tensor<4xi32>)
      outs(%y0 : !y) -> !y
  return %y : !y
}
