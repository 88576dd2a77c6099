// RUN: mx-opt %s --mx-return-whole | FileCheck %s

// A function may return the leading rows of a matrix, because these rows have the identity layout.
// CHECK-LABEL: @first_rows
// CHECK:         %[[PART:.*]] = memref.cast
// CHECK:         %[[WHOLE:.*]] = memref.alloc(%{{.*}}) : memref<?x4xf32>
// CHECK:         memref.copy %[[PART]], %[[WHOLE]]
// CHECK:         return %[[WHOLE]], %arg0
func.func @first_rows(%x: memref<8x4xf32>, %n: index) -> (memref<?x4xf32>, memref<8x4xf32>) {
  %part = memref.subview %x[0, 0] [%n, 4] [1, 1] : memref<8x4xf32> to memref<?x4xf32, strided<[4, 1]>>
  %y = memref.cast %part : memref<?x4xf32, strided<[4, 1]>> to memref<?x4xf32>
  return %y, %x : memref<?x4xf32>, memref<8x4xf32>
}
