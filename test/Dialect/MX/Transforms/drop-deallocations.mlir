// RUN: mx-opt %s --ownership-based-buffer-deallocation --mx-drop-deallocations --canonicalize | FileCheck %s

// Each iteration of the loop carries a new buffer. Nothing is freed, and no addresses are compared.
// CHECK-LABEL: func.func @carried
// CHECK-NOT:     dealloc
// CHECK-NOT:     extract_aligned_pointer
// CHECK:         return
func.func @carried(%x: memref<?xf32>, %times: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %first = memref.alloc(%n) : memref<?xf32>
  %last = scf.for %i = %c0 to %times step %c1 iter_args(%a = %first) -> (memref<?xf32>) {
    %next = memref.alloc(%n) : memref<?xf32>
    linalg.exp ins(%a : memref<?xf32>) outs(%next : memref<?xf32>)
    scf.yield %next : memref<?xf32>
  }
  linalg.copy ins(%last : memref<?xf32>) outs(%x : memref<?xf32>)
  return
}

// A buffer owned by the caller is returned as a copy.
// CHECK-LABEL: func.func @returned
// CHECK-SAME:    (%[[X:.*]]: memref<4xf32>
// CHECK:         %[[COPY:.*]] = bufferization.clone %[[X]]
// CHECK:         return %[[COPY]]
func.func @returned(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}
