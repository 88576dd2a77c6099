// RUN: mx-opt %s --split-input-file --verify-diagnostics --mx-quantize-matmuls --canonicalize --cse | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-quantize-matmuls=recipe=nvfp4 --canonicalize --cse | FileCheck %s --check-prefix=NVFP4

// Dequantized operands are read in their stored format: here, 4-bit weights are
// multiplied by an operand quantized with the recipe. NVFP4 requires
// one scale type for both operands, so the weights are quantized again.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @weights(
// CHECK-SAME:    %[[X:.*]]: tensor<?x128xbf16>, %[[W:.*]]: tensor<96x128xf4E2M1FN>, %[[S:.*]]: tensor<96x4xf8E8M0FNU>)
// CHECK-NOT:     mx.dequantize
// CHECK:         %[[A:.*]]:2 = mx.quantize ins(%[[X]] : tensor<?x128xbf16>) {{.*}} -> tensor<?x128xf8E4M3FN>
// CHECK-NOT:     mx.quantize
// CHECK:         %[[T:.*]] = mx.relayout ins(%[[S]] : tensor<96x4xf8E8M0FNU>) {{.*}} -> tensor<96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         mx.matmul ins(%[[A]]#0, %[[A]]#1, %[[W]], %[[T]] :
// NVFP4-LABEL: func.func @weights(
// NVFP4:         mx.dequantize
// NVFP4-COUNT-2: mx.quantize
func.func @weights(%x: tensor<?x128xbf16>, %w: tensor<96x128xf4E2M1FN>, %s: tensor<96x4xf8E8M0FNU>) -> tensor<?x96xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %w0 = tensor.empty() : tensor<96x128xbf16>
  %wide = mx.dequantize ins(%w, %s : tensor<96x128xf4E2M1FN>, tensor<96x4xf8E8M0FNU>) outs(%w0 : tensor<96x128xbf16>) -> tensor<96x128xbf16>
  %y0 = tensor.empty(%n) : tensor<?x96xf32>
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : tensor<?x96xf32>) -> tensor<?x96xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %wide : tensor<?x128xbf16>, tensor<96x128xbf16>) outs(%y1 : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// The reduction size is not a multiple of 128, which a matmul of 4-bit by 8-bit
// elements requires, so both operands are quantized with the recipe.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @short(
// CHECK:         %[[W:.*]] = mx.dequantize
// CHECK:         mx.quantize ins(%[[W]] : {{.*}} -> tensor<64x96xf8E4M3FN>
// NVFP4-LABEL: func.func @short(
func.func @short(%x: tensor<32x96xbf16>, %w: tensor<64x96xf4E2M1FN>, %s: tensor<64x3xf8E8M0FNU>, %y: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w0 = tensor.empty() : tensor<64x96xbf16>
  %wide = mx.dequantize ins(%w, %s : tensor<64x96xf4E2M1FN>, tensor<64x3xf8E8M0FNU>) outs(%w0 : tensor<64x96xbf16>) -> tensor<64x96xbf16>
  %r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %wide : tensor<32x96xbf16>, tensor<64x96xbf16>) outs(%y : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// Tiled scales are used unchanged. An operand is quantized again along another
// dimension, from f16 (whose range is too small for the scales), or with another recipe.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
!e = tensor<128x128xf8E4M3FN>
!s = tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!x = tensor<128x128xbf16>
!h = tensor<128x128xf16>
!y = tensor<128x128xf32>
// CHECK-LABEL: func.func @which(
// CHECK-SAME:    %[[A:[a-z0-9]*]]: tensor<128x128xf8E4M3FN>, %[[AS:[a-z0-9]*]]: tensor<{{[^%]*}}, %[[B:[a-z0-9]*]]: tensor<128x128xf8E4M3FN>, %[[BS:[a-z0-9]*]]:
// CHECK:         %[[WIDE:.*]] = mx.dequantize ins(%[[B]], {{.*}} -> tensor<128x128xbf16>
// CHECK:         %[[HALF:.*]] = mx.dequantize ins(%[[B]], {{.*}} -> tensor<128x128xf16>
// CHECK:         mx.matmul ins(%[[A]], %[[AS]], %[[B]], %[[BS]] :
// CHECK:         %[[Q:.*]]:2 = mx.quantize ins(%[[WIDE]] : {{.*}} axes = [0]
// CHECK:         mx.matmul ins(%[[A]], %[[AS]], %[[Q]]#0, %[[Q]]#1 :
// CHECK:         %[[R:.*]]:2 = mx.quantize ins(%[[HALF]] :
// CHECK:         mx.matmul ins(%[[A]], %[[AS]], %[[R]]#0, %[[R]]#1 :
// CHECK:         %[[T:.*]]:2 = mx.quantize ins(%[[WIDE]] : {{.*}} -> tensor<128x128xf8E5M2>
// CHECK:         mx.matmul ins(%[[A]], %[[AS]], %[[T]]#0, %[[T]]#1 :
// NVFP4-LABEL: func.func @which(
func.func @which(%a: !e, %as: !s, %b: !e, %bs: !s, %y: !y) -> !y {
  %x0 = tensor.empty() : !x
  %h0 = tensor.empty() : !h
  %c = mx.dequantize ins(%a, %as : !e, !s) outs(%x0 : !x) -> !x
  %d = mx.dequantize ins(%b, %bs : !e, !s) outs(%x0 : !x) -> !x
  %h = mx.dequantize ins(%b, %bs : !e, !s) outs(%h0 : !h) -> !h
  %0 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%c, %d : !x, !x) outs(%y : !y) -> !y
  %1 = linalg.matmul indexing_maps = [#mk, #kn, #mn] ins(%c, %d : !x, !x) outs(%0 : !y) -> !y
  %2 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%c, %h : !x, !h) outs(%1 : !y) -> !y
  %3 = linalg.matmul indexing_maps = [#mk, #nk, #mn] {mx.recipe = ["mxfp8", "mxfp8-e5m2"]} ins(%c, %d : !x, !x) outs(%2 : !y) -> !y
  return %3 : !y
}

// -----

// The weights of all experts are stored in one tensor with batched scales.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
!w = tensor<4x96x128xbf16>
// CHECK-LABEL: func.func @experts(
// CHECK-SAME:    %[[X:.*]]: tensor<?x128xbf16>, %[[W:.*]]: tensor<4x96x128xf8E5M2>, %[[S:.*]]: tensor<4x96x4xf8E8M0FNU>, %[[ENDS:.*]]: tensor<4xi32>)
// CHECK-NOT:     mx.dequantize
// CHECK:         %[[A:.*]]:2 = mx.quantize ragged = rows ins(%[[X]] : {{.*}} -> tensor<?x128xf8E4M3FN>
// CHECK:         %[[T:.*]] = mx.relayout ins(%[[S]] : tensor<4x96x4xf8E8M0FNU>) {{.*}} -> tensor<4x96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         mx.grouped_matmul ragged = rows ins(%[[A]]#0, %[[A]]#1, %[[W]], %[[T]] : {{.*}}) offsets(%[[ENDS]] :
// NVFP4-LABEL: func.func @experts(
func.func @experts(%x: tensor<?x128xbf16>, %e: tensor<4x96x128xf8E5M2>, %s: tensor<4x96x4xf8E8M0FNU>, %ends: tensor<4xi32>) -> tensor<?x96xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %w0 = tensor.empty() : !w
  %w = mx.dequantize ins(%e, %s : tensor<4x96x128xf8E5M2>, tensor<4x96x4xf8E8M0FNU>) outs(%w0 : !w) -> !w
  %p = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %init = tensor.empty(%p) : tensor<?x96xf32>
  %y:2 = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %init, %start = %c0) -> (tensor<?x96xf32>, index) {
    %i = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %i : i32 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 128] [1, 1] : tensor<?x128xbf16> to tensor<?x128xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 96, 128] [1, 1, 1] : !w to tensor<96x128xbf16>
    %part = tensor.empty(%n) : tensor<?x96xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%part : tensor<?x96xf32>) -> tensor<?x96xf32>
    %r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xg, %wg : tensor<?x128xbf16>, tensor<96x128xbf16>) outs(%zeros : tensor<?x96xf32>) -> tensor<?x96xf32>
    %o = tensor.insert_slice %r into %out[%start, 0] [%n, 96] [1, 1] : tensor<?x96xf32> into tensor<?x96xf32>
    scf.yield %o, %end : tensor<?x96xf32>, index
  }
  return %y#0 : tensor<?x96xf32>
}

