module {
  func.func @main(%arg0: tensor<128x1024xf8E4M3FN>, %arg1: tensor<128x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<128x1024xf8E4M3FN>, %arg3: tensor<128x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<128x128xf32> {
    %0 = tensor.empty() : tensor<128x128xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<128x1024xf8E4M3FN>, tensor<128x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<128x1024xf8E4M3FN>, tensor<128x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<128x128xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 10, accumulators = 1, split_k = 2, raster = linear, epilogue = direct, registers = [200, 72, 40]>} -> tensor<128x128xf32>
    return %1 : tensor<128x128xf32>
  }
}

