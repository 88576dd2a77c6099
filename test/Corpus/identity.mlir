// RUN: %corpus %s

// A function that returns its arguments in another order, without computation.
func.func @main(%x: tensor<?x3xbf16>, %n: i32, %y: tensor<2xi1>) -> (tensor<2xi1>, tensor<?x3xbf16>, i32) {
  return %y, %x, %n : tensor<2xi1>, tensor<?x3xbf16>, i32
}
