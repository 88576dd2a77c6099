// RUN: %corpus %s

// Dequantization, then multiplication by a scalar argument.
!e = tensor<?x96xf6E2M3FN>
!s = tensor<?x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!f = tensor<?x96xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%e: !e, %s: !s, %factor: f32) -> !f {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %e, %c0 : !e
  %d0 = tensor.empty(%n) : !f
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%d0 : !f) -> !f
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%d : !f) outs(%d0 : !f) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %factor : f32
    linalg.yield %r : f32
  } -> !f
  return %z : !f
}
