// RUN: %corpus %s

// A step of Adam with bf16 gradients, f32 state and a bf16 copy of the weights.
!w = tensor<?xf32>
!g = tensor<?xbf16>
#id = affine_map<(i) -> (i)>
func.func @main(%w: !w, %g: !g, %m: !w, %v: !w, %correction: f32) -> (!w, !w, !w, !g) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !w
  %w0 = tensor.empty(%n) : !w
  %b0 = tensor.empty(%n) : !g
  %r:4 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%w, %g, %m, %v : !w, !g, !w, !w) outs(%w0, %w0, %w0, %b0 : !w, !w, !w, !g) {
  ^bb0(%weight: f32, %grad: bf16, %m1: f32, %m2: f32, %o0: f32, %o1: f32, %o2: f32, %o3: bf16):
    %p9 = arith.constant 0.9 : f32
    %p1 = arith.constant 0.1 : f32
    %p99 = arith.constant 0.99 : f32
    %p01 = arith.constant 0.01 : f32
    %eps = arith.constant 1.0e-8 : f32
    %gf = arith.extf %grad : bf16 to f32
    %a = arith.mulf %m1, %p9 : f32
    %b = arith.mulf %gf, %p1 : f32
    %first = arith.addf %a, %b : f32
    %gg = arith.mulf %gf, %gf : f32
    %c = arith.mulf %m2, %p99 : f32
    %d = arith.mulf %gg, %p01 : f32
    %second = arith.addf %c, %d : f32
    %root = math.sqrt %second : f32
    %safe = arith.addf %root, %eps : f32
    %ratio = arith.divf %first, %safe : f32
    %step = arith.mulf %ratio, %correction : f32
    %next = arith.subf %weight, %step : f32
    %narrow = arith.truncf %next : f32 to bf16
    linalg.yield %next, %first, %second, %narrow : f32, f32, f32, bf16
  } -> (!w, !w, !w, !g)
  return %r#0, %r#1, %r#2, %r#3 : !w, !w, !w, !g
}
