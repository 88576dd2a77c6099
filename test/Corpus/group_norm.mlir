// RUN: %corpus %s

// Group norm of images with 6 channels in 3 groups: sums over the channels, rows and columns of each group.
!x = tensor<2x3x2x5x7xf32>
!v = tensor<2x3xf32>
#id = affine_map<(n, g, c, i, j) -> (n, g, c, i, j)>
#group = affine_map<(n, g, c, i, j) -> (n, g)>
#channel = affine_map<(n, g, c, i, j) -> (g, c)>
func.func @main(%image: tensor<2x6x5x7xf32>, %weight: tensor<6xf32>) -> tensor<2x6x5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %x = tensor.expand_shape %image [[0], [1, 2], [3], [4]] output_shape [2, 3, 2, 5, 7] : tensor<2x6x5x7xf32> into !x
  %w = tensor.expand_shape %weight [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
  %v0 = tensor.empty() : !v
  %v1 = linalg.fill ins(%zero : f32) outs(%v0 : !v) -> !v
  %sums:2 = linalg.generic {indexing_maps = [#id, #group, #group],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x : !x) outs(%v1, %v1 : !v, !v) {
  ^bb0(%e: f32, %s: f32, %t: f32):
    %s1 = arith.addf %s, %e : f32
    %sq = arith.mulf %e, %e : f32
    %t1 = arith.addf %t, %sq : f32
    linalg.yield %s1, %t1 : f32, f32
  } -> (!v, !v)
  %y0 = tensor.empty() : !x
  %y = linalg.generic {indexing_maps = [#id, #group, #group, #channel, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sums#0, %sums#1, %w : !x, !v, !v, tensor<3x2xf32>) outs(%y0 : !x) {
  ^bb0(%e: f32, %s: f32, %t: f32, %g: f32, %o: f32):
    %size = arith.constant 70.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %mean = arith.divf %s, %size : f32
    %square = arith.divf %t, %size : f32
    %mm = arith.mulf %mean, %mean : f32
    %var = arith.subf %square, %mm : f32
    %safe = arith.addf %var, %eps : f32
    %r = math.rsqrt %safe : f32
    %d = arith.subf %e, %mean : f32
    %n = arith.mulf %d, %r : f32
    %z = arith.mulf %n, %g : f32
    linalg.yield %z : f32
  } -> !x
  %image2 = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : !x into tensor<2x6x5x7xf32>
  return %image2 : tensor<2x6x5x7xf32>
}
