// RUN: %corpus %s

// An MLP with biases and gelu (erf), dynamic rows and pre-quantized weights.
!x = tensor<?x96xbf16>
!w1 = tensor<160x96xf8E4M3FN>
!s1 = tensor<160x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w2 = tensor<72x160xf8E4M3FN>
!s2 = tensor<72x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: !x, %w1: !w1, %s1: !s1, %b1: tensor<160xf32>, %w2: !w2, %s2: !s2, %b2: tensor<72xf32>) -> tensor<?x72xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : !x
  %xe = tensor.empty(%rows) : tensor<?x96xf8E4M3FN>
  %xs = tensor.empty(%rows) : tensor<?x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %q:2 = mx.quantize ins(%x : !x) outs(%xe, %xs : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %h0 = tensor.empty(%rows) : tensor<?x160xf32>
  %h = mx.matmul ins(%q#0, %q#1, %w1, %s1 : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, !w1, !s1)
      outs(%h0 : tensor<?x160xf32>) -> tensor<?x160xf32>
  %g0 = tensor.empty(%rows) : tensor<?x160xbf16>
  %g = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %b1 : tensor<?x160xf32>, tensor<160xf32>) outs(%g0 : tensor<?x160xbf16>) {
  ^bb0(%a: f32, %b: f32, %o: bf16):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %r = arith.constant 0.70710678 : f32
    %v = arith.addf %a, %b : f32
    %t = arith.mulf %v, %r : f32
    %e = math.erf %t : f32
    %p = arith.addf %e, %one : f32
    %hv = arith.mulf %v, %half : f32
    %y = arith.mulf %hv, %p : f32
    %n = arith.truncf %y : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<?x160xbf16>
  %ge = tensor.empty(%rows) : tensor<?x160xf8E4M3FN>
  %gs = tensor.empty(%rows) : tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %k:2 = mx.quantize ins(%g : tensor<?x160xbf16>) outs(%ge, %gs : tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %y0 = tensor.empty(%rows) : tensor<?x72xf32>
  %y = mx.matmul ins(%k#0, %k#1, %w2, %s2 : tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, !w2, !s2)
      outs(%y0 : tensor<?x72xf32>) -> tensor<?x72xf32>
  %z0 = tensor.empty(%rows) : tensor<?x72xf32>
  %z = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %b2 : tensor<?x72xf32>, tensor<72xf32>) outs(%z0 : tensor<?x72xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<?x72xf32>
  return %z : tensor<?x72xf32>
}
