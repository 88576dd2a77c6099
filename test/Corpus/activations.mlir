// RUN: %corpus %s

// Softplus, tanh gelu and squared relu of a bf16 tensor: one generic with three f32 results.
!x = tensor<?x9xbf16>
!y = tensor<?x9xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x) -> (!y, !y, !y) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %y0 = tensor.empty(%n) : !y
  %r:3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : !x) outs(%y0, %y0, %y0 : !y, !y, !y) {
  ^bb0(%b: bf16, %o0: f32, %o1: f32, %o2: f32):
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %k = arith.constant 0.044715 : f32
    %root = arith.constant 0.7978845608 : f32
    %v = arith.extf %b : bf16 to f32
    %e = math.exp %v : f32
    %soft = math.log1p %e : f32
    %v2 = arith.mulf %v, %v : f32
    %v3 = arith.mulf %v2, %v : f32
    %kv = arith.mulf %v3, %k : f32
    %s = arith.addf %v, %kv : f32
    %t = arith.mulf %s, %root : f32
    %h = math.tanh %t : f32
    %p = arith.addf %h, %one : f32
    %hv = arith.mulf %v, %half : f32
    %gelu = arith.mulf %hv, %p : f32
    %r = arith.maximumf %v, %zero : f32
    %rr = arith.mulf %r, %r : f32
    linalg.yield %soft, %gelu, %rr : f32, f32, f32
  } -> (!y, !y, !y)
  return %r#0, %r#1, %r#2 : !y, !y, !y
}
