// RUN: %corpus %s

// scf.if selects one of two weights: both branches contain a matmul, and the second branch adds a bias.
!a = tensor<31x64xf8E4M3FN>
!as = tensor<31x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<40x64xf8E4M3FN>
!bs = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<31x40xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%flag: i1, %a: !a, %as: !as, %b: !b, %bs: !bs, %c: !b, %cs: !bs, %bias: tensor<40xf32>) -> !y {
  %y0 = tensor.empty() : !y
  %y = scf.if %flag -> !y {
    %p = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
    scf.yield %p : !y
  } else {
    %p = mx.matmul ins(%a, %as, %c, %cs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
    %z = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : !y, tensor<40xf32>) outs(%y0 : !y) {
    ^bb0(%v: f32, %w: f32, %o: f32):
      %s = arith.addf %v, %w : f32
      linalg.yield %s : f32
    } -> !y
    scf.yield %z : !y
  }
  return %y : !y
}
