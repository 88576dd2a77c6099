// The products and quantizers of a layer of a mixture of experts, forward and
// backward, with every intermediate result; combine, the gradient of SwiGLU and
// that of the probabilities are the host's. Of moe-stages.test.

!ends = tensor<8xi32>
!rows = tensor<?xi32>
!prob = tensor<?xf32>
!tok = tensor<?x512xbf16>
!sum = tensor<?x512xf32>
!gu = tensor<?x512xbf16>
!h = tensor<?x256xbf16>
!he = tensor<?x512xf8E4M3FN>
!hs = tensor<?x16xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = rows, groups = 8>>
!hte = tensor<512x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!hts = tensor<512x?xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = reduction, groups = 8>>
!ie = tensor<?x256xf8E4M3FN>
!is = tensor<?x8xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = rows, groups = 8>>
!ite = tensor<256x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!its = tensor<256x?xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = reduction, groups = 8>>
!w1e = tensor<8x512x512xf8E4M3FN>
!w1s = tensor<8x512x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>
!w2e = tensor<8x512x256xf8E4M3FN>
!w2s = tensor<8x512x8xf8E8M0FNU, #mx.scale_layout<tcgen05>>
!w2te = tensor<8x256x512xf8E4M3FN>
!w2ts = tensor<8x256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>
!dw1 = tensor<8x512x512xf32>
!dw2 = tensor<8x512x256xf32>

func.func @forward(%x: !tok, %rows: !rows, %prob: !prob, %ends: !ends, %w1: !w1e, %w1s: !w1s, %w2: !w2e, %w2s: !w2s)
    -> (!sum, !gu, !hte, !hts, !ite, !its, !he, !hs, !ie, !is) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %slack = arith.constant 1016 : index
  %p = tensor.dim %rows, %c0 : !rows
  %most = arith.addi %p, %slack : index
  %tiles = arith.ceildivui %most, %c128 : index
  %capacity = arith.muli %tiles, %c128 : index
  %blocks = arith.divui %capacity, %c32 : index
  %0 = tensor.empty(%p) : !he
  %1 = tensor.empty(%p) : !hs
  %2 = tensor.empty(%capacity) : !hte
  %3 = tensor.empty(%blocks) : !hts
  %xq:4 = mx.quantize ragged = rows ins(%x : !tok) gather(%rows : !rows) offsets(%ends : !ends) outs(%0, %1, %2, %3 : !he, !hs, !hte, !hts) axes = [1, 0] -> !he, !hs, !hte, !hts
  %4 = tensor.empty(%p) : !gu
  %gu = mx.grouped_matmul ragged = rows ins(%xq#0, %xq#1, %w1, %w1s : !he, !hs, !w1e, !w1s) offsets(%ends : !ends) outs(%4 : !gu) -> !gu
  %gate = tensor.extract_slice %gu[0, 0] [%p, 256] [1, 1] : !gu to !h
  %up = tensor.extract_slice %gu[0, 256] [%p, 256] [1, 1] : !gu to !h
  %5 = tensor.empty(%p) : !h
  %h = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up, %prob : !h, !h, !prob) outs(%5 : !h) {
  ^bb0(%g: bf16, %u: bf16, %w: f32, %o: bf16):
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %d : f32
    %h0 = arith.mulf %silu, %uf : f32
    %h1 = arith.mulf %h0, %w : f32
    %y = arith.truncf %h1 : f32 to bf16
    linalg.yield %y : bf16
  } -> !h
  %6 = tensor.empty(%p) : !ie
  %7 = tensor.empty(%p) : !is
  %8 = tensor.empty(%capacity) : !ite
  %9 = tensor.empty(%blocks) : !its
  %hq:4 = mx.quantize ragged = rows ins(%h : !h) offsets(%ends : !ends) outs(%6, %7, %8, %9 : !ie, !is, !ite, !its) axes = [1, 0] -> !ie, !is, !ite, !its
  %10 = tensor.empty(%p) : !sum
  %z = mx.grouped_matmul ragged = rows ins(%hq#0, %hq#1, %w2, %w2s : !ie, !is, !w2e, !w2s) offsets(%ends : !ends) outs(%10 : !sum) -> !sum
  return %z, %gu, %xq#2, %xq#3, %hq#2, %hq#3, %xq#0, %xq#1, %hq#0, %hq#1 : !sum, !gu, !hte, !hts, !ite, !its, !he, !hs, !ie, !is
}
func.func @backward1(%dy: !tok, %rows: !rows, %ends: !ends, %ht: !ite, %hts: !its, %w2t: !w2te, %w2ts: !w2ts)
    -> (!h, !dw2, !he, !hs, !hte, !hts) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %p = tensor.dim %rows, %c0 : !rows
  %capacity = tensor.dim %ht, %c1 : !ite
  %blocks = arith.divui %capacity, %c32 : index
  %0 = tensor.empty(%p) : !he
  %1 = tensor.empty(%p) : !hs
  %2 = tensor.empty(%capacity) : !hte
  %3 = tensor.empty(%blocks) : !hts
  %dq:4 = mx.quantize ragged = rows ins(%dy : !tok) gather(%rows : !rows) offsets(%ends : !ends) outs(%0, %1, %2, %3 : !he, !hs, !hte, !hts) axes = [1, 0] -> !he, !hs, !hte, !hts
  %4 = tensor.empty(%p) : !h
  %dh = mx.grouped_matmul ragged = rows ins(%dq#0, %dq#1, %w2t, %w2ts : !he, !hs, !w2te, !w2ts) offsets(%ends : !ends) outs(%4 : !h) -> !h
  %5 = tensor.empty() : !dw2
  %dw2 = mx.grouped_matmul ragged = reduction ins(%dq#2, %dq#3, %ht, %hts : !hte, !hts, !ite, !its) offsets(%ends : !ends) outs(%5 : !dw2) -> !dw2
  return %dh, %dw2, %dq#0, %dq#1, %dq#2, %dq#3 : !h, !dw2, !he, !hs, !hte, !hts
}
func.func @backward2(%dgu: !gu, %ends: !ends, %xt: !hte, %xts: !hts, %w1t: !w1e, %w1ts: !w1s)
    -> (!sum, !dw1, !he, !hs, !hte, !hts) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %p = tensor.dim %dgu, %c0 : !gu
  %capacity = tensor.dim %xt, %c1 : !hte
  %blocks = arith.divui %capacity, %c32 : index
  %0 = tensor.empty(%p) : !he
  %1 = tensor.empty(%p) : !hs
  %2 = tensor.empty(%capacity) : !hte
  %3 = tensor.empty(%blocks) : !hts
  %gq:4 = mx.quantize ragged = rows ins(%dgu : !gu) offsets(%ends : !ends) outs(%0, %1, %2, %3 : !he, !hs, !hte, !hts) axes = [1, 0] -> !he, !hs, !hte, !hts
  %4 = tensor.empty(%p) : !sum
  %dxp = mx.grouped_matmul ragged = rows ins(%gq#0, %gq#1, %w1t, %w1ts : !he, !hs, !w1e, !w1s) offsets(%ends : !ends) outs(%4 : !sum) -> !sum
  %5 = tensor.empty() : !dw1
  %dw1 = mx.grouped_matmul ragged = reduction ins(%gq#2, %gq#3, %xt, %xts : !hte, !hts, !hte, !hts) offsets(%ends : !ends) outs(%5 : !dw1) -> !dw1
  return %dxp, %dw1, %gq#0, %gq#1, %gq#2, %gq#3 : !sum, !dw1, !he, !hs, !hte, !hts
}
