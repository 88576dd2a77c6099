module {
  func.func @main(%arg0: tensor<256x512xbf16>, %arg1: tensor<264x512xbf16>, %arg2: tensor<264xbf16>) -> tensor<256x264xf32> {
    %0 = tensor.empty() : tensor<256x264xf32>
    %1 = mx.matmul ins(%arg0, %arg1 : tensor<256x512xbf16>, tensor<264x512xbf16>) outs(%0 : tensor<256x264xf32>) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], cta_pair, stages = 14, accumulators = 1, raster = linear, epilogue = direct, registers = [208, 40]>} -> tensor<256x264xf32> epilogue {
    ^bb0(%arg3: f32, %arg4: index, %arg5: index):
      %extracted = tensor.extract %arg2[%arg5] : tensor<264xbf16>
      %2 = arith.extf %extracted : bf16 to f32
      %cst = arith.constant 0.000000e+00 : f32
      %3 = arith.addf %arg3, %2 : f32
      %4 = arith.maximumf %3, %cst : f32
      mx.yield %4 : f32
    }
    return %1 : tensor<256x264xf32>
  }
}

