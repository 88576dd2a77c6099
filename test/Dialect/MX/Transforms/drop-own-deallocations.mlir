// RUN: mx-opt %s --mx-drop-deallocations | FileCheck %s
// RUN: mx-opt %s --mx-drop-deallocations --ownership-based-buffer-deallocation | FileCheck %s --check-prefix=AGAIN

// Deallocations in the input are dropped. The upstream pass then inserts its own deallocations.

// CHECK-LABEL: func.func @by_hand
// CHECK-NOT:     dealloc
// AGAIN-LABEL: func.func @by_hand
// AGAIN:         linalg.copy
// AGAIN:         bufferization.dealloc
func.func @by_hand(%x: memref<4xf32>) {
  %y = memref.alloc() : memref<4xf32>
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.copy ins(%y : memref<4xf32>) outs(%x : memref<4xf32>)
  memref.dealloc %y : memref<4xf32>
  return
}
