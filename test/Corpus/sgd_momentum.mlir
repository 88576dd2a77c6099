// RUN: %corpus %s

// A step of SGD with momentum and weight decay: one generic returns new weights and new momentum.
!w = tensor<?x9xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%w: !w, %g: !w, %m: !w, %rate: f32) -> (!w, !w) {
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%g : !w) outs(%w, %m : !w, !w) {
  ^bb0(%grad: f32, %weight: f32, %momentum: f32):
    %decay = arith.constant 0.01 : f32
    %keep = arith.constant 0.9 : f32
    %d = arith.mulf %weight, %decay : f32
    %full = arith.addf %grad, %d : f32
    %old = arith.mulf %momentum, %keep : f32
    %new = arith.addf %old, %full : f32
    %step = arith.mulf %new, %rate : f32
    %next = arith.subf %weight, %step : f32
    linalg.yield %next, %new : f32, f32
  } -> (!w, !w)
  return %r#0, %r#1 : !w, !w
}
