// Arguments: rows(150), ends(300)
module {
  func.func @main(%arg0: tensor<300x512xbf16>, %arg1: tensor<300xi32>, %arg2: tensor<4xi32>, %arg3: tensor<150x512xf32>) -> tensor<150x512xf32> {
    %0 = mx.combine ins(%arg0 : tensor<300x512xbf16>) rows(%arg1 : tensor<300xi32>) offsets(%arg2 : tensor<4xi32>) outs(%arg3 : tensor<150x512xf32>) -> tensor<150x512xf32>
    return %0 : tensor<150x512xf32>
  }
}

