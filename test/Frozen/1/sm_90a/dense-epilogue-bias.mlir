module {
  func.func @main(%arg0: tensor<300x512xf8E4M3FN>, %arg1: tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<264x512xf8E4M3FN>, %arg3: tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg4: tensor<264xbf16>) -> tensor<300x264xf32> {
    %0 = tensor.empty() : tensor<300x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<300x512xf8E4M3FN>, tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<264x512xf8E4M3FN>, tensor<264x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<300x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 21, accumulators = 1, raster = linear, epilogue = direct, registers = [216, 128, 40]>} -> tensor<300x264xf32> epilogue {
    ^bb0(%arg5: f32, %arg6: index, %arg7: index):
      %extracted = tensor.extract %arg4[%arg7] : tensor<264xbf16>
      %2 = arith.extf %extracted : bf16 to f32
      %cst = arith.constant 0.000000e+00 : f32
      %3 = arith.addf %arg5, %2 : f32
      %4 = arith.maximumf %3, %cst : f32
      mx.yield %4 : f32
    }
    return %1 : tensor<300x264xf32>
  }
}

