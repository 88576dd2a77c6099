module {
  func.func @main(%arg0: tensor<300x16xf8E8M0FNU>) -> tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>> {
    %0 = tensor.empty() : tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    %1 = mx.relayout ins(%arg0 : tensor<300x16xf8E8M0FNU>) outs(%0 : tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    return %1 : tensor<300x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  }
}

