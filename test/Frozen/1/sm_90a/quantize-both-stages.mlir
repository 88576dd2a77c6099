module {
  func.func @main(%arg0: tensor<512x512xbf16>) -> (tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
    %0 = tensor.empty() : tensor<512x512xf8E4M3FN>
    %1 = tensor.empty() : tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %2 = tensor.empty() : tensor<512x512xf8E4M3FN>
    %3 = tensor.empty() : tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %4:4 = mx.quantize ins(%arg0 : tensor<512x512xbf16>) outs(%0, %1, %2, %3 : tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 32, stages = 2, ctas = 2>} -> tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    return %4#0, %4#1, %4#2, %4#3 : tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  }
}

