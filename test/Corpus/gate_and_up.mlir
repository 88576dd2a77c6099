// RUN: %corpus %s

// SwiGLU: silu of one matmul times another matmul, rounded to bf16 and quantized for the next matmul.
!x = tensor<33x128xbf16>
!e = tensor<33x128xf8E4M3FN>
!s = tensor<33x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<96x128xf8E4M3FN>
!ws = tensor<96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!h = tensor<33x96xf32>
!he = tensor<33x96xf8E4M3FN>
!hs = tensor<33x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x, %wg: !w, %sg: !ws, %wu: !w, %su: !ws) -> (!he, !hs) {
  %e0 = tensor.empty() : !e
  %s0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) -> !e, !s
  %h0 = tensor.empty() : !h
  %g = mx.matmul ins(%q#0, %q#1, %wg, %sg : !e, !s, !w, !ws) outs(%h0 : !h) -> !h
  %u = mx.matmul ins(%q#0, %q#1, %wu, %su : !e, !s, !w, !ws) outs(%h0 : !h) -> !h
  %a0 = tensor.empty() : tensor<33x96xbf16>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : !h, !h) outs(%a0 : tensor<33x96xbf16>) {
  ^bb0(%gv: f32, %uv: f32, %o: bf16):
    %one = arith.constant 1.0 : f32
    %m = arith.negf %gv : f32
    %ex = math.exp %m : f32
    %p = arith.addf %one, %ex : f32
    %silu = arith.divf %gv, %p : f32
    %y = arith.mulf %silu, %uv : f32
    %n = arith.truncf %y : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<33x96xbf16>
  %he0 = tensor.empty() : !he
  %hs0 = tensor.empty() : !hs
  %p:2 = mx.quantize ins(%a : tensor<33x96xbf16>) outs(%he0, %hs0 : !he, !hs) -> !he, !hs
  return %p#0, %p#1 : !he, !hs
}
