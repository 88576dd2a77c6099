// RUN: mx-opt %s --mx-send-whole --split-input-file --verify-diagnostics | FileCheck %s

mx.group @ep size = 2 tokens = 4

// Rows at an offset and strided rows are copied to a separate buffer.
// CHECK-LABEL: @rows
// CHECK:         %[[PART:.*]] = memref.subview
// CHECK:         %[[SIZE:.*]] = memref.dim %[[PART]]
// CHECK:         %[[WHOLE:.*]] = memref.alloc(%[[SIZE]]) : memref<?x64xf32>
// CHECK:         memref.copy %[[PART]], %[[WHOLE]]
// CHECK:         mx.all_gather @ep ins(%[[WHOLE]] : memref<?x64xf32>)
func.func @rows(%x: memref<8x128xf32>, %n: index) {
  %w = mx.window @ep : memref<8x64xf32>
  %part = memref.subview %x[2, 64] [%n, 64] [1, 1] : memref<8x128xf32> to memref<?x64xf32, strided<[128, 1], offset: 320>>
  mx.all_gather @ep ins(%part : memref<?x64xf32, strided<[128, 1], offset: 320>>) outs(%w : memref<8x64xf32>)
  return
}

// CHECK-LABEL: @exchanged
// CHECK:         %[[WHOLE:.*]] = memref.alloc() : memref<8x64xf32>
// CHECK:         mx.all_to_all @ep ins(%[[WHOLE]] : memref<8x64xf32>)
func.func @exchanged(%x: memref<16x64xf32>) {
  %w = mx.window @ep : memref<8x64xf32>
  %part = memref.subview %x[8, 0] [8, 64] [1, 1] : memref<16x64xf32> to memref<8x64xf32, strided<[64, 1], offset: 512>>
  mx.all_to_all @ep ins(%part : memref<8x64xf32, strided<[64, 1], offset: 512>>) outs(%w : memref<8x64xf32>)
  return
}

// CHECK-LABEL: @indexed
// CHECK:         %[[WHOLE:.*]] = memref.alloc() : memref<8x64xf32>
// CHECK:         mx.gather_rows ins(%[[WHOLE]] : memref<8x64xf32>)
func.func @indexed(%x: memref<8x128xf32>, %rows: memref<4xi32>, %o: memref<4x64xf32>) {
  %part = memref.subview %x[0, 64] [8, 64] [1, 1] : memref<8x128xf32> to memref<8x64xf32, strided<[128, 1], offset: 64>>
  mx.gather_rows ins(%part : memref<8x64xf32, strided<[128, 1], offset: 64>>) rows(%rows : memref<4xi32>) outs(%o : memref<4x64xf32>)
  return
}

// Contiguous rows are not copied.
// CHECK-LABEL: @indexed_whole
// CHECK-NOT:     memref.copy
func.func @indexed_whole(%x: memref<9x64xf32>, %rows: memref<4xi32>, %o: memref<4x64xf32>) {
  %part = memref.subview %x[1, 0] [8, 64] [1, 1] : memref<9x64xf32> to memref<8x64xf32, strided<[64, 1], offset: 64>>
  mx.gather_rows ins(%part : memref<8x64xf32, strided<[64, 1], offset: 64>>) rows(%rows : memref<4xi32>) outs(%o : memref<4x64xf32>)
  return
}

// CHECK-LABEL: @whole
// CHECK-NOT:     memref.copy
func.func @whole(%x: memref<?x64xf32>) {
  %w = mx.window @ep : memref<8x64xf32>
  mx.all_gather @ep ins(%x : memref<?x64xf32>) outs(%w : memref<8x64xf32>)
  mx.all_gather @ep outs(%w : memref<8x64xf32>)
  return
}

// -----

mx.group @ep size = 2 tokens = 4
func.func @part_of_a_window(%x: memref<8x64xf32>) {
  %w = mx.window @ep : memref<8x128xf32>
  %part = memref.subview %w[0, 64] [8, 64] [1, 1] : memref<8x128xf32> to memref<8x64xf32, strided<[128, 1], offset: 64>>
  // expected-error @below {{'mx.all_to_all' op expected a whole window, because other ranks write it in place, found a slice of type 'memref<8x64xf32, strided<[128, 1], offset: 64>>': pass the window and slice the result}}
  mx.all_to_all @ep ins(%x : memref<8x64xf32>) outs(%part : memref<8x64xf32, strided<[128, 1], offset: 64>>)
  return
}
