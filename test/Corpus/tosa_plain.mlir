// RUN: %corpus %s

// Operations of TOSA that are not block-scaled: those are for upstream's passes to lower to linalg first.
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %z = tosa.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}
