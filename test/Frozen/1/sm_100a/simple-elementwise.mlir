#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<300x72xbf16>, %arg1: tensor<72xf32>) -> tensor<300x72xbf16> {
    %0 = tensor.empty() : tensor<300x72xbf16>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<300x72xbf16>, tensor<72xf32>) outs(%0 : tensor<300x72xbf16>) {
    ^bb0(%in: bf16, %in_0: f32, %out: bf16):
      %2 = arith.extf %in : bf16 to f32
      %3 = arith.addf %2, %in_0 : f32
      %4 = math.exp %3 : f32
      %5 = arith.truncf %4 : f32 to bf16
      linalg.yield %5 : bf16
    } -> tensor<300x72xbf16>
    return %1 : tensor<300x72xbf16>
  }
}

