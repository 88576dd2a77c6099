module {
  func.func @main(%arg0: tensor<300x512xf8E4M3FN>, %arg1: tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf8E4M3FN>, %arg3: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<300x264xf32> {
    %0 = tensor.empty() : tensor<300x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x512xf8E4M3FN>, tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<300x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 10, accumulators = 1, f16_window, raster = linear, epilogue = direct, registers = [200, 72, 40]>} -> tensor<300x264xf32>
    return %1 : tensor<300x264xf32>
  }
}

