// RUN: %corpus %s

// The transpose of a matmul, written as a generic with a permuted map.
!a = tensor<27x64xf8E4M3FN>
!as = tensor<27x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<40x64xf8E4M3FN>
!bs = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<27x40xf32>
!t = tensor<40x27xbf16>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !t {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  %t0 = tensor.empty() : !t
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%y : !y) outs(%t0 : !t) {
  ^bb0(%v: f32, %o: bf16):
    %r = arith.truncf %v : f32 to bf16
    linalg.yield %r : bf16
  } -> !t
  return %t : !t
}
