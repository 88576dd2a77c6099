// RUN: mx-opt %s --split-input-file --mx-quantize-matmuls --canonicalize --cse | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-quantize-matmuls="recipe=nvfp4 global-scale=4 scale-layout=linear" --canonicalize --cse | FileCheck %s --check-prefix=NVFP4
// RUN: mx-opt %s --split-input-file --mx-quantize-matmuls="lhs-recipe=mxfp8-e5m2 rhs-recipe=mxfp6-e3m2 scale-rounding=even" | FileCheck %s --check-prefix=OTHER

#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#nm = affine_map<(m, n, k) -> (n, m)>

// The initial zeros are not added. The second operand stores K first, so it is quantized
// along its columns and written transposed. The result is rounded to bf16 once.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME:    %[[A:.*]]: tensor<64x128xbf16>, %[[B:.*]]: tensor<128x96xbf16>)
// CHECK-NOT:     linalg.
// CHECK-DAG:     %[[OUT:.*]] = tensor.empty() : tensor<64x96xbf16>
// CHECK:         %[[QA:.*]]:2 = mx.quantize ins(%[[A]] : tensor<64x128xbf16>) outs(%{{.*}}) -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[QB:.*]]:2 = mx.quantize ins(%[[B]] : tensor<128x96xbf16>) outs(%{{.*}}) axes = [0] -> tensor<96x128xf8E4M3FN>, tensor<96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[C:.*]] = mx.matmul ins(%[[QA]]#0, %[[QA]]#1, %[[QB]]#0, %[[QB]]#1 : {{.*}}) outs(%[[OUT]] : tensor<64x96xbf16>) -> tensor<64x96xbf16>
// CHECK:         return %[[C]]
// NVFP4-LABEL: func.func @plain(
// NVFP4-DAG:     %[[ALPHA:.*]] = arith.constant 6.250000e-02 : f32
// NVFP4-DAG:     %[[FACTOR:.*]] = arith.constant 4.000000e+00 : f32
// NVFP4:         mx.quantize ins(%{{.*}}) global_scale(%[[FACTOR]]) outs(%{{.*}}) -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
// NVFP4:         mx.matmul ins({{.*}}) alpha(%[[ALPHA]]) outs(%{{.*}}) block_size = 16 ->
// OTHER-LABEL: func.func @plain(
// OTHER:         mx.quantize {{.*}} scale_rounding = even -> tensor<64x128xf8E5M2>
// OTHER:         mx.quantize {{.*}} scale_rounding = even -> tensor<96x128xf6E3M2FN>
func.func @plain(%a: tensor<64x128xbf16>, %b: tensor<128x96xbf16>) -> tensor<64x96xbf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x128xbf16>, tensor<128x96xbf16>) outs(%init : tensor<64x96xf32>) -> tensor<64x96xf32>
  %t = arith.truncf %r : tensor<64x96xf32> to tensor<64x96xbf16>
  return %t : tensor<64x96xbf16>
}

// The init is added in f32, and a separate operation rounds the sum.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME:    %[[A:.*]]: tensor<?x128xbf16>, %[[B:.*]]: tensor<96x128xf16>, %[[C:.*]]: tensor<?x96xf32>)
// CHECK:         mx.quantize ins(%[[A]] : tensor<?x128xbf16>) outs(%{{.*}}) -> tensor<?x128xf8E4M3FN>
// CHECK:         mx.quantize ins(%[[B]] : tensor<96x128xf16>) outs(%{{.*}}) -> tensor<96x128xf8E4M3FN>
// CHECK:         mx.matmul {{.*}} outs(%[[C]] : tensor<?x96xf32>) accumulate -> tensor<?x96xf32>
// CHECK:         arith.truncf
func.func @accumulate(%a: tensor<?x128xbf16>, %b: tensor<96x128xf16>, %c: tensor<?x96xf32>) -> tensor<?x96xbf16> {
  %r = linalg.contract indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<?x128xbf16>, tensor<96x128xf16>) outs(%c : tensor<?x96xf32>) -> tensor<?x96xf32>
  %t = arith.truncf %r : tensor<?x96xf32> to tensor<?x96xbf16>
  return %t : tensor<?x96xbf16>
}

