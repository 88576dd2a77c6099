// RUN: %corpus %s

// A matmul, then an elementwise addition of the residual stream.
!e = tensor<43x128xf8E5M2>
!s = tensor<43x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<88x128xf6E3M2FN>
!ws = tensor<88x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<43x88xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%a: !e, %as: !s, %w: !w, %ws: !ws, %residual: tensor<43x88xbf16>) -> tensor<43x88xbf16> {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %w, %ws : !e, !s, !w, !ws) outs(%y0 : !y) -> !y
  %z0 = tensor.empty() : tensor<43x88xbf16>
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %residual : !y, tensor<43x88xbf16>) outs(%z0 : tensor<43x88xbf16>) {
  ^bb0(%v: f32, %r: bf16, %o: bf16):
    %wide = arith.extf %r : bf16 to f32
    %sum = arith.addf %v, %wide : f32
    %n = arith.truncf %sum : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<43x88xbf16>
  return %z : tensor<43x88xbf16>
}
