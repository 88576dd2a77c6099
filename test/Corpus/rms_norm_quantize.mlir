// RUN: %corpus %s

// RMS norm of bf16 rows with a weight for each column, followed by quantization.
!x = tensor<?x128xbf16>
!e = tensor<?x128xf8E4M3FN>
!s = tensor<?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: !x, %w: tensor<128xbf16>) -> (!e, !s) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !x
  %m0 = tensor.empty(%n) : tensor<?xf32>
  %m1 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<?xf32>) -> tensor<?xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : !x) outs(%m1 : tensor<?xf32>) {
  ^bb0(%v: bf16, %acc: f32):
    %f = arith.extf %v : bf16 to f32
    %sq = arith.mulf %f, %f : f32
    %r = arith.addf %acc, %sq : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %y0 = tensor.empty(%n) : !x
  %y = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %w : !x, tensor<?xf32>, tensor<128xbf16>) outs(%y0 : !x) {
  ^bb0(%v: bf16, %t: f32, %g: bf16, %o: bf16):
    %size = arith.constant 0.0078125 : f32
    %eps = arith.constant 1.0e-5 : f32
    %f = arith.extf %v : bf16 to f32
    %gf = arith.extf %g : bf16 to f32
    %mean = arith.mulf %t, %size : f32
    %safe = arith.addf %mean, %eps : f32
    %r = math.rsqrt %safe : f32
    %a = arith.mulf %f, %r : f32
    %b = arith.mulf %a, %gf : f32
    %c = arith.truncf %b : f32 to bf16
    linalg.yield %c : bf16
  } -> !x
  %e0 = tensor.empty(%n) : !e
  %s0 = tensor.empty(%n) : !s
  %q:2 = mx.quantize ins(%y : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}
