module {
  func.func @main(%arg0: tensor<300x512xf4E2M1FN>, %arg1: tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf4E2M1FN>, %arg3: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<300x264xf32> {
    %0 = tensor.empty() : tensor<300x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x512xf4E2M1FN>, tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<264x512xf4E2M1FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<300x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 38, accumulators = 1, raster = linear, epilogue = direct, registers = [216, 128, 40]>} -> tensor<300x264xf32>
    return %1 : tensor<300x264xf32>
  }
}

