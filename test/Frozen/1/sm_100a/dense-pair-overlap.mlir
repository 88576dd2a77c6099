module {
  func.func @main(%arg0: tensor<512x512xf8E4M3FN>, %arg1: tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %arg2: tensor<512x512xf8E4M3FN>, %arg3: tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<512x512xbf16> {
    %0 = tensor.empty() : tensor<512x512xbf16>
    %1 = mx.matmul ins(%arg0, %arg1, %arg2, %arg3 : tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<512x512xf8E4M3FN>, tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%0 : tensor<512x512xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 128], cta_pair, stages = 5, accumulators = 2, overlap = 64, raster = group_m(2), epilogue = tma_store, staging = 3, l2 = [evict_last, evict_first], pdl>} -> tensor<512x512xbf16>
    return %1 : tensor<512x512xbf16>
  }
}

