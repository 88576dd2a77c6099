module {
  func.func @main(%arg0: tensor<261x544xf8E4M3FN>, %arg1: tensor<261x17xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<203x544xf8E4M3FN>, %arg3: tensor<203x17xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<261x203xf32> {
    %0 = tensor.empty() : tensor<261x203xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<261x544xf8E4M3FN>, tensor<261x17xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<203x544xf8E4M3FN>, tensor<203x17xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<261x203xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 21, accumulators = 1, raster = linear, epilogue = direct, registers = [216, 128, 40]>} -> tensor<261x203xf32>
    return %1 : tensor<261x203xf32>
  }
}

