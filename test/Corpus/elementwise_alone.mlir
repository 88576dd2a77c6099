// RUN: %corpus %s

// A single elementwise operation: clamps a dynamic rank-3 f16 tensor.
!t = tensor<?x5x?xf16>
#id = affine_map<(i, j, k) -> (i, j, k)>
func.func @main(%x: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %x, %c0 : !t
  %n = tensor.dim %x, %c2 : !t
  %y0 = tensor.empty(%m, %n) : !t
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : !t) outs(%y0 : !t) {
  ^bb0(%v: f16, %o: f16):
    %low = arith.constant -0.5 : f16
    %high = arith.constant 0.75 : f16
    %a = arith.maximumf %v, %low : f16
    %b = arith.minimumf %a, %high : f16
    linalg.yield %b : f16
  } -> !t
  return %y : !t
}
