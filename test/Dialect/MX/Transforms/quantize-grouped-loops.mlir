// RUN: mx-opt %s --split-input-file --mx-quantize-matmuls --canonicalize --cse | FileCheck %s

// The loop runs over expert groups of rows and carries the end of the previous group. Rows of %x are gathered by index.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#all = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[X:.*]]: tensor<?x128xbf16>, %[[NUMBERS:.*]]: tensor<?xi32>, %[[W:.*]]: tensor<4x96x128xbf16>, %[[ENDS:.*]]: tensor<4xi32>)
// CHECK-NOT:     scf.for
// CHECK:         %[[P:.*]] = tensor.dim %[[NUMBERS]]
// CHECK:         %[[OUT:.*]] = tensor.empty(%[[P]]) : tensor<?x96xbf16>
// CHECK:         %[[S:.*]] = tensor.empty(%[[P]]) : tensor<?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
// CHECK:         %[[A:.*]]:2 = mx.fused_quantize ragged = rows ins(%[[X]] : tensor<?x128xbf16>) gather(%[[NUMBERS]] : tensor<?xi32>) offsets(%[[ENDS]] : tensor<4xi32>) outs(%{{.*}}, %[[S]] :
// CHECK:         %[[B:.*]]:2 = mx.quantize ins(%[[W]] : tensor<4x96x128xbf16>) {{.*}} -> tensor<4x96x128xf8E4M3FN>, tensor<4x96x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[Y:.*]] = mx.grouped_matmul ragged = rows ins(%[[A]]#0, %[[A]]#1, %[[B]]#0, %[[B]]#1 : {{.*}}) offsets(%[[ENDS]] : tensor<4xi32>) outs(%[[OUT]] : tensor<?x96xbf16>) -> tensor<?x96xbf16>
// CHECK:         return %[[Y]]
func.func @rows(%x: tensor<?x128xbf16>, %numbers: tensor<?xi32>, %w: tensor<4x96x128xbf16>, %ends: tensor<4xi32>) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant 0.0 : bf16
  %zero = arith.constant 0.0 : f32
  %p = tensor.dim %numbers, %c0 : tensor<?xi32>
  %empty = tensor.empty(%p) : tensor<?x128xbf16>
  %gathered = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%numbers : tensor<?xi32>) outs(%empty : tensor<?x128xbf16>) {
  ^bb0(%number: i32, %old: bf16):
    %row = arith.index_cast %number : i32 to index
    %first = arith.maxsi %row, %c0 : index
    %column = linalg.index 1 : index
    %element = tensor.extract %x[%first, %column] : tensor<?x128xbf16>
    %exists = arith.cmpi sge, %row, %c0 : index
    %value = arith.select %exists, %element, %none : bf16
    linalg.yield %value : bf16
  } -> tensor<?x128xbf16>
  %init = tensor.empty(%p) : tensor<?x96xbf16>
  %y:2 = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %init, %start = %c0) -> (tensor<?x96xbf16>, index) {
    %e = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %gathered[%start, 0] [%n, 128] [1, 1] : tensor<?x128xbf16> to tensor<?x128xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 96, 128] [1, 1, 1] : tensor<4x96x128xbf16> to tensor<96x128xbf16>
    %part = tensor.empty(%n) : tensor<?x96xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%part : tensor<?x96xf32>) -> tensor<?x96xf32>
    %r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xg, %wg : tensor<?x128xbf16>, tensor<96x128xbf16>) outs(%zeros : tensor<?x96xf32>) -> tensor<?x96xf32>
    %b = arith.truncf %r : tensor<?x96xf32> to tensor<?x96xbf16>
    %o = tensor.insert_slice %b into %out[%start, 0] [%n, 96] [1, 1] : tensor<?x96xbf16> into tensor<?x96xbf16>
    scf.yield %o, %end : tensor<?x96xbf16>, index
  }
  return %y#0 : tensor<?x96xbf16>
}

// -----

// The start of a group is selected with scf.if, the weights store K first and
// are written transposed, and the matmul accumulates.
// CHECK-LABEL: func.func @added(
// CHECK-SAME:    %[[X:.*]]: tensor<?x96xbf16>, %[[W:.*]]: tensor<4x96x128xbf16>, %[[ENDS:.*]]: tensor<4xi64>, %[[Y:.*]]: tensor<?x128xf32>)
// CHECK:         mx.quantize ins(%[[W]] : tensor<4x96x128xbf16>) {{.*}} axes = [0] -> tensor<4x128x96xf8E4M3FN>, tensor<4x128x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         mx.grouped_matmul ragged = rows {{.*}} outs(%[[Y]] : tensor<?x128xf32>) accumulate -> tensor<?x128xf32>
func.func @added(%x: tensor<?x96xbf16>, %w: tensor<4x96x128xbf16>, %ends: tensor<4xi64>, %y: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %y) -> (tensor<?x128xf32>) {
    %other = arith.cmpi ne, %g, %c0 : index
    %start = scf.if %other -> (index) {
      %before = arith.subi %g, %c1 : index
      %e = tensor.extract %ends[%before] : tensor<4xi64>
      %cast = arith.index_cast %e : i64 to index
      scf.yield %cast : index
    } else {
      scf.yield %c0 : index
    }
    %e = tensor.extract %ends[%g] : tensor<4xi64>
    %end = arith.index_cast %e : i64 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 96] [1, 1] : tensor<?x96xbf16> to tensor<?x96xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 96, 128] [1, 1, 1] : tensor<4x96x128xbf16> to tensor<96x128xbf16>
    %old = tensor.extract_slice %out[%start, 0] [%n, 128] [1, 1] : tensor<?x128xf32> to tensor<?x128xf32>
    %m = linalg.matmul ins(%xg, %wg : tensor<?x96xbf16>, tensor<96x128xbf16>) outs(%old : tensor<?x128xf32>) -> tensor<?x128xf32>
    %o = tensor.insert_slice %m into %out[%start, 0] [%n, 128] [1, 1] : tensor<?x128xf32> into tensor<?x128xf32>
    scf.yield %o : tensor<?x128xf32>
  }
  return %r : tensor<?x128xf32>
}

