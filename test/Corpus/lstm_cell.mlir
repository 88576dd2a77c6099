// RUN: %corpus %s

// One step of an LSTM: one matmul for four gates, which are sliced and passed to sigmoid and tanh.
!x = tensor<?x20xf32>
!h = tensor<?x6xf32>
!g = tensor<?x24xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x, %w: tensor<20x24xf32>, %b: tensor<24xf32>, %c: !h) -> (!h, !h) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %g0 = tensor.empty(%n) : !g
  %g1 = linalg.broadcast ins(%b : tensor<24xf32>) outs(%g0 : !g) dimensions = [0]
  %g = linalg.matmul ins(%x, %w : !x, tensor<20x24xf32>) outs(%g1 : !g) -> !g
  %i = tensor.extract_slice %g[0, 0] [%n, 6] [1, 1] : !g to !h
  %f = tensor.extract_slice %g[0, 6] [%n, 6] [1, 1] : !g to !h
  %o = tensor.extract_slice %g[0, 12] [%n, 6] [1, 1] : !g to !h
  %u = tensor.extract_slice %g[0, 18] [%n, 6] [1, 1] : !g to !h
  %h0 = tensor.empty(%n) : !h
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i, %f, %o, %u, %c : !h, !h, !h, !h, !h) outs(%h0, %h0 : !h, !h) {
  ^bb0(%iv: f32, %fv: f32, %ov: f32, %uv: f32, %cv: f32, %r0: f32, %r1: f32):
    %one = arith.constant 1.0 : f32
    %in = arith.negf %iv : f32
    %ie = math.exp %in : f32
    %ip = arith.addf %ie, %one : f32
    %is = arith.divf %one, %ip : f32
    %fn = arith.negf %fv : f32
    %fe = math.exp %fn : f32
    %fp = arith.addf %fe, %one : f32
    %fs = arith.divf %one, %fp : f32
    %on = arith.negf %ov : f32
    %oe = math.exp %on : f32
    %op = arith.addf %oe, %one : f32
    %os = arith.divf %one, %op : f32
    %ut = math.tanh %uv : f32
    %keep = arith.mulf %fs, %cv : f32
    %take = arith.mulf %is, %ut : f32
    %next = arith.addf %keep, %take : f32
    %nt = math.tanh %next : f32
    %out = arith.mulf %os, %nt : f32
    linalg.yield %out, %next : f32, f32
  } -> (!h, !h)
  return %r#0, %r#1 : !h, !h
}
