// RUN: %corpus %s

// Gradients clipped by their norm: a sum over the whole tensor, its root, and a rank-0 factor.
!g = tensor<?x6xf32>
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
func.func @main(%g: !g, %most: f32) -> (!g, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %g, %c0 : !g
  %t0 = tensor.empty() : tensor<f32>
  %t1 = linalg.fill ins(%zero : f32) outs(%t0 : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%g : !g) outs(%t1 : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %sq = arith.mulf %v, %v : f32
    %r = arith.addf %acc, %sq : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %norm = math.sqrt %t : tensor<f32>
  %y0 = tensor.empty(%n) : !g
  %y = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%g, %norm : !g, tensor<f32>) outs(%y0 : !g) {
  ^bb0(%v: f32, %l: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %ratio = arith.divf %most, %l : f32
    %factor = arith.minimumf %ratio, %one : f32
    %r = arith.mulf %v, %factor : f32
    linalg.yield %r : f32
  } -> !g
  return %y, %norm : !g, tensor<f32>
}
