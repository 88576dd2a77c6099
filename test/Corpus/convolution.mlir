// RUN: %corpus %s

// A convolution of images with stride two: tensor.pad, then linalg.conv_2d_nhwc_hwcf.
!x = tensor<2x9x8x3xf32>
!w = tensor<3x3x3x5xf32>
!y = tensor<2x5x4x5xf32>
func.func @main(%x: !x, %w: !w) -> !y {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %i: index, %j: index, %c: index):
    tensor.yield %zero : f32
  } : !x to tensor<2x11x10x3xf32>
  %y0 = tensor.empty() : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<2x11x10x3xf32>, !w) outs(%y1 : !y) -> !y
  return %y : !y
}
