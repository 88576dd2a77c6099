// RUN: mx-opt %s --mx-expand-strided-copies | FileCheck %s

// CHECK-LABEL: func.func @strided(
// CHECK-SAME:    %[[FROM:.*]]: memref<4x8xf32, strided<[16, 1]>>, %[[TO:.*]]: memref<4x8xf32>)
// CHECK:         scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1
// CHECK:           scf.for %[[J:.*]] = %c0 to %{{.*}} step %c1
// CHECK:             %[[X:.*]] = memref.load %[[FROM]][%[[I]], %[[J]]]
// CHECK:             memref.store %[[X]], %[[TO]][%[[I]], %[[J]]]
// CHECK-NOT:     memref.copy
func.func @strided(%from: memref<4x8xf32, strided<[16, 1]>>,
                   %to: memref<4x8xf32>) {
  memref.copy %from, %to : memref<4x8xf32, strided<[16, 1]>> to memref<4x8xf32>
  return
}

// CHECK-LABEL: func.func @contiguous(
// CHECK-NEXT:    memref.copy
func.func @contiguous(%from: memref<4x?xf32>, %to: memref<4x?xf32>) {
  memref.copy %from, %to : memref<4x?xf32> to memref<4x?xf32>
  return
}
