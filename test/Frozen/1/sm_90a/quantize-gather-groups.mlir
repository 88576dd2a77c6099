// Arguments: rows(200), ends(300)
module {
  func.func @main(%arg0: tensor<200x384xbf16>, %arg1: tensor<300xi32>, %arg2: tensor<4xi32>) -> (tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) {
    %0 = tensor.empty() : tensor<300x384xf8E4M3FN>
    %1 = tensor.empty() : tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
    %2 = tensor.empty() : tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
    %3 = tensor.empty() : tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
    %4:4 = mx.quantize ragged =  rows ins(%arg0 : tensor<200x384xbf16>) gather(%arg1 : tensor<300xi32>) offsets(%arg2 : tensor<4xi32>) outs(%0, %1, %2, %3 : tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, ctas = 2, raster = columns>} -> tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
    return %4#0, %4#1, %4#2, %4#3 : tensor<300x384xf8E4M3FN>, tensor<300x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<384x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<384x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
  }
}

