// RUN: mx-opt %s -split-input-file --convert-mx-to-cpu --canonicalize --cse | FileCheck %s

// Elements and scales are decoded with constant tables. Terms are added in f64,
// in ascending order of k, and the sum is rounded once.
// CHECK-DAG: memref.global "private" constant @__mx_values_f8E4M3FN : memref<256xf64>
// CHECK-DAG: memref.global "private" constant @__mx_scale_values_f8E8M0FNU : memref<256xf64>
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:[^:]*]]: memref<8x64xf8E4M3FN>, %[[SA:[^:]*]]: memref<8x2xf8E8M0FNU>,
// CHECK-SAME:    %[[B:[^:]*]]: memref<16x64xf8E4M3FN>, %[[SB:[^:]*]]: memref<16x2xf8E8M0FNU>, %[[C:[^:]*]]: memref<8x16xbf16>
// CHECK-DAG:     %[[ROWS:.*]] = memref.alloc({{.*}}) {{.*}} : memref<64x64xf64>
// CHECK-DAG:     %[[PANEL:.*]] = memref.alloc({{.*}}) {{.*}} : memref<64x8xf64>
// CHECK-DAG:     %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<4x8xf64>
// CHECK-DAG:     memref.load %[[SA]]
// CHECK-DAG:     memref.load %[[A]]
// CHECK:         memref.store %{{.*}}, %[[ROWS]]
// CHECK-DAG:     memref.load %[[SB]]
// CHECK-DAG:     memref.load %[[B]]
// CHECK:         memref.store %{{.*}}, %[[PANEL]]
// CHECK:         scf.for %[[K:.*]] = %c0 to %c64 step %c1 iter_args(%[[SUM:[a-z0-9]+]] = %{{.*}}, {{.*}}) -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
// CHECK:           vector.load %[[PANEL]][%[[K]], %c0]
// CHECK:         memref.load %[[SUMS]]
// CHECK:         func.call @__mx_round_f64_to_bf16(%{{.*}}) : (i64) -> i16
// CHECK:         memref.store %{{.*}}, %[[C]]
// CHECK-NOT:     arith.truncf
func.func @matmul(%a: memref<8x64xf8E4M3FN>, %sa: memref<8x2xf8E8M0FNU>,
                  %b: memref<16x64xf8E4M3FN>, %sb: memref<16x2xf8E8M0FNU>,
                  %c: memref<8x16xbf16>) {
  mx.matmul ins(%a, %sa, %b, %sb : memref<8x64xf8E4M3FN>,
        memref<8x2xf8E8M0FNU>, memref<16x64xf8E4M3FN>, memref<16x2xf8E8M0FNU>)
      outs(%c : memref<8x16xbf16>)
  return
}

// -----

// The scaled sum is added to the output operand, rounded to f32 and passed to
// the epilogue together with its row and column.
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME:    %[[ALPHA:[^:,]*]]: f32, %[[BIAS:[^:,]*]]: memref<16xf32>)
// CHECK:         %[[FACTOR:.*]] = call @__mx_widen_f32
// CHECK:         arith.mulf %{{.*}}, %{{.*}} : f64
// CHECK:         arith.addf %{{.*}}, %{{.*}} : f64
// CHECK:         func.call @__mx_round_f64_to_f32
// CHECK:         %[[ACC:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK:         %[[ADD:.*]] = memref.load %[[BIAS]][%[[COLUMN:.*]]]
// CHECK:         %[[Y:.*]] = arith.addf %[[ACC]], %[[ADD]] : f32
// CHECK:         memref.store %[[Y]], %{{.*}}[%{{.*}}, %[[COLUMN]]]
func.func @epilogue(%a: memref<8x64xf8E4M3FN>, %sa: memref<8x2xf8E8M0FNU>,
                    %b: memref<16x64xf8E5M2>, %sb: memref<16x2xf8E8M0FNU>,
                    %c: memref<8x16xf32>, %alpha: f32, %bias: memref<16xf32>) {
  mx.matmul ins(%a, %sa, %b, %sb : memref<8x64xf8E4M3FN>,
        memref<8x2xf8E8M0FNU>, memref<16x64xf8E5M2>, memref<16x2xf8E8M0FNU>)
      alpha(%alpha) outs(%c : memref<8x16xf32>) accumulate epilogue {
    ^bb0(%acc: f32, %row: index, %column: index):
      %add = memref.load %bias[%column] : memref<16xf32>
      %y = arith.addf %acc, %add : f32
      mx.yield %y : f32
    }
  return
}

