module {
  func.func @main(%arg0: tensor<300x512xf8E4M3FN>, %arg1: tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf8E4M3FN>, %arg3: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: f32, %arg5: tensor<300x264xf32>) -> tensor<300x264xf32> {
    %0 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x512xf8E4M3FN>, tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) alpha(%arg4) outs(%arg5 : tensor<300x264xf32>) accumulate {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 21, accumulators = 1, raster = linear, epilogue = direct, registers = [216, 128, 40]>} -> tensor<300x264xf32>
    return %0 : tensor<300x264xf32>
  }
}

