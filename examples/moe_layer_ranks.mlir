// Layer of a mixture of experts over several ranks, forward and backward, in
// block-scaled formats. The experts are SwiGLU networks with H = 384 and I = 256. There
// are 8 of them, and each of 2 ranks owns G = 4. A rank has T tokens, but no more than
// 64 of them, and each token chooses 2 experts on any ranks:
//
//   %ids    ids[t, j]: the j-th expert of token t, or -1 for no expert
//   %probs  probs[t, j]: the router's weight of that expert
//
// A token is quantized to 33 bytes for 32 values and sent once to each rank that owns one
// of its experts. Each of these ranks returns the sum over its experts. Row s * 64 + t
// of a rank's window holds token t of rank s, so no tokens are counted before sending,
// and the host never waits. The steps are:
//
//   dispatch     x, quantized along H, and ids and probs -> windows
//   group_rows   sorts the P pairs of a token and an expert by expert
//   x[p]         the pair's row of the window, as sent, and also quantized along P
//   gu[p]        = x[p] W1[g]^T                         P x 2I: gate, up
//   h[p]         = silu(gate[p]) * up[p] * probs[p]     P x I
//   z[p]         = h[p] W2[g]^T                         P x H
//   collect      Y[t] = sum over ranks of the sum of z[p] of token t
//
// P is the argument %capacity. Kernels choose their schedules for 128 rows, as many as
// arrive if the choices are spread evenly. @forward returns the number of pairs, %count,
// which exceeds P if some pairs did not fit. With `slots = m` in the group, a window has m
// rows for each rank, and @forward also returns how many its tokens need, %needed. All
// sums have a fixed order, so results are bitwise reproducible. With one rank, the same
// program runs the layer on one device.
//
// mx-run examples/moe_layer_ranks.mlir --ranks=2 --entry=forward runs the ranks as
// threads; docs/guide/Ranks.md describes ranks as processes.

mx.group @ep size = 2 tokens = 64

!tokens = tensor<?x384xbf16>
!sums = tensor<?x384xf32>
!list = tensor<?xi32>
!pairs = tensor<?x2xf32>
!ids = tensor<?x2xi32>
!probs = tensor<?xf32>
!count = tensor<i32>
// Windows have a row for each token of each rank. They hold the ids and the weights, and
// x or the gradient of y, quantized along H.
!wi = tensor<128x2xi32>
!wp = tensor<128x2xf32>
!we = tensor<128x384xf8E4M3FN>
!wd = tensor<128x384xf8E4M3FN>
!ws = tensor<128x12xf8E8M0FNU>
!te = tensor<?x384xf8E4M3FN>
!td = tensor<?x384xf8E4M3FN>
!ts = tensor<?x12xf8E8M0FNU>
!z = tensor<?x384xbf16>
!ends = tensor<4xi32>
// Types of quantized activations: x and the gradient of y (P x H), h (P x I), and gu
// (P x 2I). Each is quantized along its columns, and along P within each expert's rows.
!xe = tensor<?x384xf8E4M3FN>
!xs = tensor<?x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!xte = tensor<384x?xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!xts = tensor<384x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!ze = tensor<?x384xf8E4M3FN>
!zte = tensor<384x?xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!he = tensor<?x256xf8E4M3FN>
!hs = tensor<?x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!hte = tensor<256x?xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!hts = tensor<256x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!ge = tensor<?x512xf8E4M3FN>
!gs = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!gte = tensor<512x?xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!gts = tensor<512x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!gu = tensor<?x512xbf16>
!h = tensor<?x256xbf16>
// W1 is G x 2I x H, and W2 is G x H x I. Each is quantized along its last dimension, and
// transposed and quantized along the middle dimension.
!w1 = tensor<4x512x384xbf16>
!w1e = tensor<4x512x384xf8E4M3FN>
!w1s = tensor<4x512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w1te = tensor<4x384x512xf8E4M3FN>
!w1ts = tensor<4x384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w2 = tensor<4x384x256xbf16>
!w2e = tensor<4x384x256xf8E4M3FN>
!w2s = tensor<4x384x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w2te = tensor<4x256x384xf8E4M3FN>
!w2ts = tensor<4x256x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!dw1 = tensor<4x512x384xf32>
!dw2 = tensor<4x384x256xf32>

#id = affine_map<(p, i) -> (p, i)>
#row = affine_map<(p, i) -> (p)>
#list = affine_map<(p) -> (p)>

