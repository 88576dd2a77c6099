// RUN: %corpus %s

// Batch norm for NCHW inference, folded into a scale and a shift computed by a separate operation.
!x = tensor<?x4x3x5xf32>
!v = tensor<4xf32>
#c = affine_map<(c) -> (c)>
#id = affine_map<(n, c, i, j) -> (n, c, i, j)>
#channel = affine_map<(n, c, i, j) -> (c)>
func.func @main(%x: !x, %mean: !v, %var: !v, %g: !v, %b: !v) -> !x {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %v0 = tensor.empty() : !v
  %f:2 = linalg.generic {indexing_maps = [#c, #c, #c, #c, #c, #c], iterator_types = ["parallel"]}
      ins(%mean, %var, %g, %b : !v, !v, !v, !v) outs(%v0, %v0 : !v, !v) {
  ^bb0(%m: f32, %s: f32, %w: f32, %bias: f32, %o0: f32, %o1: f32):
    %eps = arith.constant 0.001 : f32
    %safe = arith.addf %s, %eps : f32
    %root = math.sqrt %safe : f32
    %factor = arith.divf %w, %root : f32
    %mf = arith.mulf %m, %factor : f32
    %shift = arith.subf %bias, %mf : f32
    linalg.yield %factor, %shift : f32, f32
  } -> (!v, !v)
  %y0 = tensor.empty(%n) : !x
  %y = linalg.generic {indexing_maps = [#id, #channel, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %f#0, %f#1 : !x, !v, !v) outs(%y0 : !x) {
  ^bb0(%e: f32, %p: f32, %q: f32, %o: f32):
    %t = arith.mulf %e, %p : f32
    %r = arith.addf %t, %q : f32
    linalg.yield %r : f32
  } -> !x
  return %y : !x
}
