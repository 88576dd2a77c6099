// RUN: %corpus %s

// A matmul accumulates into an argument, then relu: the matmul reads `outs`.
!a = tensor<?x64xf8E4M3FN>
!as = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<24x64xf8E4M3FN>
!bs = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x24xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %acc: !y) -> !y {
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%acc : !y) accumulate -> !y
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : !a
  %z0 = tensor.empty(%n) : !y
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : !y) outs(%z0 : !y) {
  ^bb0(%v: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %v, %zero : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y
}
