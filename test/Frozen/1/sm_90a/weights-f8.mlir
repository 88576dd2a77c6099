module {
  func.func @main(%arg0: tensor<256x512xbf16>, %arg1: tensor<264x512xf8E4M3FN>, %arg2: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x264xf32> {
    %0 = tensor.empty() : tensor<256x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2 : tensor<256x512xbf16>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<256x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [16, 128, 128], stages = 10, accumulators = 1, swap_ab, split_k = 2, cluster_split, raster = linear, epilogue = direct, registers = [200, 40], pdl>} -> tensor<256x264xf32>
    return %1 : tensor<256x264xf32>
  }
}

