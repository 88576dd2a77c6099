// RUN: %corpus %s

// Looks up the embedding row of each token. The row of a negative token is zero.
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%table: tensor<?x12xbf16>, %tokens: tensor<?xi64>) -> tensor<?x12xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi64>
  %y0 = tensor.empty(%n) : tensor<?x12xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<?xi64>) outs(%y0 : tensor<?x12xbf16>) {
  ^bb0(%token: i64, %o: bf16):
    %zero = arith.constant 0 : i64
    %none = arith.constant 0.0 : bf16
    %j = linalg.index 1 : index
    %hidden = arith.cmpi slt, %token, %zero : i64
    %r = scf.if %hidden -> bf16 {
      scf.yield %none : bf16
    } else {
      %i = arith.index_cast %token : i64 to index
      %e = tensor.extract %table[%i, %j] : tensor<?x12xbf16>
      scf.yield %e : bf16
    }
    linalg.yield %r : bf16
  } -> tensor<?x12xbf16>
  return %y : tensor<?x12xbf16>
}
