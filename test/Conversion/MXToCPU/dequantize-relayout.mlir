// RUN: mx-opt %s -split-input-file --convert-mx-to-cpu --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @dequantize(
// CHECK-SAME:    %[[Q:.*]]: memref<4x64xf8E5M2>, %[[S:.*]]: memref<4x2xf8E8M0FNU>, %[[X:.*]]: memref<4x64xf16>)
// CHECK-DAG:     %[[VALUES:.*]] = memref.get_global @__mx_values_f8E5M2
// CHECK-DAG:     %[[SCALES:.*]] = memref.get_global @__mx_scale_values_f8E8M0FNU
// CHECK:         %[[SCALE:.*]] = memref.load %[[SCALES]]
// CHECK:         %[[VALUE:.*]] = memref.load %[[VALUES]]
// CHECK:         %[[PRODUCT:.*]] = arith.mulf %[[VALUE]], %[[SCALE]] : f64
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[PRODUCT]] : f64 to i64
// CHECK:         call @__mx_round_f64_to_f16(%[[BITS]])
// CHECK:         memref.store %{{.*}}, %[[X]]
func.func @dequantize(%q: memref<4x64xf8E5M2>, %s: memref<4x2xf8E8M0FNU>,
                      %x: memref<4x64xf16>) {
  mx.dequantize ins(%q, %s : memref<4x64xf8E5M2>, memref<4x2xf8E8M0FNU>)
      outs(%x : memref<4x64xf16>)
  return
}

// -----

// CHECK-LABEL: func.func @to_tiled(
// CHECK-SAME:    %[[FROM:.*]]: memref<200x6xf8E8M0FNU>, %[[TO:.*]]: memref<2x2x32x4x4xf8E8M0FNU>)
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK:         memref.store %{{.*}}, %[[TO]]
// CHECK:         %[[SCALE:.*]] = memref.load %[[FROM]][%[[R:[a-z0-9]+]], %[[B:[a-z0-9]+]]]
// CHECK-DAG:     %[[TILE_ROW:.*]] = arith.divui %[[R]], %[[C128]]
// CHECK-DAG:     %[[TILE_COLUMN:.*]] = arith.divui %[[B]], %[[C4]]
// CHECK-DAG:     %[[I:.*]] = arith.remui %[[R]], %[[C32]]
// CHECK-DAG:     %[[R32:.*]] = arith.divui %[[R]], %[[C32]]
// CHECK-DAG:     %[[J:.*]] = arith.remui %[[R32]], %[[C4]]
// CHECK-DAG:     %[[K:.*]] = arith.remui %[[B]], %[[C4]]
// CHECK:         memref.store %{{.*}}, %[[TO]][%[[TILE_ROW]], %[[TILE_COLUMN]], %[[I]], %[[J]], %[[K]]]
func.func @to_tiled(%from: memref<200x6xf8E8M0FNU>,
                    %to: memref<2x2x32x4x4xf8E8M0FNU>) {
  mx.relayout ins(%from : memref<200x6xf8E8M0FNU>)
      outs(%to : memref<2x2x32x4x4xf8E8M0FNU>)
  return
}

// -----

// CHECK-LABEL: func.func @same_layout(
// CHECK-NEXT:    memref.copy
func.func @same_layout(%from: memref<200x6xf8E8M0FNU>,
                       %to: memref<200x6xf8E8M0FNU>) {
  mx.relayout ins(%from : memref<200x6xf8E8M0FNU>)
      outs(%to : memref<200x6xf8E8M0FNU>)
  return
}
