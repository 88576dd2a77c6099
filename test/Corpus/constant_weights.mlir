// RUN: %corpus %s

// A constant table of distinct numbers, as in a small model with weights in its file.
func.func @main(%x: tensor<?x3xf32>) -> tensor<?x2xf32> {
  %w = arith.constant dense<[[1.0, -2.0], [0.5, 3.0], [-1.25, 4.0]]> : tensor<3x2xf32>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %y0 = tensor.empty(%n) : tensor<?x2xf32>
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : tensor<?x2xf32>) -> tensor<?x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x3xf32>, tensor<3x2xf32>) outs(%y1 : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
