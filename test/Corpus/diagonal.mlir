// RUN: %corpus %s

// In f64: the diagonal of a matrix, read through an index map, its trace, and the elements above the diagonal.
!a = tensor<7x7xf64>
func.func @main(%a: !a) -> (tensor<7xf64>, tensor<f64>, !a) {
  %zero = arith.constant 0.0 : f64
  %d0 = tensor.empty() : tensor<7xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : !a) outs(%d0 : tensor<7xf64>) {
  ^bb0(%v: f64, %o: f64):
    linalg.yield %v : f64
  } -> tensor<7xf64>
  %t0 = tensor.empty() : tensor<f64>
  %t1 = linalg.fill ins(%zero : f64) outs(%t0 : tensor<f64>) -> tensor<f64>
  %t = linalg.reduce { arith.addf } ins(%d : tensor<7xf64>) outs(%t1 : tensor<f64>) dimensions = [0]
  %u0 = tensor.empty() : !a
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : !a) outs(%u0 : !a) {
  ^bb0(%v: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %above = arith.cmpi ugt, %j, %i : index
    %r = arith.select %above, %v, %zero : f64
    linalg.yield %r : f64
  } -> !a
  return %d, %t, %u : tensor<7xf64>, tensor<f64>, !a
}
