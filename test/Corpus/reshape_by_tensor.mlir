// RUN: %corpus %s

// A reshape with sizes from a tensor.
func.func @main(%x: tensor<?xf32>, %sizes: tensor<2xindex>) -> tensor<?x?xf32> {
  %y = tensor.reshape %x(%sizes) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
