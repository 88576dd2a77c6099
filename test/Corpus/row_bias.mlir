// RUN: %corpus %s

// A bf16 bias and factor for each row of a matmul.
!a = tensor<?x64xf8E4M3FN>
!as = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<36x64xf8E4M3FN>
!bs = tensor<36x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x36xf32>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %bias: tensor<?xbf16>, %factor: tensor<?xbf16>) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %z = linalg.generic {indexing_maps = [#id, #row, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %bias, %factor : !y, tensor<?xbf16>, tensor<?xbf16>) outs(%y0 : !y) {
  ^bb0(%v: f32, %p: bf16, %q: bf16, %o: f32):
    %pw = arith.extf %p : bf16 to f32
    %qw = arith.extf %q : bf16 to f32
    %t = arith.mulf %v, %qw : f32
    %r = arith.addf %t, %pw : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y
}
