// RUN: %corpus %s

// ALiBi in a window: a slope times the distance of key and query is subtracted. Masked scores are the lowest number.
!s = tensor<3x?x?xf32>
#id = affine_map<(h, i, j) -> (h, i, j)>
func.func @main(%s: !s, %slope: tensor<3xf32>, %window: index) -> !s {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %s, %c1 : !s
  %n = tensor.dim %s, %c2 : !s
  %y0 = tensor.empty(%m, %n) : !s
  %y = linalg.generic {indexing_maps = [#id, affine_map<(h, i, j) -> (h)>, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %slope : !s, tensor<3xf32>) outs(%y0 : !s) {
  ^bb0(%v: f32, %k: f32, %o: f32):
    %low = arith.constant -3.0e38 : f32
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %d = arith.subi %i, %j : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %bias = arith.mulf %df, %k : f32
    %r = arith.subf %v, %bias : f32
    %before = arith.cmpi sle, %j, %i : index
    %near = arith.cmpi slt, %d, %window : index
    %both = arith.andi %before, %near : i1
    %z = arith.select %both, %r, %low : f32
    linalg.yield %z : f32
  } -> !s
  return %y : !s
}
