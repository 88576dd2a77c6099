module {
  func.func @main(%arg0: tensor<384x512xbf16>) -> (tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x384xf8E4M3FN>, tensor<512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<f32>) {
    %0 = tensor.empty() : tensor<384x512xf8E4M3FN>
    %1 = tensor.empty() : tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %2 = tensor.empty() : tensor<512x384xf8E4M3FN>
    %3 = tensor.empty() : tensor<512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %4 = tensor.empty() : tensor<f32>
    %5:5 = mx.quantize ins(%arg0 : tensor<384x512xbf16>) outs(%0, %1, %2, %3, %4 : tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x384xf8E4M3FN>, tensor<512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<f32>) axes = [1, 0] amax {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, ctas = 3>} -> tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x384xf8E4M3FN>, tensor<512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<f32>
    return %5#0, %5#1, %5#2, %5#3, %5#4 : tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x384xf8E4M3FN>, tensor<512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<f32>
  }
}

