// RUN: %corpus %s

// A matmul of packed tiles, as a CPU compiler's layout pass emits it: linalg.pack, linalg.mmt4d, linalg.unpack.
func.func @main(%a: tensor<10x14xf32>, %b: tensor<6x14xf32>) -> tensor<10x6xf32> {
  %zero = arith.constant 0.0 : f32
  %a0 = tensor.empty() : tensor<3x4x4x4xf32>
  %ap = linalg.pack %a padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %a0 : tensor<10x14xf32> -> tensor<3x4x4x4xf32>
  %b0 = tensor.empty() : tensor<2x4x4x4xf32>
  %bp = linalg.pack %b padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %b0 : tensor<6x14xf32> -> tensor<2x4x4x4xf32>
  %c0 = tensor.empty() : tensor<3x2x4x4xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<3x2x4x4xf32>) -> tensor<3x2x4x4xf32>
  %c = linalg.mmt4d ins(%ap, %bp : tensor<3x4x4x4xf32>, tensor<2x4x4x4xf32>) outs(%c1 : tensor<3x2x4x4xf32>) -> tensor<3x2x4x4xf32>
  %y0 = tensor.empty() : tensor<10x6xf32>
  %y = linalg.unpack %c inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %y0 : tensor<3x2x4x4xf32> -> tensor<10x6xf32>
  return %y : tensor<10x6xf32>
}
