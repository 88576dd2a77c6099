// RUN: %corpus %s

// Returns an argument after an update in place, and its old value. Neither may overwrite the other.
!t = tensor<?x5xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !t, %row: tensor<1x5xf32>) -> (!t, !t, !t) {
  %c0 = arith.constant 0 : index
  %a = tensor.insert_slice %row into %x[1, 0] [1, 5] [1, 1] : tensor<1x5xf32> into !t
  %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%a : !t) {
  ^bb0(%v: f32):
    %two = arith.constant 2.0 : f32
    %r = arith.mulf %v, %two : f32
    linalg.yield %r : f32
  } -> !t
  return %a, %x, %b : !t, !t, !t
}
