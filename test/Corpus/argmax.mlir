// RUN: %corpus %s

// Argmax of each row: one reduction returns the maximum and its index. In a tie, the first index wins.
!x = tensor<?x23xf32>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: !x) -> (tensor<?xf32>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i64
  %n = tensor.dim %x, %c0 : !x
  %v0 = tensor.empty(%n) : tensor<?xf32>
  %v1 = linalg.fill ins(%low : f32) outs(%v0 : tensor<?xf32>) -> tensor<?xf32>
  %i0 = tensor.empty(%n) : tensor<?xi64>
  %i1 = linalg.fill ins(%none : i64) outs(%i0 : tensor<?xi64>) -> tensor<?xi64>
  %r:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : !x) outs(%v1, %i1 : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%v: f32, %best: f32, %place: i64):
    %j = linalg.index 1 : index
    %ji = arith.index_cast %j : index to i64
    %more = arith.cmpf ogt, %v, %best : f32
    %a = arith.select %more, %v, %best : f32
    %b = arith.select %more, %ji, %place : i64
    linalg.yield %a, %b : f32, i64
  } -> (tensor<?xf32>, tensor<?xi64>)
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xi64>
}
