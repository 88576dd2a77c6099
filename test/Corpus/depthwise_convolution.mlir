// RUN: %corpus %s

// A causal depthwise convolution along dynamic tokens: a generic with the sum of two dimensions as an index.
!x = tensor<2x?x6xbf16>
func.func @main(%x: !x, %w: tensor<4x6xbf16>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %zf = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c1 : !x
  %p = tensor.pad %x low[0, 3, 0] high[0, 0, 0] {
  ^bb0(%b: index, %i: index, %c: index):
    tensor.yield %zero : bf16
  } : !x to tensor<2x?x6xbf16>
  %y0 = tensor.empty(%n) : tensor<2x?x6xf32>
  %y1 = linalg.fill ins(%zf : f32) outs(%y0 : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, t, c, k) -> (b, t + k, c)>, affine_map<(b, t, c, k) -> (k, c)>,
      affine_map<(b, t, c, k) -> (b, t, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<2x?x6xbf16>, tensor<4x6xbf16>) outs(%y1 : tensor<2x?x6xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %b : bf16 to f32
    %uv = arith.mulf %u, %v : f32
    %r = arith.addf %acc, %uv : f32
    linalg.yield %r : f32
  } -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}
