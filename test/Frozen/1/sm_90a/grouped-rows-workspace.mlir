// Arguments: ends(300)
module {
  func.func @main(%arg0: tensor<300x512xf8E4M3FN>, %arg1: tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, %arg2: tensor<4x200x512xf8E4M3FN>, %arg3: tensor<4x200x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: tensor<4xi32>) -> tensor<300x200xbf16> {
    %0 = tensor.empty() : tensor<300x200xbf16>
    %1 = mx.grouped_matmul ragged =  rows ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x512xf8E4M3FN>, tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<4x200x512xf8E4M3FN>, tensor<4x200x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) offsets(%arg4 : tensor<4xi32>) outs(%0 : tensor<300x200xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], stages = 11, accumulators = 1, workspace = a, raster = linear, epilogue = direct, registers = [216, 128, 40]>} -> tensor<300x200xbf16>
    return %1 : tensor<300x200xbf16>
  }
}

