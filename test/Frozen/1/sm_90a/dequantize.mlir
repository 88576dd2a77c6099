module {
  func.func @main(%arg0: tensor<300x512xf8E4M3FN>, %arg1: tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<300x512xbf16> {
    %0 = tensor.empty() : tensor<300x512xbf16>
    %1 = mx.dequantize ins(%arg0, %arg1 : tensor<300x512xf8E4M3FN>, tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<300x512xbf16>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 8, ctas = 2>} -> tensor<300x512xbf16>
    return %1 : tensor<300x512xbf16>
  }
}

