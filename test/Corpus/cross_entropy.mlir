// RUN: %corpus %s

// Cross entropy of logits and labels: per row, log-sum-exp minus the label's logit, then the mean over rows.
!x = tensor<?x29xf32>
!v = tensor<?xf32>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
func.func @main(%x: !x, %labels: tensor<?xi32>) -> (!v, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %n = tensor.dim %x, %c0 : !x
  %v0 = tensor.empty(%n) : !v
  %v1 = linalg.fill ins(%low : f32) outs(%v0 : !v) -> !v
  %top = linalg.reduce { arith.maximumf } ins(%x : !x) outs(%v1 : !v) dimensions = [1]
  %v2 = linalg.fill ins(%zero : f32) outs(%v0 : !v) -> !v
  %sum = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %top : !x, !v) outs(%v2 : !v) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %d = arith.subf %e, %m : f32
    %p = math.exp %d : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  } -> !v
  %loss = linalg.generic {indexing_maps = [#one, #one, #one, #one], iterator_types = ["parallel"]}
      ins(%sum, %top, %labels : !v, !v, tensor<?xi32>) outs(%v0 : !v) {
  ^bb0(%s: f32, %m: f32, %label: i32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %label : i32 to index
    %e = tensor.extract %x[%i, %j] : !x
    %l = math.log %s : f32
    %a = arith.addf %l, %m : f32
    %r = arith.subf %a, %e : f32
    linalg.yield %r : f32
  } -> !v
  %t0 = tensor.empty() : tensor<f32>
  %t1 = linalg.fill ins(%zero : f32) outs(%t0 : tensor<f32>) -> tensor<f32>
  %total = linalg.reduce { arith.addf } ins(%loss : !v) outs(%t1 : tensor<f32>) dimensions = [0]
  %ni = arith.index_cast %n : index to i32
  %nf = arith.sitofp %ni : i32 to f32
  %mean = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%total : tensor<f32>) outs(%t0 : tensor<f32>) {
  ^bb0(%s: f32, %o: f32):
    %r = arith.divf %s, %nf : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss, %mean : !v, tensor<f32>
}
