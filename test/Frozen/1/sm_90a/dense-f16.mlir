module {
  func.func @main(%arg0: tensor<128x512xf8E4M3FN>, %arg1: tensor<128x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf8E4M3FN>, %arg3: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<128x264xf16> {
    %0 = tensor.empty() : tensor<128x264xf16>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<128x264xf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 21, accumulators = 1, raster = linear, epilogue = direct, registers = [216, 128, 40]>} -> tensor<128x264xf16>
    return %1 : tensor<128x264xf16>
  }
}

