// RUN: %corpus %s

// Softmax of scores divided by a temperature, which is an argument.
!t = tensor<2x?x17xf32>
#id = affine_map<(i, j, k) -> (i, j, k)>
func.func @main(%x: !t, %temperature: f32) -> !t {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !t
  %y0 = tensor.empty(%n) : !t
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : !t) outs(%y0 : !t) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.divf %v, %temperature : f32
    linalg.yield %r : f32
  } -> !t
  %y = linalg.softmax dimension(2) ins(%s : !t) outs(%y0 : !t) -> !t
  return %y : !t
}
