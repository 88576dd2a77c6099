// Layer of a mixture of experts, forward and backward, in block-scaled formats. There
// are G = 8 SwiGLU experts with H = 384 and I = 256, and any number T of tokens. The
// router assigns each token to k experts. Each of the P = T * k pairs of a token and
// an expert is a row; rows are sorted by expert. Three tensors describe the routing,
//
//   %ends   ends[g]: the end of the rows of expert g, where the rows of g + 1 begin
//   %tokens tokens[p]: the token of row p
//   %probs  probs[p]: the router's weight of row p
//
// all in device memory: the host never reads the number of rows of an expert. Rows past
// the last end belong to no expert. @quantize_weights quantizes the weights once for
// each step, along the reduction dimension of each matmul.
//
//   x[p]   = X[tokens[p]]                         T x H -> P x H
//   gu[p]  = x[p] W1[g]^T                         P x 2I: gate, up
//   h[p]   = silu(gate[p]) * up[p] * probs[p]     P x I
//   z[p]   = h[p] W2[g]^T                         P x H
//   Y[t]   = sum of z[p] with tokens[p] = t       T x H, in the order of p
//
// mx-compile examples/moe_layer.mlir -o moe --mx-explain lists the launches: 9 forward,
// 12 backward. Five of them in each pass sum the rows of a token in order, so results
// are bitwise reproducible.

!tokens = tensor<?x384xbf16>
!sums = tensor<?x384xf32>
!list = tensor<?xi32>
!probs = tensor<?xf32>
!ends = tensor<8xi32>
// Types of quantized activations: x and the gradient of y (P x H), h (P x I), and gu
// (P x 2I). Each is quantized along its columns, and along P within each expert's rows.
!xe = tensor<?x384xf8E4M3FN>
!xs = tensor<?x12xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!xte = tensor<384x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!xts = tensor<384x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!ze = tensor<?x384xf8E4M3FN>
!zte = tensor<384x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!he = tensor<?x256xf8E4M3FN>
!hs = tensor<?x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!hte = tensor<256x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!hts = tensor<256x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!ge = tensor<?x512xf8E4M3FN>
!gs = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!gte = tensor<512x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!gts = tensor<512x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!gu = tensor<?x512xbf16>
!h = tensor<?x256xbf16>
// W1 is G x 2I x H, and W2 is G x H x I. Each is quantized along its last dimension, and
// transposed and quantized along the middle dimension.
!w1 = tensor<8x512x384xbf16>
!w1e = tensor<8x512x384xf8E4M3FN>
!w1s = tensor<8x512x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w1te = tensor<8x384x512xf8E4M3FN>
!w1ts = tensor<8x384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w2 = tensor<8x384x256xbf16>
!w2e = tensor<8x384x256xf8E4M3FN>
!w2s = tensor<8x384x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w2te = tensor<8x256x384xf8E4M3FN>
!w2ts = tensor<8x256x12xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!dw1 = tensor<8x512x384xf32>
!dw2 = tensor<8x384x256xf32>

#id = affine_map<(p, i) -> (p, i)>
#row = affine_map<(p, i) -> (p)>

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

