// RUN: %corpus %s

// TOSA operations that are not block-scaled: upstream passes must lower these to linalg first.
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %z = tosa.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}
