// RUN: %corpus %s

// The two largest elements of each row and their indices: a loop finds the maximum, then masks it.
!x = tensor<?x11xf32>
!v = tensor<?x2xf32>
!p = tensor<?x2xi32>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: !x) -> (!v, !p) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  %n = tensor.dim %x, %c0 : !x
  %v0 = tensor.empty(%n) : !v
  %p0 = tensor.empty(%n) : !p
  %r:3 = scf.for %k = %c0 to %c2 step %c1 iter_args(%rest = %x, %v = %v0, %p = %p0) -> (!x, !v, !p) {
    %m0 = tensor.empty(%n) : tensor<?xf32>
    %m1 = linalg.fill ins(%low : f32) outs(%m0 : tensor<?xf32>) -> tensor<?xf32>
    %i0 = tensor.empty(%n) : tensor<?xi32>
    %i1 = linalg.fill ins(%none : i32) outs(%i0 : tensor<?xi32>) -> tensor<?xi32>
    %best:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
        ins(%rest : !x) outs(%m1, %i1 : tensor<?xf32>, tensor<?xi32>) {
    ^bb0(%e: f32, %most: f32, %place: i32):
      %j = linalg.index 1 : index
      %ji = arith.index_cast %j : index to i32
      %more = arith.cmpf ogt, %e, %most : f32
      %a = arith.select %more, %e, %most : f32
      %b = arith.select %more, %ji, %place : i32
      linalg.yield %a, %b : f32, i32
    } -> (tensor<?xf32>, tensor<?xi32>)
    %v1 = tensor.insert_slice %best#0 into %v[0, %k] [%n, 1] [1, 1] : tensor<?xf32> into !v
    %p1 = tensor.insert_slice %best#1 into %p[0, %k] [%n, 1] [1, 1] : tensor<?xi32> into !p
    %h0 = tensor.empty(%n) : !x
    %hidden = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%rest, %best#1 : !x, tensor<?xi32>) outs(%h0 : !x) {
    ^bb0(%e: f32, %place: i32, %o: f32):
      %j = linalg.index 1 : index
      %ji = arith.index_cast %j : index to i32
      %same = arith.cmpi eq, %ji, %place : i32
      %a = arith.select %same, %low, %e : f32
      linalg.yield %a : f32
    } -> !x
    scf.yield %hidden, %v1, %p1 : !x, !v, !p
  }
  return %r#1, %r#2 : !v, !p
}