/// Returns Y and the values saved for the backward pass: gate and up, and x and h
/// quantized along P.
func.func @forward(%x: !tokens, %tokens: !list, %probs: !probs, %ends: !ends,
                   %w1e: !w1e, %w1s: !w1s, %w2e: !w2e, %w2s: !w2s)
    -> (!sums, !gu, !xte, !xts, !hte, !hts) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %slack = arith.constant 1143 : index // 127 for each group, and 127
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c0 : !tokens
  %p = tensor.dim %tokens, %c0 : !list
  %most = arith.addi %p, %slack : index
  %tiles = arith.divui %most, %c128 : index
  %capacity = arith.muli %tiles, %c128 : index
  %blocks = arith.divui %capacity, %c32 : index

  // Gathers the rows of x, sorted by expert, and quantizes them in both orientations.
  %xp0 = tensor.empty(%p) : !tokens
  %xp = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : !list) outs(%xp0 : !tokens) {
  ^bb0(%token: i32, %out: bf16):
    %row = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %exists = arith.cmpi ult, %row, %t : index
    %value = tensor.extract %x[%row, %column] : !tokens
    %none = arith.constant 0.0 : bf16
    %y = arith.select %exists, %value, %none : bf16
    linalg.yield %y : bf16
  } -> !tokens
  %xe0 = tensor.empty(%p) : !xe
  %xs0 = tensor.empty(%p) : !xs
  %xte0 = tensor.empty(%capacity) : !xte
  %xts0 = tensor.empty(%blocks) : !xts
  %xq:4 = mx.quantize ragged = rows ins(%xp : !tokens) offsets(%ends : !ends)
      outs(%xe0, %xs0, %xte0, %xts0 : !xe, !xs, !xte, !xts)
      axes = [1, 0] -> !xe, !xs, !xte, !xts

  %gu0 = tensor.empty(%p) : !gu
  %gu = mx.grouped_matmul ragged = rows
      ins(%xq#0, %xq#1, %w1e, %w1s : !xe, !xs, !w1e, !w1s)
      offsets(%ends : !ends) outs(%gu0 : !gu) -> !gu

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
  %hte0 = tensor.empty(%capacity) : !hte
  %hts0 = tensor.empty(%blocks) : !hts
  %hq:4 = mx.quantize ragged = rows ins(%h : !h) offsets(%ends : !ends)
      outs(%he0, %hs0, %hte0, %hts0 : !he, !hs, !hte, !hts) axes = [1, 0]
      -> !he, !hs, !hte, !hts

  // Sums the rows of each token.
  %z0 = tensor.empty(%p) : !sums
  %z = mx.grouped_matmul ragged = rows
      ins(%hq#0, %hq#1, %w2e, %w2s : !he, !hs, !w2e, !w2s)
      offsets(%ends : !ends) outs(%z0 : !sums) -> !sums
  %y0 = tensor.empty(%t) : !sums
  %none = linalg.fill ins(%zero : f32) outs(%y0 : !sums) -> !sums
  %y = mx.combine ins(%z : !sums) rows(%tokens : !list) offsets(%ends : !ends)
      outs(%none : !sums) order = fixed -> !sums
  return %y, %gu, %xq#2, %xq#3, %hq#2, %hq#3 : !sums, !gu, !xte, !xts, !hte, !hts
}

/// Returns the gradients of X, W1, W2 and the probabilities, given the gradient of Y, the
/// saved values, and the weights in their transposed orientation.
func.func @backward(%dy: !tokens, %tokens: !list, %probs: !probs, %ends: !ends,
                    %gu: !gu, %xte: !xte, %xts: !xts, %hte: !hte, %hts: !hts,
                    %w1e: !w1te, %w1s: !w1ts, %w2e: !w2te, %w2s: !w2ts)
    -> (!sums, !dw1, !dw2, !probs) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %dy, %c0 : !tokens
  %p = tensor.dim %tokens, %c0 : !list
  %capacity = tensor.dim %xte, %c1 : !xte
  %blocks = arith.divui %capacity, %c32 : index

  %dyp0 = tensor.empty(%p) : !tokens
  %dyp = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : !list) outs(%dyp0 : !tokens) {
  ^bb0(%token: i32, %out: bf16):
    %row = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %exists = arith.cmpi ult, %row, %t : index
    %value = tensor.extract %dy[%row, %column] : !tokens
    %none = arith.constant 0.0 : bf16
    %y = arith.select %exists, %value, %none : bf16
    linalg.yield %y : bf16
  } -> !tokens
  %ze0 = tensor.empty(%p) : !ze
  %zs0 = tensor.empty(%p) : !xs
  %zte0 = tensor.empty(%capacity) : !zte
  %zts0 = tensor.empty(%blocks) : !xts
  %zq:4 = mx.quantize ragged = rows ins(%dyp : !tokens) offsets(%ends : !ends)
      outs(%ze0, %zs0, %zte0, %zts0 : !ze, !xs, !zte, !xts)
      axes = [1, 0] -> !ze, !xs, !zte, !xts

  // dh = dz W2, dW2 = dz^T h.
  %dh0 = tensor.empty(%p) : !h
  %dh = mx.grouped_matmul ragged = rows
      ins(%zq#0, %zq#1, %w2e, %w2s : !ze, !xs, !w2te, !w2ts)
      offsets(%ends : !ends) outs(%dh0 : !h) -> !h
  %dw20 = tensor.empty() : !dw2
  %dw2 = mx.grouped_matmul ragged = reduction
      ins(%zq#2, %zq#3, %hte, %hts : !zte, !xts, !hte, !hts)
      offsets(%ends : !ends) outs(%dw20 : !dw2) -> !dw2

  // dprobs: the gradient times the value that the probability multiplied.
  %gate = tensor.extract_slice %gu[0, 0] [%p, 256] [1, 1] : !gu to !h
  %up = tensor.extract_slice %gu[0, 256] [%p, 256] [1, 1] : !gu to !h
  %dp0 = tensor.empty(%p) : !probs
  %dp1 = linalg.fill ins(%zero : f32) outs(%dp0 : !probs) -> !probs
  %dprobs = linalg.generic {indexing_maps = [#id, #id, #id, #row],
                            iterator_types = ["parallel", "reduction"]}
      ins(%gate, %up, %dh : !h, !h, !h) outs(%dp1 : !probs) {
  ^bb0(%g: bf16, %u: bf16, %d: bf16, %sum: f32):
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
    %next = arith.addf %sum, %term : f32
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
  %gte0 = tensor.empty(%capacity) : !gte
  %gts0 = tensor.empty(%blocks) : !gts
  %gq:4 = mx.quantize ragged = rows ins(%dgu : !gu) offsets(%ends : !ends)
      outs(%ge0, %gs0, %gte0, %gts0 : !ge, !gs, !gte, !gts) axes = [1, 0]
      -> !ge, !gs, !gte, !gts

  // dX = sum of dgu W1 over the rows of a token, dW1 = dgu^T x.
  %dx0 = tensor.empty(%p) : !sums
  %dxp = mx.grouped_matmul ragged = rows
      ins(%gq#0, %gq#1, %w1e, %w1s : !ge, !gs, !w1te, !w1ts)
      offsets(%ends : !ends) outs(%dx0 : !sums) -> !sums
  %dx1 = tensor.empty(%t) : !sums
  %none = linalg.fill ins(%zero : f32) outs(%dx1 : !sums) -> !sums
  %dx = mx.combine ins(%dxp : !sums) rows(%tokens : !list) offsets(%ends : !ends)
      outs(%none : !sums) order = fixed -> !sums
  %dw10 = tensor.empty() : !dw1
  %dw1 = mx.grouped_matmul ragged = reduction
      ins(%gq#2, %gq#3, %xte, %xts : !gte, !gts, !xte, !xts)
      offsets(%ends : !ends) outs(%dw10 : !dw1) -> !dw1
  return %dx, %dw1, %dw2, %dprobs
      : !sums, !dw1, !dw2, !probs
}
