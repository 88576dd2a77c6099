// The layer of examples/moe_layer.mlir as a framework's compiler would emit it: in bf16,
// with ops of linalg, tensor and scf, and with a loop over the experts for each grouped
// matmul. Block formats are not used.
//
//   mx-opt --mx-quantize-matmuls=recipe=mxfp8 --cse --canonicalize
//
// converts this file to the launches of moe_layer.mlir plus launches that quantize the
// weights (docs/guide/Import.md). The sum over a token's experts is mx.combine, because
// linalg cannot express the order of the sum.

!tokens = tensor<?x384xbf16>
!sums = tensor<?x384xf32>
!list = tensor<?xi32>
!probs = tensor<?xf32>
!ends = tensor<8xi32>
!gu = tensor<?x512xbf16>
!h = tensor<?x256xbf16>
!w1 = tensor<8x512x384xbf16>
!w2 = tensor<8x384x256xbf16>
!dw1 = tensor<8x512x384xf32>
!dw2 = tensor<8x384x256xf32>

#id = affine_map<(p, i) -> (p, i)>
#row = affine_map<(p, i) -> (p)>
#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

/// Returns Y and the values saved for the backward pass: gate and up.
func.func @forward(%x: !tokens, %tokens: !list, %probs: !probs, %ends: !ends,
                   %w1: !w1, %w2: !w2) -> (!sums, !gu) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c0 : !tokens
  %p = tensor.dim %tokens, %c0 : !list

  // x[p] = X[tokens[p]]
  %xp0 = tensor.empty(%p) : !tokens
  %xp = linalg.generic {indexing_maps = [#row, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%tokens : !list) outs(%xp0 : !tokens) {
  ^bb0(%token: i32, %out: bf16):
    %t0 = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %x[%t0, %column] : !tokens
    linalg.yield %element : bf16
  } -> !tokens

  // gu[p] = x[p] W1[g]^T
  %gu0 = tensor.empty(%p) : !gu
  %gu, %gu_end = scf.for %g = %c0 to %c8 step %c1
      iter_args(%out = %gu0, %start = %c0) -> (!gu, index) {
    %e = tensor.extract %ends[%g] : !ends
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %rows = tensor.extract_slice %xp[%start, 0] [%n, 384] [1, 1] : !tokens to !tokens
    %matrix = tensor.extract_slice %w1[%g, 0, 0] [1, 512, 384] [1, 1, 1] : !w1 to tensor<512x384xbf16>
    %empty = tensor.empty(%n) : tensor<?x512xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x512xf32>) -> tensor<?x512xf32>
    %matmul = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%rows, %matrix : !tokens, tensor<512x384xbf16>)
        outs(%zeros : tensor<?x512xf32>) -> tensor<?x512xf32>
    %rounded = arith.truncf %matmul : tensor<?x512xf32> to !gu
    %next = tensor.insert_slice %rounded into %out[%start, 0] [%n, 512] [1, 1] : !gu into !gu
    scf.yield %next, %end : !gu, index
  }

  // h[p] = silu(gate[p]) * up[p] * probs[p]
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

  // z[p] = h[p] W2[g]^T, and Y[t] = sum of z[p] with tokens[p] = t.
  %z0 = tensor.empty(%p) : !sums
  %z, %z_end = scf.for %g = %c0 to %c8 step %c1
      iter_args(%out = %z0, %start = %c0) -> (!sums, index) {
    %e = tensor.extract %ends[%g] : !ends
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %rows = tensor.extract_slice %h[%start, 0] [%n, 256] [1, 1] : !h to !h
    %matrix = tensor.extract_slice %w2[%g, 0, 0] [1, 384, 256] [1, 1, 1] : !w2 to tensor<384x256xbf16>
    %empty = tensor.empty(%n) : tensor<?x384xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x384xf32>) -> tensor<?x384xf32>
    %matmul = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%rows, %matrix : !h, tensor<384x256xbf16>)
        outs(%zeros : tensor<?x384xf32>) -> tensor<?x384xf32>
    %next = tensor.insert_slice %matmul into %out[%start, 0] [%n, 384] [1, 1] : !sums into !sums
    scf.yield %next, %end : !sums, index
  }
  %y0 = tensor.empty(%t) : !sums
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !sums) -> !sums
  %y = mx.combine ins(%z : !sums) rows(%tokens : !list) offsets(%ends : !ends)
      outs(%y1 : !sums) -> !sums
  return %y, %gu : !sums, !gu
}

