// RUN: %corpus %s

// IREE's block-scaled matmul: a generic over M, N, blocks and block elements, with MXFP4 operands and dynamic rows.
#a = affine_map<(m, n, ko, kb) -> (m, ko, kb)>
#b = affine_map<(m, n, ko, kb) -> (n, ko, kb)>
#sa = affine_map<(m, n, ko, kb) -> (m, ko)>
#sb = affine_map<(m, n, ko, kb) -> (n, ko)>
#c = affine_map<(m, n, ko, kb) -> (m, n)>
func.func @main(%a: tensor<?x4x32xf4E2M1FN>, %as: tensor<?x4xf8E8M0FNU>, %b: tensor<24x4x32xf4E2M1FN>, %bs: tensor<24x4xf8E8M0FNU>) -> tensor<?x24xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?x4x32xf4E2M1FN>
  %y0 = tensor.empty(%n) : tensor<?x24xf32>
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : tensor<?x24xf32>) -> tensor<?x24xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b, %as, %bs : tensor<?x4x32xf4E2M1FN>, tensor<24x4x32xf4E2M1FN>, tensor<?x4xf8E8M0FNU>, tensor<24x4xf8E8M0FNU>)
      outs(%y1 : tensor<?x24xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %sum: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %w = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %xw = arith.mulf %x, %w : f32
    %next = arith.addf %sum, %xw : f32
    linalg.yield %next : f32
  } -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
