// RUN: mx-test-opt %s -split-input-file --mx-to-mxgpu=chip=sm_90a -verify-diagnostics

// Rejects blocks of several rows in cases that kernels do not quantize.

func.func @columns(%x: tensor<256x512xbf16>) -> (tensor<512x256xf8E4M3FN>, tensor<4x2xf32>) {
  %q = tensor.empty() : tensor<512x256xf8E4M3FN>
  %s = tensor.empty() : tensor<4x2xf32>
  // expected-error@+1 {{expected a matrix with blocks along rows, without expert groups, for a scale for 128 x 128 elements on the GPU: quantize on the host}}
  %0:2 = mx.quantize ins(%x : tensor<256x512xbf16>) outs(%q, %s : tensor<512x256xf8E4M3FN>, tensor<4x2xf32>) axes = [0] block_size = 128x128
      -> tensor<512x256xf8E4M3FN>, tensor<4x2xf32>
  return %0#0, %0#1 : tensor<512x256xf8E4M3FN>, tensor<4x2xf32>
}
