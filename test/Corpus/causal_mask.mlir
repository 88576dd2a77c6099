// RUN: %corpus %s

// A causal mask computed with linalg.index: scores of keys after the query become the lowest number.
!q = tensor<50x64xf8E4M3FN>
!qs = tensor<50x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<50x50xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%q: !q, %qs: !qs, %k: !q, %ks: !qs) -> !y {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%q, %qs, %k, %ks : !q, !qs, !q, !qs) outs(%y0 : !y) -> !y
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : !y) outs(%y0 : !y) {
  ^bb0(%v: f32, %o: f32):
    %low = arith.constant -3.0e38 : f32
    %eighth = arith.constant 0.125 : f32
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %hidden = arith.cmpi ugt, %j, %i : index
    %s = arith.mulf %v, %eighth : f32
    %r = arith.select %hidden, %low, %s : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y
}
