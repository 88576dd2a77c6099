// RUN: %corpus %s

// Dropout in bf16 with a bit mask as an argument. Kept elements are scaled up.
!x = tensor<?x10xbf16>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x, %keep: tensor<?x10xi1>) -> !x {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %y0 = tensor.empty(%n) : !x
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %keep : !x, tensor<?x10xi1>) outs(%y0 : !x) {
  ^bb0(%v: bf16, %k: i1, %o: bf16):
    %zero = arith.constant 0.0 : bf16
    %factor = arith.constant 1.25 : bf16
    %s = arith.mulf %v, %factor : bf16
    %r = arith.select %k, %s, %zero : bf16
    linalg.yield %r : bf16
  } -> !x
  return %y : !x
}