// -----

// Operands with expert groups are quantized again, because scale tiles and
// blocks must start with each group.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
!x = tensor<256x128xbf16>
!e = tensor<256x128xf8E4M3FN>
!s = tensor<256x4xf8E8M0FNU>
!w = tensor<4x96x128xbf16>
!t = tensor<128x256xbf16>
!te = tensor<128x256xf8E4M3FN>
!ts = tensor<128x8xf8E8M0FNU>
!y = tensor<256x96xf32>
!g = tensor<4x128x128xf32>
// CHECK-LABEL: func.func @groups(
// CHECK-DAG:     %[[X:.*]] = mx.dequantize ins(%{{.*}} : tensor<256x128xf8E4M3FN>
// CHECK-DAG:     %[[T:.*]] = mx.dequantize ins(%{{.*}} : tensor<128x256xf8E4M3FN>
// CHECK-DAG:     mx.quantize ragged = rows ins(%[[X]] :
// CHECK:         mx.grouped_matmul ragged = rows
// CHECK:         %[[TT:.*]] = linalg.transpose ins(%[[T]] :
// CHECK:         %[[Q:.*]]:2 = mx.quantize ragged = rows ins(%[[TT]] :
// CHECK:         mx.grouped_matmul ragged = reduction ins(%[[Q]]#0, %[[Q]]#1, %[[Q]]#0, %[[Q]]#1 :
// NVFP4-LABEL: func.func @groups(
func.func @groups(%e: !e, %s: !s, %w: !w, %te: !te, %ts: !ts, %ends: tensor<4xi32>) -> (!y, !g) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %x0 = tensor.empty() : !x
  %x = mx.dequantize ins(%e, %s : !e, !s) outs(%x0 : !x) -> !x
  %t0 = tensor.empty() : !t
  %t = mx.dequantize ins(%te, %ts : !te, !ts) outs(%t0 : !t) -> !t
  %init = tensor.empty() : !y
  %y:2 = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %init, %start = %c0) -> (!y, index) {
    %i = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %i : i32 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 128] [1, 1] : !x to tensor<?x128xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 96, 128] [1, 1, 1] : !w to tensor<96x128xbf16>
    %part = tensor.empty(%n) : tensor<?x96xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%part : tensor<?x96xf32>) -> tensor<?x96xf32>
    %r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xg, %wg : tensor<?x128xbf16>, tensor<96x128xbf16>) outs(%zeros : tensor<?x96xf32>) -> tensor<?x96xf32>
    %o = tensor.insert_slice %r into %out[%start, 0] [%n, 96] [1, 1] : tensor<?x96xf32> into !y
    scf.yield %o, %end : !y, index
  }
  %none = tensor.empty() : !g
  %d:2 = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %none, %start = %c0) -> (!g, index) {
    %i = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %i : i32 to index
    %n = arith.subi %end, %start : index
    %tg = tensor.extract_slice %t[0, %start] [128, %n] [1, 1] : !t to tensor<128x?xbf16>
    %part = tensor.empty() : tensor<128x128xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%part : tensor<128x128xf32>) -> tensor<128x128xf32>
    %r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%tg, %tg : tensor<128x?xbf16>, tensor<128x?xbf16>) outs(%zeros : tensor<128x128xf32>) -> tensor<128x128xf32>
    %o = tensor.insert_slice %r into %out[%g, 0, 0] [1, 128, 128] [1, 1, 1] : tensor<128x128xf32> into !g
    scf.yield %o, %end : !g, index
  }
  return %y#0, %d#0 : !y, !g
}

// -----

// An explicit recipe "none" causes no remark, even though the operation is not a matmul.
// CHECK-LABEL: func.func @none(
// CHECK:         linalg.generic
// NVFP4-LABEL: func.func @none(
func.func @none(%q: tensor<2x2x?x64xbf16>, %k: tensor<2x?x64xbf16>, %s: tensor<2x2x?x?xf32>) -> tensor<2x2x?x?xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(h, g, i, j, d) -> (h, g, i, d)>, affine_map<(h, g, i, j, d) -> (h, j, d)>, affine_map<(h, g, i, j, d) -> (h, g, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], mx.recipe = "none"}
      ins(%q, %k : tensor<2x2x?x64xbf16>, tensor<2x?x64xbf16>) outs(%s : tensor<2x2x?x?xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<2x2x?x?xf32>
  return %r : tensor<2x2x?x?xf32>
}
