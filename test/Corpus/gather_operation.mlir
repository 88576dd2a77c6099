// RUN: %corpus %s

// tensor.gather, which no pass bufferizes.
func.func @main(%x: tensor<9x4xf32>, %places: tensor<5x1xindex>) -> tensor<5x4xf32> {
  %y = tensor.gather %x[%places] gather_dims([0]) : (tensor<9x4xf32>, tensor<5x1xindex>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}
