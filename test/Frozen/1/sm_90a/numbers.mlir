module {
  func.func @main(%arg0: tensor<256x512xbf16>, %arg1: tensor<512x512xbf16>) -> tensor<256x512xbf16> {
    %0 = tensor.empty() : tensor<256x512xbf16>
    %1 = mx.matmul ins(%arg0, %arg1 : tensor<256x512xbf16>, tensor<512x512xbf16>) outs(%0 : tensor<256x512xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], cta_pair, stages = 14, accumulators = 1, raster = linear, epilogue = direct, registers = [208, 40]>} -> tensor<256x512xbf16>
    return %1 : tensor<256x512xbf16>
  }
}

