// RUN: %corpus %s

// Rows shifted up by one row in place, so source and destination overlap, and a transpose added to its source.
!x = tensor<?x5xf32>
!s = tensor<5x5xf32>
func.func @main(%x: !x, %a: !s) -> (!x, !s) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : !x
  %m = arith.subi %n, %c1 : index
  %k = arith.addf %x, %x : !x
  %s = tensor.extract_slice %k[1, 0] [%m, 5] [1, 1] : !x to !x
  %y = tensor.insert_slice %s into %k[0, 0] [%m, 5] [1, 1] : !x into !x
  %b = arith.mulf %a, %a : !s
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%b : !s) outs(%b : !s) {
  ^bb0(%u: f32, %v: f32):
    %r = arith.subf %u, %v : f32
    linalg.yield %r : f32
  } -> !s
  return %y, %z : !x, !s
}
