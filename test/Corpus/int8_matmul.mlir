// RUN: %corpus %s

// An integer matmul, i8 x i8 to i32, then a multiplication by f32 factors for rows and columns.
!a = tensor<?x40xi8>
!b = tensor<24x40xi8>
!y = tensor<?x24xf32>
func.func @main(%a: !a, %b: !b, %row: tensor<?xf32>, %column: tensor<24xf32>) -> !y {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %n = tensor.dim %a, %c0 : !a
  %i0 = tensor.empty(%n) : tensor<?x24xi32>
  %i1 = linalg.fill ins(%zero : i32) outs(%i0 : tensor<?x24xi32>) -> tensor<?x24xi32>
  %i = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : !a, !b) outs(%i1 : tensor<?x24xi32>) -> tensor<?x24xi32>
  %y0 = tensor.empty(%n) : !y
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%i, %row, %column : tensor<?x24xi32>, tensor<?xf32>, tensor<24xf32>) outs(%y0 : !y) {
  ^bb0(%v: i32, %r: f32, %c: f32, %o: f32):
    %f = arith.sitofp %v : i32 to f32
    %p = arith.mulf %f, %r : f32
    %q = arith.mulf %p, %c : f32
    linalg.yield %q : f32
  } -> !y
  return %y : !y
}
