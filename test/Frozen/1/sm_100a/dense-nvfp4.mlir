module {
  func.func @main(%arg0: tensor<300x512xf4E2M1FN>, %arg1: tensor<300x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf4E2M1FN>, %arg3: tensor<264x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>, %arg4: f32) -> tensor<300x264xf32> {
    %0 = tensor.empty() : tensor<300x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x512xf4E2M1FN>, tensor<300x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>, tensor<264x512xf4E2M1FN>, tensor<264x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>) alpha(%arg4) outs(%0 : tensor<300x264xf32>) block_size = 16 {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128], stages = 15, accumulators = 1, scale_stages = 2, raster = linear, epilogue = direct>} -> tensor<300x264xf32>
    return %1 : tensor<300x264xf32>
  }
}

