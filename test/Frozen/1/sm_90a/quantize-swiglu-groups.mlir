// Arguments: ends(300)
module {
  func.func @main(%arg0: tensor<300x384xbf16>, %arg1: tensor<300x384xbf16>, %arg2: tensor<4xi32>) -> (tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) {
    %0 = tensor.empty() : tensor<300x384xf8E4M3FN>
    %1 = tensor.empty() : tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
    %2 = tensor.empty() : tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
    %3 = tensor.empty() : tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
    %4:4 = mx.quantize ragged =  rows ins(%arg0, %arg1 : tensor<300x384xbf16>, tensor<300x384xbf16>) offsets(%arg2 : tensor<4xi32>) outs(%0, %1, %2, %3 : tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, ctas = 2, raster = columns>} -> tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>> prologue {
    ^bb0(%arg3: bf16, %arg4: bf16, %arg5: index, %arg6: index):
      %cst = arith.constant 1.000000e+00 : f32
      %5 = arith.extf %arg3 : bf16 to f32
      %6 = arith.extf %arg4 : bf16 to f32
      %7 = arith.negf %5 : f32
      %8 = math.exp %7 : f32
      %9 = arith.addf %cst, %8 : f32
      %10 = arith.divf %5, %9 : f32
      %11 = arith.mulf %10, %6 : f32
      %12 = arith.truncf %11 : f32 to bf16
      mx.yield %12 : bf16
    }
    return %4#0, %4#1, %4#2, %4#3 : tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
  }
}