// For a transposed result the operands and their recipes are swapped.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    %[[A:.*]]: tensor<128x64xf32>, %[[B:.*]]: tensor<96x128xf32>)
// CHECK:         %[[QB:.*]]:2 = mx.quantize ins(%[[B]] : tensor<96x128xf32>)
// CHECK:         %[[QA:.*]]:2 = mx.quantize ins(%[[A]] : tensor<128x64xf32>) {{.*}} axes = [0]
// CHECK:         mx.matmul ins(%[[QB]]#0, %[[QB]]#1, %[[QA]]#0, %[[QA]]#1 : {{.*}} -> tensor<96x64xf32>
// OTHER-LABEL: func.func @transposed(
// OTHER:         mx.quantize ins(%arg1 {{.*}} -> tensor<96x128xf6E3M2FN>
// OTHER:         mx.quantize ins(%arg0 {{.*}} -> tensor<64x128xf8E5M2>
func.func @transposed(%a: tensor<128x64xf32>, %b: tensor<96x128xf32>) -> tensor<96x64xf32> {
  %init = arith.constant dense<0.0> : tensor<96x64xf32>
  %r = linalg.matmul indexing_maps = [#km, #nk, #nm] ins(%a, %b : tensor<128x64xf32>, tensor<96x128xf32>) outs(%init : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}

// -----

// CHECK-LABEL: func.func @batch(
// CHECK:         mx.quantize ins(%{{.*}} : tensor<3x64x128xbf16>)
// CHECK:         mx.quantize ins(%{{.*}} : tensor<3x128x96xbf16>) {{.*}} axes = [0] -> tensor<3x96x128xf8E4M3FN>
// CHECK:         mx.matmul {{.*}} -> tensor<3x64x96xf32>
func.func @batch(%a: tensor<3x64x128xbf16>, %b: tensor<3x128x96xbf16>) -> tensor<3x64x96xf32> {
  %init = arith.constant dense<0.0> : tensor<3x64x96xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x64x128xbf16>, tensor<3x128x96xbf16>) outs(%init : tensor<3x64x96xf32>) -> tensor<3x64x96xf32>
  return %r : tensor<3x64x96xf32>
}

// -----

// A recipe on the operation takes precedence over the options.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @own(
// CHECK:         linalg.matmul {{.*}}mx.recipe = "none"
// CHECK:         -> tensor<64x128xf4E2M1FN>
// CHECK:         -> tensor<96x128xf4E2M1FN>
// CHECK:         -> tensor<64x128xf8E5M2>
// CHECK:         -> tensor<96x128xf8E4M3FN>
func.func @own(%a: tensor<64x128xbf16>, %b: tensor<96x128xbf16>, %c: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = linalg.matmul indexing_maps = [#mk, #nk, #mn] {mx.recipe = "none"} ins(%a, %b : tensor<64x128xbf16>, tensor<96x128xbf16>) outs(%c : tensor<64x96xf32>) -> tensor<64x96xf32>
  %1 = linalg.matmul indexing_maps = [#mk, #nk, #mn] {mx.recipe = "mxfp4"} ins(%a, %b : tensor<64x128xbf16>, tensor<96x128xbf16>) outs(%0 : tensor<64x96xf32>) -> tensor<64x96xf32>
  %2 = linalg.matmul indexing_maps = [#mk, #nk, #mn] {mx.recipe = ["mxfp8-e5m2", "mxfp8"]} ins(%a, %b : tensor<64x128xbf16>, tensor<96x128xbf16>) outs(%1 : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %2 : tensor<64x96xf32>
}

// -----

// The rounding may also be an elementwise linalg.generic.
#all = affine_map<(r, c) -> (r, c)>
// CHECK-LABEL: func.func @rounded(
// CHECK-NOT:     linalg.generic
// CHECK:         %[[C:.*]] = mx.matmul {{.*}} -> tensor<64x96xf16>
// CHECK:         return %[[C]]
func.func @rounded(%a: tensor<64x128xbf16>, %b: tensor<128x96xbf16>) -> tensor<64x96xf16> {
  %init = arith.constant dense<0.0> : tensor<64x96xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x128xbf16>, tensor<128x96xbf16>) outs(%init : tensor<64x96xf32>) -> tensor<64x96xf32>
  %empty = tensor.empty() : tensor<64x96xf16>
  %t = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<64x96xf32>) outs(%empty : tensor<64x96xf16>) {
  ^bb0(%wide: f32, %old: f16):
    %narrow = arith.truncf %wide : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<64x96xf16>
  return %t : tensor<64x96xf16>
}

// -----

// Several row dimensions, or several batch dimensions, are collapsed to one.
// CHECK-LABEL: func.func @rows_of_a_batch(
// CHECK-SAME:    %[[X:.*]]: tensor<?x8x128xbf16>, %[[W:.*]]: tensor<128x96xbf16>)
// CHECK:         %[[ROWS:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<?x8x128xbf16> into tensor<?x128xbf16>
// CHECK:         mx.quantize ins(%[[ROWS]] : tensor<?x128xbf16>)
// CHECK:         mx.quantize ins(%[[W]] : tensor<128x96xbf16>) outs(%{{.*}}) axes = [0]
// CHECK:         %[[R:.*]] = mx.matmul {{.*}} -> tensor<?x96xf32>
// CHECK:         tensor.expand_shape %[[R]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, 8, 96]
func.func @rows_of_a_batch(%x: tensor<?x8x128xbf16>, %w: tensor<128x96xbf16>) -> tensor<?x8x96xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8x128xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x8x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8x96xf32>) -> tensor<?x8x96xf32>
  %r = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%x, %w : tensor<?x8x128xbf16>, tensor<128x96xbf16>) outs(%init : tensor<?x8x96xf32>) -> tensor<?x8x96xf32>
  return %r : tensor<?x8x96xf32>
}

