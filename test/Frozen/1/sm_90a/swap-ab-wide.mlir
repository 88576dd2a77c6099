module {
  func.func @main(%arg0: tensor<48x512xbf16>, %arg1: tensor<256x512xf8E4M3FN>, %arg2: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<48x256xbf16> {
    %0 = tensor.empty() : tensor<48x256xbf16>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2 : tensor<48x512xbf16>, tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<48x256xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [48, 256, 128], stages = 2, accumulators = 1, swap_ab, raster = linear, epilogue = direct, registers = [104, 40]>} -> tensor<48x256xbf16>
    return %1 : tensor<48x256xbf16>
  }
}

