// RUN: mx-opt %s -split-input-file --mx-to-mxgpu=chip=sm_90a -verify-diagnostics

// Rejects blocks of 128 x 128 in cases that kernels do not quantize.

func.func @seed(%x: tensor<256x512xbf16>, %seed: i64) -> (tensor<512x256xf8E4M3FN>, tensor<4x2xf32>) {
  %q = tensor.empty() : tensor<512x256xf8E4M3FN>
  %s = tensor.empty() : tensor<4x2xf32>
  // expected-error@+1 {{expected no seed along axis 0 with blocks of 128 x 128 elements on the GPU: quantize the transposed input}}
  %0:2 = mx.quantize ins(%x : tensor<256x512xbf16>) seed(%seed)
      outs(%q, %s : tensor<512x256xf8E4M3FN>, tensor<4x2xf32>) axes = [0] block_size = 128x128
      -> tensor<512x256xf8E4M3FN>, tensor<4x2xf32>
  return %0#0, %0#1 : tensor<512x256xf8E4M3FN>, tensor<4x2xf32>
}

// -----

func.func @tile(%x: memref<256x512xbf16>, %q: memref<512x256xf8E4M3FN>, %s: memref<4x2xf32>) {
  // expected-error@+1 {{expected a schedule with tiles and stages of one block, 128 x 128, found}}
  mx.fused_quantize ins(%x : memref<256x512xbf16>) outs(%q, %s : memref<512x256xf8E4M3FN>, memref<4x2xf32>)
      axes = [0] block_size = 128x128
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 256, vector = 32>}
  return
}
