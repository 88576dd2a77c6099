// RUN: %corpus %s

// linalg.broadcast of a bias to all rows of a batch, and linalg.add.
!t = tensor<3x?x10xf32>
func.func @main(%x: !t, %b: tensor<10xf32>) -> !t {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !t
  %y0 = tensor.empty(%n) : !t
  %bb = linalg.broadcast ins(%b : tensor<10xf32>) outs(%y0 : !t) dimensions = [0, 1]
  %y = linalg.add ins(%x, %bb : !t, !t) outs(%y0 : !t) -> !t
  return %y : !t
}
