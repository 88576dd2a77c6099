// RUN: mx-opt %s --mx-drop-deallocations | FileCheck %s

// Returned ownership flags become false.
// CHECK-LABEL: func.func @asked
// CHECK:         %[[NO:.*]] = arith.constant false
// CHECK-NOT:     dealloc
// CHECK:         return %[[NO]]
func.func @asked(%x: memref<4xf32>, %y: memref<4xf32>, %owns: i1) -> i1 {
  %0 = bufferization.dealloc (%x : memref<4xf32>) if (%owns) retain (%y : memref<4xf32>)
  return %0 : i1
}