// -----

// CHECK-LABEL: func.func @heads(
// CHECK-DAG:     tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2], [3]] : tensor<2x4x16x128xbf16> into tensor<8x16x128xbf16>
// CHECK-DAG:     tensor.collapse_shape %arg1 {{\[\[}}0, 1], [2], [3]] : tensor<2x4x128x24xbf16> into tensor<8x128x24xbf16>
// CHECK-DAG:     tensor.collapse_shape %arg2 {{\[\[}}0, 1], [2], [3]] : tensor<2x4x16x24xf32> into tensor<8x16x24xf32>
// CHECK:         mx.matmul {{.*}} accumulate -> tensor<8x16x24xf32>
func.func @heads(%q: tensor<2x4x16x128xbf16>, %k: tensor<2x4x128x24xbf16>, %c: tensor<2x4x16x24xf32>) -> tensor<2x4x16x24xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x16x128xbf16>, tensor<2x4x128x24xbf16>) outs(%c : tensor<2x4x16x24xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x4x16x24xf32>
  return %r : tensor<2x4x16x24xf32>
}

// -----

// Two reduction dimensions are collapsed. The result needs no reshape and is
// rounded once.
// CHECK-LABEL: func.func @heads_to_model(
// CHECK:         %[[Y:.*]] = mx.matmul {{.*}} -> tensor<8x16xf32>
// CHECK:         return %[[Y]]
func.func @heads_to_model(%x: tensor<8x4x32xf32>, %w: tensor<4x32x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.contract indexing_maps = [affine_map<(t, h, d, m) -> (t, h, d)>, affine_map<(t, h, d, m) -> (h, d, m)>, affine_map<(t, h, d, m) -> (t, m)>]
      ins(%x, %w : tensor<8x4x32xf32>, tensor<4x32x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @heads_to_model_rounded(
// CHECK:         %[[Y:.*]] = mx.matmul {{.*}} -> tensor<8x16xbf16>
// CHECK:         return %[[Y]]
func.func @heads_to_model_rounded(%x: tensor<8x4x32xf32>, %w: tensor<4x32x16xf32>) -> tensor<8x16xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.contract indexing_maps = [affine_map<(t, h, d, m) -> (t, h, d)>, affine_map<(t, h, d, m) -> (h, d, m)>, affine_map<(t, h, d, m) -> (t, m)>]
      ins(%x, %w : tensor<8x4x32xf32>, tensor<4x32x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = arith.truncf %r : tensor<8x16xf32> to tensor<8x16xbf16>
  return %b : tensor<8x16xbf16>
}

// -----

// 4-byte rows are transposed before quantization, because the GPU reads 16 bytes
// along columns. The `scale-rounding` option applies only to f8E8M0FNU scales.
// CHECK-LABEL: func.func @two_columns(
// CHECK-SAME:    %[[X:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64x2xbf16>)
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[W]] : tensor<64x2xbf16>) {{.*}} permutation = [1, 0]
// CHECK:         mx.quantize ins(%[[T]] : tensor<2x64xbf16>) outs({{.*}}) -> tensor<2x64xf8E4M3FN>
// OTHER-LABEL: func.func @two_columns(
// OTHER:         mx.quantize {{.*}} scale_rounding = even
func.func @two_columns(%x: tensor<8x64xbf16>, %w: tensor<64x2xbf16>) -> tensor<8x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x2xf32>) -> tensor<8x2xf32>
  %r = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x2xbf16>) outs(%init : tensor<8x2xf32>) -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// OTHER-LABEL: func.func @nvfp4_has_its_own_rounding(
