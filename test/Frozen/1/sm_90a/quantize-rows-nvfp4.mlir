module {
  func.func @main(%arg0: tensor<384x512xbf16>, %arg1: f32) -> (tensor<384x512xf4E2M1FN>, tensor<384x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>) {
    %0 = tensor.empty() : tensor<384x512xf4E2M1FN>
    %1 = tensor.empty() : tensor<384x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>
    %2:2 = mx.quantize ins(%arg0 : tensor<384x512xbf16>) global_scale(%arg1) outs(%0, %1 : tensor<384x512xf4E2M1FN>, tensor<384x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>) block_size = 16 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, ctas = 4>} -> tensor<384x512xf4E2M1FN>, tensor<384x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>
    return %2#0, %2#1 : tensor<384x512xf4E2M1FN>, tensor<384x32xf8E4M3FN, #mx.scale_layout<sf_128x4>>
  }
}

