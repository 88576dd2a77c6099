// RUN: mx-opt %s --strip-debuginfo --mxgpu-merge-kernels | FileCheck %s
// RUN: mx-opt %s --mxgpu-merge-kernels | FileCheck %s --check-prefix=PLACES

// Kernels that differ in their names alone are one, the first; what they are launched with may differ. Those of
// other modules and those that do something else stay.

// CHECK-LABEL: gpu.module @kernels
// CHECK:         mxgpu.kernel @first(
// CHECK-NOT:     @second
// CHECK:         mxgpu.kernel @other(
// CHECK:         mxgpu.kernel @smaller(
// CHECK-LABEL: gpu.module @more
// CHECK:         mxgpu.kernel @first(

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    mxgpu.launch @kernels::@first grid(%[[N:[a-z0-9]+]]) args(%[[A:[a-z0-9]+]]
// CHECK-NEXT:    mxgpu.launch @kernels::@first grid(%[[N]]) args(%[[B:[a-z0-9]+]]
// CHECK-NEXT:    mxgpu.launch @kernels::@other
// CHECK-NEXT:    mxgpu.launch @kernels::@smaller
// CHECK-NEXT:    mxgpu.launch @more::@first

// Kernels of other places of the program stay, too: findings name the place.
// PLACES: mxgpu.launch @kernels::@first
// PLACES: mxgpu.launch @kernels::@second
gpu.module @kernels {
  mxgpu.kernel @first(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 1.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
  mxgpu.kernel @second(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 1.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
  mxgpu.kernel @other(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 2.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
  mxgpu.kernel @smaller(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(1) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 1.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
}
gpu.module @more {
  mxgpu.kernel @first(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 1.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
}
func.func @main(%n: index, %a: memref<?xf32>, %b: memref<?xf32>) {
  mxgpu.launch @kernels::@first grid(%n) args(%a, %n : memref<?xf32>, index)
  mxgpu.launch @kernels::@second grid(%n) args(%b, %n : memref<?xf32>, index)
  mxgpu.launch @kernels::@other grid(%n) args(%a, %n : memref<?xf32>, index)
  mxgpu.launch @kernels::@smaller grid(%n) args(%a, %n : memref<?xf32>, index)
  mxgpu.launch @more::@first grid(%n) args(%a, %n : memref<?xf32>, index)
  return
}
