// Arguments: ends(300)
module {
  func.func @main(%arg0: tensor<300x256xf8E4M3FN>, %arg1: tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, %arg2: tensor<4x200x256xf8E4M3FN>, %arg3: tensor<4x200x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: tensor<4xi32>, %arg5: tensor<300x200xf32>) -> tensor<300x200xf32> {
    %0 = mx.grouped_matmul ragged =  rows ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<4x200x256xf8E4M3FN>, tensor<4x200x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) offsets(%arg4 : tensor<4xi32>) outs(%arg5 : tensor<300x200xf32>) accumulate {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128], stages = 8, accumulators = 1, scale_stages = 2, raster = linear, epilogue = direct>} -> tensor<300x200xf32>
    return %0 : tensor<300x200xf32>
  }
}

