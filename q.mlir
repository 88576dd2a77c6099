func.func @main(%x: tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN> {
 %y = arith.mulf %x, %x : tensor<4xf4E2M1FN>
 return %y : tensor<4xf4E2M1FN>
}
