module {
  func.func @main(%arg0: tensor<512x512xbf16>, %arg1: tensor<512x512xbf16>) -> (tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
    %0 = tensor.empty() : tensor<512x512xf8E4M3FN>
    %1 = tensor.empty() : tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %2 = tensor.empty() : tensor<512x512xf8E4M3FN>
    %3 = tensor.empty() : tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %4:4 = mx.quantize ins(%arg0, %arg1 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%0, %1, %2, %3 : tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 256, vector = 32, stage_rows = 64, stages = 2, atomic_counter = true, input_stages = 3>} -> tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>> prologue {
    ^bb0(%arg2: bf16, %arg3: bf16, %arg4: index, %arg5: index):
      %cst = arith.constant 1.000000e+00 : f32
      %5 = arith.extf %arg2 : bf16 to f32
      %6 = arith.extf %arg3 : bf16 to f32
      %7 = arith.negf %5 : f32
      %8 = math.exp %7 : f32
      %9 = arith.addf %cst, %8 : f32
      %10 = arith.divf %5, %9 : f32
      %11 = arith.mulf %10, %6 : f32
      %12 = arith.truncf %11 : f32 to bf16
      mx.yield %12 : bf16
    }
    return %4#0, %4#1, %4#2, %4#3 : tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  }
}

