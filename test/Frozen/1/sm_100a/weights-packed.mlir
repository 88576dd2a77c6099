module {
  func.func @main(%arg0: tensor<256x512xbf16>, %arg1: tensor<3x8x128x32xf4E2M1FN>, %arg2: tensor<160x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x160xbf16> {
    %0 = tensor.empty() : tensor<256x160xbf16>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2 : tensor<256x512xbf16>, tensor<3x8x128x32xf4E2M1FN>, tensor<160x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<256x160xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], stages = 10, accumulators = 1, raster = linear, epilogue = direct, registers = [168, 128, 88]>} -> tensor<256x160xbf16>
    return %1 : tensor<256x160xbf16>
  }
}

