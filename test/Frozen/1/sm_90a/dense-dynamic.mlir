// Arguments: ? = 300
module {
  func.func @main(%arg0: tensor<?x512xf8E4M3FN>, %arg1: tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf8E4M3FN>, %arg3: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<?x264xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x512xf8E4M3FN>
    %0 = tensor.empty(%dim) : tensor<?x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<?x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 7, accumulators = 1, raster = linear, epilogue = direct, registers = [200, 72, 40]>} -> tensor<?x264xf32>
    return %1 : tensor<?x264xf32>
  }
}

