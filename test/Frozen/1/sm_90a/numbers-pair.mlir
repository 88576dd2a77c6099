module {
  func.func @main(%arg0: tensor<512x512xbf16>, %arg1: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
    %0 = tensor.empty() : tensor<512x512xbf16>
    %1 = mx.matmul ins(%arg0, %arg1 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%0 : tensor<512x512xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 64], cta_pair, stages = 4, accumulators = 1, raster = linear, epilogue = direct, registers = [232, 40]>} -> tensor<512x512xbf16>
    return %1 : tensor<512x512xbf16>
  }
}

