module {
  func.func @main(%arg0: tensor<256x512xbf16>, %arg1: tensor<264x512xf8E4M3FN>, %arg2: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x264xf32> {
    %0 = tensor.empty() : tensor<256x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2 : tensor<256x512xbf16>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<256x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], stages = 9, accumulators = 1, raster = linear, epilogue = direct, registers = [168, 128, 88]>} -> tensor<256x264xf32>
    return %1 : tensor<256x264xf32>
  }
}

