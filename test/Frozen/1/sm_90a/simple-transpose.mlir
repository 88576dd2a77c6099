module {
  func.func @main(%arg0: tensor<300x72xf32>) -> tensor<72x300xf32> {
    %0 = tensor.empty() : tensor<72x300xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<300x72xf32>) outs(%0 : tensor<72x300xf32>) permutation = [1, 0] 
    return %transposed : tensor<72x300xf32>
  }
}

