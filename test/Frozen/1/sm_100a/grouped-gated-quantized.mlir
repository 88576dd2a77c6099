// Arguments: ends(300)
module {
  func.func @main(%arg0: tensor<300x256xf8E4M3FN>, %arg1: tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, %arg2: tensor<4x512x256xf8E4M3FN>, %arg3: tensor<4x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: tensor<4xi32>) -> (tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) {
    %0 = tensor.empty() : tensor<300x256xf8E4M3FN>
    %1 = tensor.empty() : tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
    %2:2 = mx.grouped_matmul ragged =  rows ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<4x512x256xf8E4M3FN>, tensor<4x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) offsets(%arg4 : tensor<4xi32>) outs(%0, %1 : tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>) num_b = 2 {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 4, accumulators = 1, scale_stages = 2, raster = linear, epilogue = direct>} -> tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>> epilogue {
    ^bb0(%arg5: f32, %arg6: f32, %arg7: index, %arg8: index):
      %3 = arith.mulf %arg5, %arg6 : f32
      mx.yield %3 : f32
    }
    return %2#0, %2#1 : tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
  }
}

