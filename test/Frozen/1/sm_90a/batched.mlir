module {
  func.func @main(%arg0: tensor<3x72x512xf8E4M3FN>, %arg1: tensor<3x72x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<3x136x512xf8E4M3FN>, %arg3: tensor<3x136x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: tensor<3x72x136xf32>) -> tensor<3x72x136xf32> {
    %0 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<3x72x512xf8E4M3FN>, tensor<3x72x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<3x136x512xf8E4M3FN>, tensor<3x136x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%arg4 : tensor<3x72x136xf32>) accumulate {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 10, accumulators = 1, raster = linear, epilogue = direct, registers = [200, 72, 40]>} -> tensor<3x72x136xf32>
    return %0 : tensor<3x72x136xf32>
  }
}

