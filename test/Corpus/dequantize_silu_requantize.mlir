// RUN: %corpus %s

// An activation between two block-scaled layers: dequantize, silu, and quantize to another format.
!e = tensor<?x192xf8E4M3FN>
!s = tensor<?x6xf8E8M0FNU>
!f = tensor<?x192xf32>
!e4 = tensor<?x192xf4E2M1FN>
!s4 = tensor<?x6xf8E8M0FNU>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%e: !e, %s: !s) -> (!e4, !s4) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %e, %c0 : !e
  %d0 = tensor.empty(%n) : !f
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%d0 : !f) -> !f
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%d : !f) outs(%d0 : !f) {
  ^bb0(%v: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %m = arith.negf %v : f32
    %x = math.exp %m : f32
    %p = arith.addf %x, %one : f32
    %y = arith.divf %v, %p : f32
    linalg.yield %y : f32
  } -> !f
  %e0 = tensor.empty(%n) : !e4
  %s0 = tensor.empty(%n) : !s4
  %q:2 = mx.quantize ins(%z : !f) outs(%e0, %s0 : !e4, !s4) scale_rounding = floor -> !e4, !s4
  return %q#0, %q#1 : !e4, !s4
}
