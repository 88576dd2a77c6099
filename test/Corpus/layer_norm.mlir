// RUN: %corpus %s

// Layer norm of bf16 rows with weight and bias: the mean, then the variance of the centered rows.
!x = tensor<?x48xbf16>
!v = tensor<?xf32>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: !x, %g: tensor<48xf32>, %b: tensor<48xf32>) -> !x {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %v0 = tensor.empty(%n) : !v
  %v1 = linalg.fill ins(%zero : f32) outs(%v0 : !v) -> !v
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : !x) outs(%v1 : !v) {
  ^bb0(%e: bf16, %acc: f32):
    %f = arith.extf %e : bf16 to f32
    %r = arith.addf %acc, %f : f32
    linalg.yield %r : f32
  } -> !v
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : !v) outs(%v0 : !v) {
  ^bb0(%e: f32, %o: f32):
    %size = arith.constant 48.0 : f32
    %r = arith.divf %e, %size : f32
    linalg.yield %r : f32
  } -> !v
  %var = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %mean : !x, !v) outs(%v1 : !v) {
  ^bb0(%e: bf16, %m: f32, %acc: f32):
    %f = arith.extf %e : bf16 to f32
    %d = arith.subf %f, %m : f32
    %sq = arith.mulf %d, %d : f32
    %r = arith.addf %acc, %sq : f32
    linalg.yield %r : f32
  } -> !v
  %y0 = tensor.empty(%n) : !x
  %y = linalg.generic {indexing_maps = [#id, #row, #row, #column, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean, %var, %g, %b : !x, !v, !v, tensor<48xf32>, tensor<48xf32>) outs(%y0 : !x) {
  ^bb0(%e: bf16, %m: f32, %s: f32, %w: f32, %bias: f32, %o: bf16):
    %size = arith.constant 48.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %f = arith.extf %e : bf16 to f32
    %d = arith.subf %f, %m : f32
    %vv = arith.divf %s, %size : f32
    %safe = arith.addf %vv, %eps : f32
    %root = math.sqrt %safe : f32
    %norm = arith.divf %d, %root : f32
    %scaled = arith.mulf %norm, %w : f32
    %r = arith.addf %scaled, %bias : f32
    %t = arith.truncf %r : f32 to bf16
    linalg.yield %t : bf16
  } -> !x
  return %y : !x
}
