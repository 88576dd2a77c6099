// The number of rows is known only at run time.
!a = tensor<?x7168xbf16>
!b = tensor<4096x7168xf4E2M1FN>
!bs = tensor<4096x224xf8E8M0FNU>
!y = tensor<?x4096xbf16>
func.func @main(%a: !a, %b: !b, %bs: !bs) -> !y {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : !a
  %init = tensor.empty(%rows) : !y
  %y = mx.matmul ins(%a, %b, %bs : !a, !b, !bs) outs(%init : !y) -> !y
  return %y : !y
}
