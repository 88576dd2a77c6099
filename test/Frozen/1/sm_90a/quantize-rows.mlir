module {
  func.func @main(%arg0: tensor<384x512xbf16>) -> (tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
    %0 = tensor.empty() : tensor<384x512xf8E4M3FN>
    %1 = tensor.empty() : tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %2:2 = mx.quantize ins(%arg0 : tensor<384x512xbf16>) outs(%0, %1 : tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, ctas = 2>} -> tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    return %2#0, %2#1 : tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  }
}

