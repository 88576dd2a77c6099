module {
  func.func @main(%arg0: tensor<384x512xf32>) -> (tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU>) {
    %0 = tensor.empty() : tensor<384x512xf8E4M3FN>
    %1 = tensor.empty() : tensor<384x16xf8E8M0FNU>
    %2:2 = mx.quantize ins(%arg0 : tensor<384x512xf32>) outs(%0, %1 : tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 8, ctas = 2>} -> tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU>
    return %2#0, %2#1 : tensor<384x512xf8E4M3FN>, tensor<384x16xf8E8M0FNU>
  }
}