/// Returns the gradients of X, W1, W2 and the probabilities, given the gradient of Y.
func.func @backward(%dy: !tokens, %tokens: !list, %probs: !probs, %ends: !ends,
                    %x: !tokens, %gu: !gu, %w1: !w1, %w2: !w2)
    -> (!sums, !dw1, !dw2, !probs) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %dy, %c0 : !tokens
  %p = tensor.dim %tokens, %c0 : !list
  %dz0 = tensor.empty(%p) : !tokens
  %dz = linalg.generic {indexing_maps = [#row, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%tokens : !list) outs(%dz0 : !tokens) {
  ^bb0(%token: i32, %out: bf16):
    %t0 = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %dy[%t0, %column] : !tokens
    linalg.yield %element : bf16
  } -> !tokens
  %xp0 = tensor.empty(%p) : !tokens
  %xp = linalg.generic {indexing_maps = [#row, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%tokens : !list) outs(%xp0 : !tokens) {
  ^bb0(%token: i32, %out: bf16):
    %t0 = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %x[%t0, %column] : !tokens
    linalg.yield %element : bf16
  } -> !tokens
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

  // dh = dz W2, dW2 = dz^T h
  %dh0 = tensor.empty(%p) : !h
  %dh, %dh_end = scf.for %g = %c0 to %c8 step %c1
      iter_args(%out = %dh0, %start = %c0) -> (!h, index) {
    %e = tensor.extract %ends[%g] : !ends
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %rows = tensor.extract_slice %dz[%start, 0] [%n, 384] [1, 1] : !tokens to !tokens
    %matrix = tensor.extract_slice %w2[%g, 0, 0] [1, 384, 256] [1, 1, 1] : !w2 to tensor<384x256xbf16>
    %empty = tensor.empty(%n) : tensor<?x256xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x256xf32>) -> tensor<?x256xf32>
    %matmul = linalg.matmul indexing_maps = [#mk, #kn, #mn]
        ins(%rows, %matrix : !tokens, tensor<384x256xbf16>)
        outs(%zeros : tensor<?x256xf32>) -> tensor<?x256xf32>
    %rounded = arith.truncf %matmul : tensor<?x256xf32> to !h
    %next = tensor.insert_slice %rounded into %out[%start, 0] [%n, 256] [1, 1] : !h into !h
    scf.yield %next, %end : !h, index
  }
  %dw20 = tensor.empty() : !dw2
  %dw2, %dw2_end = scf.for %g = %c0 to %c8 step %c1
      iter_args(%out = %dw20, %start = %c0) -> (!dw2, index) {
    %e = tensor.extract %ends[%g] : !ends
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %left = tensor.extract_slice %dz[%start, 0] [%n, 384] [1, 1] : !tokens to !tokens
    %right = tensor.extract_slice %h[%start, 0] [%n, 256] [1, 1] : !h to !h
    %empty = tensor.empty() : tensor<384x256xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<384x256xf32>) -> tensor<384x256xf32>
    %sums = linalg.matmul indexing_maps = [#km, #kn, #mn]
        ins(%left, %right : !tokens, !h) outs(%zeros : tensor<384x256xf32>) -> tensor<384x256xf32>
    %next = tensor.insert_slice %sums into %out[%g, 0, 0] [1, 384, 256] [1, 1, 1]
        : tensor<384x256xf32> into !dw2
    scf.yield %next, %end : !dw2, index
  }

  // dprobs[p] = sum of silu(gate[p]) * up[p] * dh[p]
  %dp0 = tensor.empty(%p) : !probs
  %dp1 = linalg.fill ins(%zero : f32) outs(%dp0 : !probs) -> !probs
  %dprobs = linalg.generic {indexing_maps = [#id, #id, #id, #row],
                            iterator_types = ["parallel", "reduction"]}
      ins(%gate, %up, %dh : !h, !h, !h) outs(%dp1 : !probs) {
  ^bb0(%g: bf16, %u: bf16, %dhb: bf16, %sum: f32):
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %d : f32
    %df = arith.extf %dhb : bf16 to f32
    %product = arith.mulf %silu, %uf : f32
    %term = arith.mulf %product, %df : f32
    %next = arith.addf %sum, %term : f32
    linalg.yield %next : f32
  } -> !probs

  // Gradients of gate and up, concatenated like their projections.
  %dgu0 = tensor.empty(%p) : !h
  %dgate, %dup = linalg.generic {indexing_maps = [#id, #id, #id, #row, #id, #id],
                                 iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up, %dh, %probs : !h, !h, !h, !probs) outs(%dgu0, %dgu0 : !h, !h) {
  ^bb0(%g: bf16, %u: bf16, %dhb: bf16, %prob: f32, %o0: bf16, %o1: bf16):
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %d : f32
    %df = arith.extf %dhb : bf16 to f32
    %sigma = arith.divf %one, %d : f32
    %dp = arith.mulf %df, %prob : f32
    %rest = arith.subf %one, %sigma : f32
    %slope = arith.mulf %silu, %rest : f32
    %dsilu = arith.addf %sigma, %slope : f32
    %dpu = arith.mulf %dp, %uf : f32
    %a = arith.mulf %dpu, %dsilu : f32
    %b = arith.mulf %dp, %silu : f32
    %ah = arith.truncf %a : f32 to bf16
    %bh = arith.truncf %b : f32 to bf16
    linalg.yield %ah, %bh : bf16, bf16
  } -> (!h, !h)
  %dgu = tensor.concat dim(1) %dgate, %dup : (!h, !h) -> !gu

  // dX = sum of dgu W1 over the rows of a token, dW1 = dgu^T x
  %dxp0 = tensor.empty(%p) : !sums
  %dxp, %dxp_end = scf.for %g = %c0 to %c8 step %c1
      iter_args(%out = %dxp0, %start = %c0) -> (!sums, index) {
    %e = tensor.extract %ends[%g] : !ends
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %rows = tensor.extract_slice %dgu[%start, 0] [%n, 512] [1, 1] : !gu to !gu
    %matrix = tensor.extract_slice %w1[%g, 0, 0] [1, 512, 384] [1, 1, 1] : !w1 to tensor<512x384xbf16>
    %empty = tensor.empty(%n) : tensor<?x384xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x384xf32>) -> tensor<?x384xf32>
    %matmul = linalg.matmul indexing_maps = [#mk, #kn, #mn]
        ins(%rows, %matrix : !gu, tensor<512x384xbf16>)
        outs(%zeros : tensor<?x384xf32>) -> tensor<?x384xf32>
    %next = tensor.insert_slice %matmul into %out[%start, 0] [%n, 384] [1, 1] : !sums into !sums
    scf.yield %next, %end : !sums, index
  }
  %dx0 = tensor.empty(%t) : !sums
  %dx1 = linalg.fill ins(%zero : f32) outs(%dx0 : !sums) -> !sums
  %dx = mx.combine ins(%dxp : !sums) rows(%tokens : !list) offsets(%ends : !ends)
      outs(%dx1 : !sums) -> !sums
  %dw10 = tensor.empty() : !dw1
  %dw1, %dw1_end = scf.for %g = %c0 to %c8 step %c1
      iter_args(%out = %dw10, %start = %c0) -> (!dw1, index) {
    %e = tensor.extract %ends[%g] : !ends
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %left = tensor.extract_slice %dgu[%start, 0] [%n, 512] [1, 1] : !gu to !gu
    %right = tensor.extract_slice %xp[%start, 0] [%n, 384] [1, 1] : !tokens to !tokens
    %empty = tensor.empty() : tensor<512x384xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x384xf32>) -> tensor<512x384xf32>
    %sums = linalg.matmul indexing_maps = [#km, #kn, #mn]
        ins(%left, %right : !gu, !tokens) outs(%zeros : tensor<512x384xf32>) -> tensor<512x384xf32>
    %next = tensor.insert_slice %sums into %out[%g, 0, 0] [1, 512, 384] [1, 1, 1]
        : tensor<512x384xf32> into !dw1
    scf.yield %next, %end : !dw1, index
  }
  return %dx, %dw1, %dw2, %dprobs : !sums, !dw1, !dw2, !probs
}
