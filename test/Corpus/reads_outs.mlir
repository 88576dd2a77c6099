// RUN: %corpus %s

// An elementwise operation reads `outs` in its region: an exponential moving average in place.
!y = tensor<?x7xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%new: !y, %average: !y) -> !y {
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%new : !y) outs(%average : !y) {
  ^bb0(%v: f32, %old: f32):
    %keep = arith.constant 0.9 : f32
    %take = arith.constant 0.1 : f32
    %p = arith.mulf %old, %keep : f32
    %q = arith.mulf %v, %take : f32
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y
}
