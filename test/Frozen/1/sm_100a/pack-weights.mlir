module {
  func.func @main(%arg0: tensor<4x100x96xf4E2M1FN>) -> tensor<4x2x2x128x32xf4E2M1FN> {
    %0 = tensor.empty() : tensor<4x2x2x128x32xf4E2M1FN>
    %1 = mx.pack_weights ins(%arg0 : tensor<4x100x96xf4E2M1FN>) outs(%0 : tensor<4x2x2x128x32xf4E2M1FN>) -> tensor<4x2x2x128x32xf4E2M1FN>
    return %1 : tensor<4x2x2x128x32xf4E2M1FN>
  }
}

