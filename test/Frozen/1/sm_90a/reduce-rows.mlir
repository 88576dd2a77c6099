#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
module {
  func.func @main(%arg0: tensor<300x520xbf16>, %arg1: tensor<300xf32>) -> tensor<300xf32> {
    %0 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<300x520xbf16>) outs(%arg1 : tensor<300xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %1 = arith.extf %in : bf16 to f32
      %2 = arith.mulf %1, %1 : f32
      %3 = arith.addf %out, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<300xf32>
    return %0 : tensor<300xf32>
  }
}