// -----

// Each expert group has a matrix that is summed over its tokens, and both
// operands store tokens as rows. The initial zeros are not added.
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @reduction(
// CHECK-SAME:    %[[X:.*]]: tensor<200x128xbf16>, %[[DY:.*]]: tensor<200x96xbf16>, %[[ENDS:.*]]: tensor<4xi32>)
// CHECK:         %[[OUT:.*]] = tensor.empty() : tensor<4x96x128xf32>
// CHECK:         %[[A:.*]]:2 = mx.quantize ragged = rows ins(%[[DY]] : tensor<200x96xbf16>) {{.*}} axes = [0] -> tensor<96x768xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>, tensor<96x24xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
// CHECK:         %[[B:.*]]:2 = mx.quantize ragged = rows ins(%[[X]] : tensor<200x128xbf16>) {{.*}} axes = [0] -> tensor<128x768xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
// CHECK:         mx.grouped_matmul ragged = reduction ins(%[[A]]#0, %[[A]]#1, %[[B]]#0, %[[B]]#1 : {{.*}}) offsets(%[[ENDS]] : tensor<4xi32>) outs(%[[OUT]] : tensor<4x96x128xf32>) -> tensor<4x96x128xf32>
func.func @reduction(%x: tensor<200x128xbf16>, %dy: tensor<200x96xbf16>, %ends: tensor<4xi32>) -> tensor<4x96x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %init = arith.constant dense<0.0> : tensor<4x96x128xf32>
  %y = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %init) -> (tensor<4x96x128xf32>) {
    %first = arith.cmpi eq, %g, %c0 : index
    %less = arith.subi %g, %c1 : index
    %before = arith.maxsi %less, %c0 : index
    %s0 = tensor.extract %ends[%before] : tensor<4xi32>
    %s1 = arith.select %first, %zero, %s0 : i32
    %start = arith.index_cast %s1 : i32 to index
    %e = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 128] [1, 1] : tensor<200x128xbf16> to tensor<?x128xbf16>
    %dyg = tensor.extract_slice %dy[%start, 0] [%n, 96] [1, 1] : tensor<200x96xbf16> to tensor<?x96xbf16>
    %old = tensor.extract_slice %out[%g, 0, 0] [1, 96, 128] [1, 1, 1] : tensor<4x96x128xf32> to tensor<96x128xf32>
    %r = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%dyg, %xg : tensor<?x96xbf16>, tensor<?x128xbf16>) outs(%old : tensor<96x128xf32>) -> tensor<96x128xf32>
    %o = tensor.insert_slice %r into %out[%g, 0, 0] [1, 96, 128] [1, 1, 1] : tensor<96x128xf32> into tensor<4x96x128xf32>
    scf.yield %o : tensor<4x96x128xf32>
  }
  return %y : tensor<4x96x128xf32>
}

// -----

// Rows outside of all expert groups must stay zero, so the matmul accumulates.
// CHECK-LABEL: func.func @zeros(
// CHECK:         %[[ZEROS:.*]] = linalg.fill
// CHECK:         mx.grouped_matmul ragged = rows {{.*}} outs(%[[ZEROS]] : tensor<200x96xf32>) accumulate
func.func @zeros(%x: tensor<200x128xbf16>, %w: tensor<4x128x96xbf16>, %ends: tensor<4xi32>) -> tensor<200x96xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<200x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<200x96xf32>) -> tensor<200x96xf32>
  %y:2 = scf.for %g = %c0 to %c4 step %c1 iter_args(%out = %init, %start = %c0) -> (tensor<200x96xf32>, index) {
    %e = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 128] [1, 1] : tensor<200x128xbf16> to tensor<?x128xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 128, 96] [1, 1, 1] : tensor<4x128x96xbf16> to tensor<128x96xbf16>
    %part = tensor.extract_slice %out[%start, 0] [%n, 96] [1, 1] : tensor<200x96xf32> to tensor<?x96xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%part : tensor<?x96xf32>) -> tensor<?x96xf32>
    %r = linalg.matmul ins(%xg, %wg : tensor<?x128xbf16>, tensor<128x96xbf16>) outs(%zeros : tensor<?x96xf32>) -> tensor<?x96xf32>
    %o = tensor.insert_slice %r into %out[%start, 0] [%n, 96] [1, 1] : tensor<?x96xf32> into tensor<200x96xf32>
    scf.yield %o, %end : tensor<200x96xf32>, index
  }
  return %y#0 : tensor<200x96xf32>
}
