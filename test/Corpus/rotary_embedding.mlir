// RUN: %corpus %s

// Rotary embedding: sin and cos of position angles rotate the halves of a head, and concat joins the halves.
!x = tensor<?x16xbf16>
!h = tensor<?x8xbf16>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: !x, %frequency: tensor<8xf32>) -> !x {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %a = tensor.extract_slice %x[0, 0] [%n, 8] [1, 1] : !x to !h
  %b = tensor.extract_slice %x[0, 8] [%n, 8] [1, 1] : !x to !h
  %h0 = tensor.empty(%n) : !h
  %r:2 = linalg.generic {indexing_maps = [#id, #id, affine_map<(i, j) -> (j)>, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %frequency : !h, !h, tensor<8xf32>) outs(%h0, %h0 : !h, !h) {
  ^bb0(%p: bf16, %q: bf16, %f: f32, %o0: bf16, %o1: bf16):
    %i = linalg.index 0 : index
    %ii = arith.index_cast %i : index to i32
    %t = arith.sitofp %ii : i32 to f32
    %angle = arith.mulf %t, %f : f32
    %s = math.sin %angle : f32
    %c = math.cos %angle : f32
    %pw = arith.extf %p : bf16 to f32
    %qw = arith.extf %q : bf16 to f32
    %pc = arith.mulf %pw, %c : f32
    %qs = arith.mulf %qw, %s : f32
    %u = arith.subf %pc, %qs : f32
    %ps = arith.mulf %pw, %s : f32
    %qc = arith.mulf %qw, %c : f32
    %v = arith.addf %ps, %qc : f32
    %ut = arith.truncf %u : f32 to bf16
    %vt = arith.truncf %v : f32 to bf16
    linalg.yield %ut, %vt : bf16, bf16
  } -> (!h, !h)
  %y = tensor.concat dim(1) %r#0, %r#1 : (!h, !h) -> !x
  return %y : !x
}
