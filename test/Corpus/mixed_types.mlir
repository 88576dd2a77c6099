// RUN: %corpus %s

// Several types in a program: f16 summed in f64, i16 summed in i64, and both sums converted to f32.
func.func @main(%x: tensor<?x13xf16>, %k: tensor<?x13xi16>) -> (tensor<?xf64>, tensor<?xi64>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %zf = arith.constant 0.0 : f64
  %zi = arith.constant 0 : i64
  %n = tensor.dim %x, %c0 : tensor<?x13xf16>
  %a0 = tensor.empty(%n) : tensor<?xf64>
  %a1 = linalg.fill ins(%zf : f64) outs(%a0 : tensor<?xf64>) -> tensor<?xf64>
  %b0 = tensor.empty(%n) : tensor<?xi64>
  %b1 = linalg.fill ins(%zi : i64) outs(%b0 : tensor<?xi64>) -> tensor<?xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x, %k : tensor<?x13xf16>, tensor<?x13xi16>) outs(%a1, %b1 : tensor<?xf64>, tensor<?xi64>) {
  ^bb0(%v: f16, %w: i16, %s: f64, %t: i64):
    %vd = arith.extf %v : f16 to f64
    %wl = arith.extsi %w : i16 to i64
    %s1 = arith.addf %s, %vd : f64
    %t1 = arith.addi %t, %wl : i64
    linalg.yield %s1, %t1 : f64, i64
  } -> (tensor<?xf64>, tensor<?xi64>)
  %af = arith.truncf %r#0 : tensor<?xf64> to tensor<?xf32>
  %bf = arith.sitofp %r#1 : tensor<?xi64> to tensor<?xf32>
  %y = arith.addf %af, %bf : tensor<?xf32>
  return %r#0, %r#1, %y : tensor<?xf64>, tensor<?xi64>, tensor<?xf32>
}
