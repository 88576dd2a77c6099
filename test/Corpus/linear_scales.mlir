// RUN: %corpus %s

// A matmul with linear scales and dynamic rows.
!a = tensor<?x96xf8E4M3FN>
!as = tensor<?x3xf8E8M0FNU>
!b = tensor<56x96xf8E4M3FN>
!bs = tensor<56x3xf8E8M0FNU>
!y = tensor<?x56xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y
  return %y : !y
}