// -----

// CHECK-LABEL: func.func @grouped_rows(
// CHECK-SAME:    %[[OFFSETS:[^:,]*]]: memref<4xi32>
// CHECK:         %[[LAST:.*]] = memref.load %[[OFFSETS]][%c3]
// CHECK:         %[[LAST_INDEX:.*]] = arith.index_cast %[[LAST]]
// CHECK:         %[[FITTING:.*]] = arith.minsi %[[LAST_INDEX]], %c300
// CHECK:         %[[ALL:.*]] = arith.maxsi %[[FITTING]], %c0
// CHECK:         scf.for %[[G:.*]] = %c0 to %c4 step %c1 iter_args(%[[BEGIN:.*]] = %c0, %{{.*}} = %c0)
// CHECK:           %[[OFFSET:.*]] = memref.load %[[OFFSETS]][%[[G]]]
// CHECK:           %[[INDEX:.*]] = arith.index_cast %[[OFFSET]]
// CHECK:           %[[LEAST:.*]] = arith.minsi %[[INDEX]], %[[ALL]]
// CHECK:           %[[END:.*]] = arith.maxsi %[[LEAST]], %[[BEGIN]]
// CHECK:           %[[ROWS:.*]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK:           scf.for %{{.*}} = %c0 to %[[ROWS]] step %c64
func.func @grouped_rows(%a: memref<300x64xf8E4M3FN>,
                        %sa: memref<300x2xf8E8M0FNU>,
                        %b: memref<4x48x64xf8E4M3FN>,
                        %sb: memref<4x48x2xf8E8M0FNU>, %o: memref<4xi32>,
                        %c: memref<300x48xbf16>) {
  mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb :
        memref<300x64xf8E4M3FN>, memref<300x2xf8E8M0FNU>,
        memref<4x48x64xf8E4M3FN>, memref<4x48x2xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%c : memref<300x48xbf16>)
  return
}

// -----

// An expert group starts at the sum of the preceding group sizes, each rounded
// up to a multiple of 128.
// CHECK-LABEL: func.func @grouped_reduction(
// CHECK:         scf.for %[[G:.*]] = %c0 to %c2 step %c1 iter_args(%[[BEGIN:.*]] = %c0, %[[START:.*]] = %c0)
// CHECK:           %[[SIZE:.*]] = arith.subi %{{.*}}, %[[BEGIN]]
// CHECK:           arith.addi %[[SIZE]], %c127
// CHECK:           arith.divui %{{.*}}, %c128
func.func @grouped_reduction(%a: memref<8x384xf8E4M3FN>,
                             %sa: memref<8x12xf8E8M0FNU>,
                             %b: memref<16x384xf8E4M3FN>,
                             %sb: memref<16x12xf8E8M0FNU>, %o: memref<2xi32>,
                             %c: memref<2x8x16xf32>) {
  mx.grouped_matmul ragged = reduction ins(%a, %sa, %b, %sb :
        memref<8x384xf8E4M3FN>, memref<8x12xf8E8M0FNU>,
        memref<16x384xf8E4M3FN>, memref<16x12xf8E8M0FNU>)
      offsets(%o : memref<2xi32>) outs(%c : memref<2x8x16xf32>)
  return
}
