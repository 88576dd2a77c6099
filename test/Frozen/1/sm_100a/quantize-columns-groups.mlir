// Arguments: ends(640)
module {
  func.func @main(%arg0: tensor<640x512xbf16>, %arg1: tensor<4xi32>) -> (tensor<512x1152xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<512x36xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) {
    %0 = tensor.empty() : tensor<512x1152xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
    %1 = tensor.empty() : tensor<512x36xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
    %2:2 = mx.quantize ragged =  rows ins(%arg0 : tensor<640x512xbf16>) offsets(%arg1 : tensor<4xi32>) outs(%0, %1 : tensor<512x1152xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<512x36xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) axes = [0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, ctas = 4, raster = columns>} -> tensor<512x1152xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<512x36xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
    return %2#0, %2#1 : tensor<512x1152xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<512x36xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
  }
}