// OTHER-NOT:     scale_rounding
// OTHER:         mx.matmul
func.func @nvfp4_has_its_own_rounding(%x: tensor<8x64xbf16>, %w: tensor<8x64xbf16>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] {mx.recipe = "nvfp4"}
      ins(%x, %w : tensor<8x64xbf16>, tensor<8x64xbf16>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Two dynamic batch dimensions are collapsed, so a check must distinguish 2 x 3
// from 3 x 2. The init gets its sizes from the first operand and needs no
// check. A single batch dimension is checked by the matmul.
// CHECK-LABEL: func.func @two_batches(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x8x64xf32>, %[[W:.*]]: tensor<?x?x16x64xf32>)
// CHECK-DAG:     %[[X0:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:     %[[X1:.*]] = tensor.dim %[[X]], %c1
// CHECK-DAG:     %[[W0:.*]] = tensor.dim %[[W]], %c0
// CHECK-DAG:     %[[W1:.*]] = tensor.dim %[[W]], %c1
// CHECK-DAG:     %[[SAME0:.*]] = arith.cmpi eq, %[[X0]], %[[W0]]
// CHECK-DAG:     %[[SAME1:.*]] = arith.cmpi eq, %[[X1]], %[[W1]]
// CHECK-DAG:     mxgpu.require %[[SAME0]], "expected dimension 0 of the right operand to be %lld, found %lld"(%[[X0]], %[[W0]])
// CHECK-DAG:     mxgpu.require %[[SAME1]], "expected dimension 1 of the right operand to be %lld, found %lld"(%[[X1]], %[[W1]])
// CHECK-NOT:     mxgpu.require
// CHECK:         mx.matmul
func.func @two_batches(%x: tensor<?x?x8x64xf32>, %w: tensor<?x?x16x64xf32>) -> tensor<?x?x8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %i = tensor.dim %x, %c0 : tensor<?x?x8x64xf32>
  %j = tensor.dim %x, %c1 : tensor<?x?x8x64xf32>
  %e = tensor.empty(%i, %j) : tensor<?x?x8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x8x16xf32>) -> tensor<?x?x8x16xf32>
  %r = linalg.contract indexing_maps = [affine_map<(i, j, m, n, k) -> (i, j, m, k)>, affine_map<(i, j, m, n, k) -> (i, j, n, k)>, affine_map<(i, j, m, n, k) -> (i, j, m, n)>]
      ins(%x, %w : tensor<?x?x8x64xf32>, tensor<?x?x16x64xf32>) outs(%init : tensor<?x?x8x16xf32>) -> tensor<?x?x8x16xf32>
  return %r : tensor<?x?x8x16xf32>
}

// One batch dimension is static, so the matmul can check the other.
// CHECK-LABEL: func.func @known_batch(
// CHECK-NOT:     mxgpu.require
// CHECK:         mx.matmul
func.func @known_batch(%x: tensor<?x4x8x64xf32>, %w: tensor<?x4x16x64xf32>, %y: tensor<?x4x8x16xf32>) -> tensor<?x4x8x16xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(i, j, m, n, k) -> (i, j, m, k)>, affine_map<(i, j, m, n, k) -> (i, j, n, k)>, affine_map<(i, j, m, n, k) -> (i, j, m, n)>]
      ins(%x, %w : tensor<?x4x8x64xf32>, tensor<?x4x16x64xf32>) outs(%y : tensor<?x4x8x16xf32>) -> tensor<?x4x8x16xf32>
  return %r : tensor<?x4x8x16xf32>
}

// An unquantized matmul checks its own sizes.
// CHECK-LABEL: func.func @not_quantized(
// CHECK-NOT:     mxgpu.require
// CHECK:         linalg.contract
func.func @not_quantized(%x: tensor<?x?x8x48xf32>, %w: tensor<?x?x16x48xf32>, %y: tensor<?x?x8x16xf32>) -> tensor<?x?x8x16xf32> {
  %r = linalg.contract indexing_maps = [affine_map<(i, j, m, n, k) -> (i, j, m, k)>, affine_map<(i, j, m, n, k) -> (i, j, n, k)>, affine_map<(i, j, m, n, k) -> (i, j, m, n)>]
      ins(%x, %w : tensor<?x?x8x48xf32>, tensor<?x?x16x48xf32>) outs(%y : tensor<?x?x8x16xf32>) -> tensor<?x?x8x16xf32>
  return %r : tensor<?x?x8x16xf32>
}