/// Quantizes W1 and W2 in both orientations, and reads each of them once.
func.func @quantize_weights(%w1: !w1, %w2: !w2)
    -> (!w1e, !w1s, !w1te, !w1ts, !w2e, !w2s, !w2te, !w2ts) {
  %e0 = tensor.empty() : !w1e
  %s0 = tensor.empty() : !w1s
  %e1 = tensor.empty() : !w1te
  %s1 = tensor.empty() : !w1ts
  %q1:4 = mx.quantize ins(%w1 : !w1) outs(%e0, %s0, %e1, %s1 : !w1e, !w1s, !w1te, !w1ts)
      axes = [1, 0] -> !w1e, !w1s, !w1te, !w1ts
  %e2 = tensor.empty() : !w2e
  %s2 = tensor.empty() : !w2s
  %e3 = tensor.empty() : !w2te
  %s3 = tensor.empty() : !w2ts
  %q2:4 = mx.quantize ins(%w2 : !w2) outs(%e2, %s2, %e3, %s3 : !w2e, !w2s, !w2te, !w2ts)
      axes = [1, 0] -> !w2e, !w2s, !w2te, !w2ts
  return %q1#0, %q1#1, %q1#2, %q1#3, %q2#0, %q2#1, %q2#2, %q2#3
      : !w1e, !w1s, !w1te, !w1ts, !w2e, !w2s, !w2te, !w2ts
}

/// Sends the tokens to the ranks of their experts, with ids and weights. Returns the
/// windows with the ids, the elements, the scales and the weights, and %needed.
func.func private @send(%x: !tokens, %ids: !ids, %weights: !pairs)
    -> (!wi, !we, !ws, !wp, !count) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : !tokens

  // Tokens are quantized along H, with linear scales.
  %te0 = tensor.empty(%t) : !te
  %ts0 = tensor.empty(%t) : !ts
  %tq:2 = mx.quantize ins(%x : !tokens) outs(%te0, %ts0 : !te, !ts) axes = [1] -> !te, !ts
  %wi0 = mx.window @ep : !wi
  %we0 = mx.window @ep : !we
  %ws0 = mx.window @ep : !ws
  %wp0 = mx.window @ep : !wp
  %m0 = tensor.empty() : !count
  %w:5 = mx.dispatch @ep experts = 8 ids(%ids : !ids)
      ins(%tq#0, %tq#1, %weights : !te, !ts, !pairs)
      outs(%wi0, %we0, %ws0, %wp0, %m0 : !wi, !we, !ws, !wp, !count)
      -> !wi, !we, !ws, !wp, !count
  return %w#0, %w#1, %w#2, %w#3, %w#4 : !wi, !we, !ws, !wp, !count
}

