// RUN: %corpus %s

// TOSA operations without block scales, which upstream passes must first lower to linalg.
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %z = tosa.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}
