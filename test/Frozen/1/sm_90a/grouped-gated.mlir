// Arguments: ends(300)
module {
  func.func @main(%arg0: tensor<300x256xf8E4M3FN>, %arg1: tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, %arg2: tensor<4x512x256xf8E4M3FN>, %arg3: tensor<4x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: tensor<4xi32>) -> tensor<300x256xf32> {
    %0 = tensor.empty() : tensor<300x256xf32>
    %1 = mx.grouped_matmul ragged =  rows ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x256xf8E4M3FN>, tensor<300x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<4x512x256xf8E4M3FN>, tensor<4x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) offsets(%arg4 : tensor<4xi32>) outs(%0 : tensor<300x256xf32>) num_b = 2 {mxgpu.schedule = #mxgpu.schedule<tile = [16, 256, 128], stages = 5, accumulators = 1, swap_ab, workspace = a, raster = linear, epilogue = direct, registers = [104, 40], pdl>} -> tensor<300x256xf32> epilogue {
    ^bb0(%arg5: f32, %arg6: f32, %arg7: index, %arg8: index):
      %2 = arith.mulf %arg5, %arg6 : f32
      mx.yield %2 : f32
    }
    return %1 : tensor<300x256xf32>
  }
}