/// Returns Y, the window row and the slot of each of the P rows, the ends of the experts'
/// rows, the number of pairs, the values saved for the backward pass (the weights of the
/// rows, gate and up, and x and h quantized along P).
func.func private @compute(%ids: !ids, %wi: !wi, %we: !we, %ws: !ws, %wp: !wp, %capacity: index,
                           %w1e: !w1e, %w1s: !w1s, %w2e: !w2e, %w2s: !w2s)
    -> (!sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %own = arith.constant 4 : index
  %slack = arith.constant 635 : index // 127 for each group, and 127
  %t = tensor.dim %ids, %c0 : !ids
  %p = arith.addi %capacity, %c0 : index
  %most = arith.addi %p, %slack : index
  %tiles = arith.divui %most, %c128 : index
  %columns = arith.muli %tiles, %c128 : index
  %blocks = arith.divui %columns, %c32 : index

  // Sorts the rows by this rank's experts.
  %rank = mx.rank @ep
  %first = arith.muli %rank, %own : index
  %r0 = tensor.empty(%p) : !list
  %s0 = tensor.empty(%p) : !list
  %e0 = tensor.empty() : !ends
  %n0 = tensor.empty() : !count
  %sorted:4 = mx.group_rows ins(%wi : !wi) first(%first)
      outs(%r0, %s0, %e0, %n0 : !list, !list, !ends, !count)
      -> !list, !list, !ends, !count
  %list = tensor.collapse_shape %wp [[0, 1]] : !wp into tensor<256xf32>
  %probs0 = tensor.empty(%p) : !probs
  %probs = linalg.generic {indexing_maps = [#list, #list], iterator_types = ["parallel"]}
      ins(%sorted#1 : !list) outs(%probs0 : !probs) {
  ^bb0(%slot: i32, %out: f32):
    %at = arith.index_cast %slot : i32 to index
    %prob = tensor.extract %list[%at] : tensor<256xf32>
    linalg.yield %prob : f32
  } -> !probs

  // Gathers rows of the window, sorted by expert, in both orientations.
  %xe0 = tensor.empty(%p) : !xe
  %xs0 = tensor.empty(%p) : !xs
  %xte0 = tensor.empty(%columns) : !xte
  %xts0 = tensor.empty(%blocks) : !xts
  %xq:4 = mx.fused_quantize ragged = rows ins(%we : !we) input_scales(%ws : !ws)
      gather(%sorted#0 : !list) offsets(%sorted#2 : !ends)
      outs(%xe0, %xs0, %xte0, %xts0 : !xe, !xs, !xte, !xts)
      axes = [1, 0] {mxgpu.expected_rows = 128 : i64} -> !xe, !xs, !xte, !xts

  %gu0 = tensor.empty(%p) : !gu
  %gu = mx.grouped_matmul ragged = rows
      ins(%xq#0, %xq#1, %w1e, %w1s : !xe, !xs, !w1e, !w1s)
      offsets(%sorted#2 : !ends) outs(%gu0 : !gu)
      {mxgpu.expected_rows = 128 : i64} -> !gu

  // SwiGLU in f32, rounded once to bf16.
  %gate = tensor.extract_slice %gu[0, 0] [%p, 256] [1, 1] : !gu to !h
  %up = tensor.extract_slice %gu[0, 256] [%p, 256] [1, 1] : !gu to !h
  %h0 = tensor.empty(%p) : !h
  %h = linalg.generic {indexing_maps = [#id, #id, #row, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up, %probs : !h, !h, !probs) outs(%h0 : !h) {
  ^bb0(%g: bf16, %u: bf16, %prob: f32, %out: bf16):
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %d : f32
    %product = arith.mulf %silu, %uf : f32
    %weighted = arith.mulf %product, %prob : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  } -> !h
  %he0 = tensor.empty(%p) : !he
  %hs0 = tensor.empty(%p) : !hs
  %hte0 = tensor.empty(%columns) : !hte
  %hts0 = tensor.empty(%blocks) : !hts
  %hq:4 = mx.quantize ragged = rows ins(%h : !h) offsets(%sorted#2 : !ends)
      outs(%he0, %hs0, %hte0, %hts0 : !he, !hs, !hte, !hts) axes = [1, 0]
      {mxgpu.expected_rows = 128 : i64} -> !he, !hs, !hte, !hts

  // Each rank sums its rows of a token, and the token's rank adds the sums.
  %z0 = tensor.empty(%p) : !z
  %z = mx.grouped_matmul ragged = rows
      ins(%hq#0, %hq#1, %w2e, %w2s : !he, !hs, !w2e, !w2s)
      offsets(%sorted#2 : !ends) outs(%z0 : !z)
      {mxgpu.expected_rows = 128 : i64} -> !z
  %y0 = tensor.empty(%t) : !sums
  %y = mx.collect @ep experts = 8 wire = bf16 ids(%ids : !ids)
      ins(%z : !z) slots(%sorted#1 : !list) outs(%y0 : !sums) -> !sums
  return %y, %sorted#0, %sorted#1, %sorted#2, %sorted#3, %probs, %gu, %xq#2, %xq#3, %hq#2, %hq#3
      : !sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts
}

/// Returns the results of @compute, and %needed.
func.func @forward(%x: !tokens, %ids: !ids, %weights: !pairs, %capacity: index,
                   %w1e: !w1e, %w1s: !w1s, %w2e: !w2e, %w2s: !w2s)
    -> (!sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts, !count) {
  %w:5 = call @send(%x, %ids, %weights) : (!tokens, !ids, !pairs) -> (!wi, !we, !ws, !wp, !count)
  %r:11 = call @compute(%ids, %w#0, %w#1, %w#2, %w#3, %capacity, %w1e, %w1s, %w2e, %w2s)
      : (!ids, !wi, !we, !ws, !wp, index, !w1e, !w1s, !w2e, !w2s)
      -> (!sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts)
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8, %r#9, %r#10, %w#4
      : !sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts, !count
}

/// Quantizes W1 and W2 while the tokens are sent. Returns the results of @forward and of
/// @quantize_weights.
func.func @quantize_and_forward(%x: !tokens, %ids: !ids, %weights: !pairs, %capacity: index,
                                %w1: !w1, %w2: !w2)
    -> (!sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts, !count,
        !w1e, !w1s, !w1te, !w1ts, !w2e, !w2s, !w2te, !w2ts) {
  %w:5 = call @send(%x, %ids, %weights) : (!tokens, !ids, !pairs) -> (!wi, !we, !ws, !wp, !count)
  %q:8 = call @quantize_weights(%w1, %w2)
      : (!w1, !w2) -> (!w1e, !w1s, !w1te, !w1ts, !w2e, !w2s, !w2te, !w2ts)
  %r:11 = call @compute(%ids, %w#0, %w#1, %w#2, %w#3, %capacity, %q#0, %q#1, %q#4, %q#5)
      : (!ids, !wi, !we, !ws, !wp, index, !w1e, !w1s, !w2e, !w2s)
      -> (!sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts)
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8, %r#9, %r#10, %w#4,
         %q#0, %q#1, %q#2, %q#3, %q#4, %q#5, %q#6, %q#7
      : !sums, !list, !list, !ends, !count, !probs, !gu, !xte, !xts, !hte, !hts, !count,
        !w1e, !w1s, !w1te, !w1ts, !w2e, !w2s, !w2te, !w2ts
}

/// Returns the gradients of X, W1, W2 and the router's weights, given the gradient of Y,
/// the results of the forward pass, and W1 and W2 in their transposed orientation.
func.func @backward(%dy: !tokens, %ids: !ids, %rows: !list, %slots: !list, %ends: !ends,
                    %probs: !probs, %gu: !gu, %xte: !xte, %xts: !xts, %hte: !hte,
                    %hts: !hts, %w1e: !w1te, %w1s: !w1ts, %w2e: !w2te, %w2s: !w2ts)
    -> (!sums, !dw1, !dw2, !pairs) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %dy, %c0 : !tokens
  %p = tensor.dim %rows, %c0 : !list
  %columns = tensor.dim %xte, %c1 : !xte
  %blocks = arith.divui %columns, %c32 : index

  // Gradients are sent like tokens.
  %td0 = tensor.empty(%t) : !td
  %ts0 = tensor.empty(%t) : !ts
  %tq:2 = mx.quantize ins(%dy : !tokens) outs(%td0, %ts0 : !td, !ts) axes = [1] -> !td, !ts
  %wi0 = mx.window @ep : !wi
  %wd0 = mx.window @ep : !wd
  %ws0 = mx.window @ep : !ws
  %w:3 = mx.dispatch @ep experts = 8 ids(%ids : !ids)
      ins(%tq#0, %tq#1 : !td, !ts) outs(%wi0, %wd0, %ws0 : !wi, !wd, !ws) -> !wi, !wd, !ws
  %ze0 = tensor.empty(%p) : !ze
  %zs0 = tensor.empty(%p) : !xs
  %zte0 = tensor.empty(%columns) : !zte
  %zts0 = tensor.empty(%blocks) : !xts
  %zq:4 = mx.fused_quantize ragged = rows ins(%w#1 : !wd) input_scales(%w#2 : !ws)
      gather(%rows : !list) offsets(%ends : !ends)
      outs(%ze0, %zs0, %zte0, %zts0 : !ze, !xs, !zte, !xts)
      axes = [1, 0] {mxgpu.expected_rows = 128 : i64} -> !ze, !xs, !zte, !xts

  // dh = dz W2, dW2 = dz^T h.
  %dh0 = tensor.empty(%p) : !h
  %dh = mx.grouped_matmul ragged = rows
      ins(%zq#0, %zq#1, %w2e, %w2s : !ze, !xs, !w2te, !w2ts)
      offsets(%ends : !ends) outs(%dh0 : !h)
      {mxgpu.expected_rows = 128 : i64} -> !h
  %dw20 = tensor.empty() : !dw2
  %dw2 = mx.grouped_matmul ragged = reduction
      ins(%zq#2, %zq#3, %hte, %hts : !zte, !xts, !hte, !hts)
      offsets(%ends : !ends) outs(%dw20 : !dw2)
      {mxgpu.expected_rows = 128 : i64} -> !dw2

  // dprobs: the gradient times the value that the probability multiplied.
  %gate = tensor.extract_slice %gu[0, 0] [%p, 256] [1, 1] : !gu to !h
  %up = tensor.extract_slice %gu[0, 256] [%p, 256] [1, 1] : !gu to !h
  %dp0 = tensor.empty(%p) : !probs
  %dp1 = linalg.fill ins(%zero : f32) outs(%dp0 : !probs) -> !probs
  // Rows without a pair are not read.
  %dprobs = linalg.generic {indexing_maps = [#id, #id, #id, #row, #row],
                            iterator_types = ["parallel", "reduction"]}
      ins(%gate, %up, %dh, %rows : !h, !h, !h, !list) outs(%dp1 : !probs) {
  ^bb0(%g: bf16, %u: bf16, %d: bf16, %row: i32, %sum: f32):
    %none = arith.constant -0.0 : f32
    %first = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %df = arith.extf %d : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %e = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %e : f32
    %product = arith.mulf %silu, %uf : f32
    %term = arith.mulf %product, %df : f32
    %exists = arith.cmpi sge, %row, %first : i32
    %added = arith.select %exists, %term, %none : f32
    %next = arith.addf %sum, %added : f32
    linalg.yield %next : f32
  } -> !probs

  // Gradients of gate and up, concatenated like their projections.
  %dg0 = tensor.empty(%p) : !h
  %dgate, %dup = linalg.generic {indexing_maps = [#id, #id, #id, #row, #id, #id],
                                 iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up, %dh, %probs : !h, !h, !h, !probs) outs(%dg0, %dg0 : !h, !h) {
  ^bb0(%g: bf16, %u: bf16, %d: bf16, %prob: f32, %o0: bf16, %o1: bf16):
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %df = arith.extf %d : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %e = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %e : f32
    %sigma = arith.divf %one, %e : f32
    %dp = arith.mulf %df, %prob : f32
    %rest = arith.subf %one, %sigma : f32
    %slope = arith.mulf %silu, %rest : f32
    %dsilu = arith.addf %sigma, %slope : f32
    %dpu = arith.mulf %dp, %uf : f32
    %x = arith.mulf %dpu, %dsilu : f32
    %y = arith.mulf %dp, %silu : f32
    %xh = arith.truncf %x : f32 to bf16
    %yh = arith.truncf %y : f32 to bf16
    linalg.yield %xh, %yh : bf16, bf16
  } -> (!h, !h)
  %dgu = tensor.concat dim(1) %dgate, %dup : (!h, !h) -> !gu
  %ge0 = tensor.empty(%p) : !ge
  %gs0 = tensor.empty(%p) : !gs
  %gte0 = tensor.empty(%columns) : !gte
  %gts0 = tensor.empty(%blocks) : !gts
  %gq:4 = mx.quantize ragged = rows ins(%dgu : !gu) offsets(%ends : !ends)
      outs(%ge0, %gs0, %gte0, %gts0 : !ge, !gs, !gte, !gts) axes = [1, 0]
      {mxgpu.expected_rows = 128 : i64} -> !ge, !gs, !gte, !gts

  // dX = sum of dgu W1 over the rows of a token, dW1 = dgu^T x. The sums of dX and the
  // gradients of the weights are exchanged while dW1 is computed.
  %dx0 = tensor.empty(%p) : !z
  %dxp = mx.grouped_matmul ragged = rows
      ins(%gq#0, %gq#1, %w1e, %w1s : !ge, !gs, !w1te, !w1ts)
      offsets(%ends : !ends) outs(%dx0 : !z)
      {mxgpu.expected_rows = 128 : i64} -> !z
  %dx1 = tensor.empty(%t) : !sums
  %dx = mx.collect @ep experts = 8 wire = bf16 parts = 1 ids(%ids : !ids)
      ins(%dxp : !z) slots(%slots : !list) outs(%dx1 : !sums) -> !sums
  %dweights0 = tensor.empty(%t) : !pairs
  %dweights = mx.collect_pairs @ep experts = 8 ids(%ids : !ids)
      ins(%dprobs : !probs) slots(%slots : !list) outs(%dweights0 : !pairs) -> !pairs
  %dw10 = tensor.empty() : !dw1
  %dw1 = mx.grouped_matmul ragged = reduction
      ins(%gq#2, %gq#3, %xte, %xts : !gte, !gts, !xte, !xts)
      offsets(%ends : !ends) outs(%dw10 : !dw1)
      {mxgpu.expected_rows = 128 : i64} -> !dw1
  return %dx, %dw1, %dw2, %dweights
      : !sums, !dw1, !dw2, !pairs
}
