// RUN: %corpus %s

// The maximum and the mean of 2 x 3 windows, computed with linalg's pooling operations.
!x = tensor<2x8x9x3xf32>
!y = tensor<2x4x3x3xf32>
func.func @main(%x: !x) -> (!y, !y) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<2x3xf32>
  %y0 = tensor.empty() : !y
  %m1 = linalg.fill ins(%low : f32) outs(%y0 : !y) -> !y
  %m = linalg.pooling_nhwc_max {strides = dense<[2, 3]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %window : !x, tensor<2x3xf32>) outs(%m1 : !y) -> !y
  %s1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %s = linalg.pooling_nhwc_sum {strides = dense<[2, 3]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %window : !x, tensor<2x3xf32>) outs(%s1 : !y) -> !y
  %six = arith.constant dense<6.0> : !y
  %a = arith.divf %s, %six : !y
  return %m, %a : !y, !y
}
