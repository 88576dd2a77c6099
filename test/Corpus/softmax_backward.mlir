// RUN: %corpus %s

// The gradient of cross entropy: (softmax of the logits minus one-hot labels) divided by the number of rows.
!x = tensor<?x15xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x, %labels: tensor<?xi64>) -> tensor<?x15xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %p0 = tensor.empty(%n) : !x
  %p = linalg.softmax dimension(1) ins(%x : !x) outs(%p0 : !x) -> !x
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %y0 = tensor.empty(%n) : tensor<?x15xbf16>
  %y = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %labels : !x, tensor<?xi64>) outs(%y0 : tensor<?x15xbf16>) {
  ^bb0(%v: f32, %label: i64, %o: bf16):
    %one = arith.constant 1.0 : f32
    %j = linalg.index 1 : index
    %ji = arith.index_cast %j : index to i64
    %hit = arith.cmpi eq, %ji, %label : i64
    %less = arith.subf %v, %one : f32
    %d = arith.select %hit, %less, %v : f32
    %g = arith.divf %d, %nf : f32
    %t = arith.truncf %g : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x15xbf16>
  return %y : tensor<?x15xbf16>
}
