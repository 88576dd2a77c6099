// Arguments: ends(384)
module {
  func.func @main(%arg0: tensor<100x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, %arg1: tensor<100x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>, %arg2: tensor<200x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, %arg3: tensor<200x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>, %arg4: tensor<4xi32>, %arg5: tensor<4x100x200xf32>) -> tensor<4x100x200xf32> {
    %0 = mx.grouped_matmul ragged =  reduction ins(%arg0, %arg1, %arg2, %arg3 : tensor<100x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<100x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>, tensor<200x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<200x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) offsets(%arg4 : tensor<4xi32>) outs(%arg5 : tensor<4x100x200xf32>) accumulate {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], stages = 15, accumulators = 1, raster = linear, epilogue = direct, registers = [200, 72, 40]>} -> tensor<4x100x200xf32>
    return %0 : tensor<4x100x200xf32>
  }
}

