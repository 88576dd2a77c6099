module {
  func.func @main(%arg0: tensor<16x512xbf16>, %arg1: tensor<128x512xf4E2M1FN>, %arg2: tensor<128x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<16x128xbf16> {
    %0 = tensor.empty() : tensor<16x128xbf16>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2 : tensor<16x512xbf16>, tensor<128x512xf4E2M1FN>, tensor<128x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<16x128xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [16, 64, 64], stages = 4, accumulators = 1, swap_ab, split_k = 4, cluster_split, ctas = 2, raster = linear, epilogue = direct>} -> tensor<16x128xbf16>
    return %1 : tensor<16x128xbf16>
  }
}

