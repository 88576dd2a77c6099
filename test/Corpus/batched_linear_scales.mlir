// RUN: %corpus %s

// Matmuls in a dynamic batch with linear scales. Rows and columns do not fill a tile.
!a = tensor<?x?x64xf8E4M3FN>
!as = tensor<?x?x2xf8E8M0FNU>
!b = tensor<?x150x64xf8E4M3FN>
!bs = tensor<?x150x2xf8E8M0FNU>
!y = tensor<?x?x150xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c0 : !a
  %m = tensor.dim %a, %c1 : !a
  %y0 = tensor.empty(%n, %m) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  return %y : !y
}
