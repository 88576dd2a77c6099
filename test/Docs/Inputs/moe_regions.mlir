// The gate and up gradients of examples/moe_layer.mlir, with a region
// around the ops that become one kernel: see docs/design/MX.md.
// scf.execute_region is a placeholder for an op that does not exist.

!probs = tensor<?xf32>
!ends = tensor<8xi32>
!ge = tensor<?x512xf8E4M3FN>
!gs = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!gte = tensor<512x?xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!gts = tensor<512x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!gu = tensor<?x512xbf16>
!h = tensor<?x256xbf16>
#id = affine_map<(p, i) -> (p, i)>
#row = affine_map<(p, i) -> (p)>

func.func @gradients(%gate: !h, %up: !h, %dh: !h, %probs: !probs, %ends: !ends, %p: index,
                     %capacity: index, %blocks: index) -> (!ge, !gs, !gte, !gts) {
  %dg0 = tensor.empty(%p) : !h
  %ge0 = tensor.empty(%p) : !ge
  %gs0 = tensor.empty(%p) : !gs
  %gte0 = tensor.empty(%capacity) : !gte
  %gts0 = tensor.empty(%blocks) : !gts
  %gq:4 = scf.execute_region -> (!ge, !gs, !gte, !gts) no_inline {
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
    %r:2 = mx.quantize ragged = rows ins(%dgu : !gu) offsets(%ends : !ends)
        outs(%ge0, %gs0 : !ge, !gs) -> !ge, !gs
    %c:2 = mx.quantize ragged = rows ins(%dgu : !gu) offsets(%ends : !ends)
        outs(%gte0, %gts0 : !gte, !gts) axes = [0] -> !gte, !gts
    scf.yield %r#0, %r#1, %c#0, %c#1 : !ge, !gs, !gte, !gts
  }
  return %gq#0, %gq#1, %gq#2, %gq#3 : !ge, !gs, !gte, !gts
}
