// RUN: mx-opt %s --mxgpu-merge-kernels | FileCheck %s
// RUN: mx-opt %s --mxgpu-merge-kernels --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC

// Merges kernels that differ only in names and locations into the first kernel, and updates all launches. Keeps kernels
// in other modules and kernels with other operations.

// CHECK-LABEL: gpu.module @kernels
// CHECK:         mxgpu.kernel @first(
// CHECK-NOT:     @second
// CHECK-NOT:     @third
// CHECK:         mxgpu.kernel @other(
// CHECK:         mxgpu.kernel @smaller(
// CHECK:         mxgpu.kernel @limited(
// CHECK-LABEL: gpu.module @more
// CHECK:         mxgpu.kernel @first(

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    mxgpu.launch @kernels::@first grid(%[[N:[a-z0-9]+]]) args(%[[A:[a-z0-9]+]]
// CHECK-NEXT:    mxgpu.launch @kernels::@first grid(%[[N]]) args(%[[B:[a-z0-9]+]]
// CHECK-NEXT:    mxgpu.launch @kernels::@first grid(%[[N]]) args(%[[B]]
// CHECK-NEXT:    mxgpu.launch @kernels::@other
// CHECK-NEXT:    mxgpu.launch @kernels::@smaller
// CHECK-NEXT:    mxgpu.launch @kernels::@limited
// CHECK-NEXT:    mxgpu.launch @more::@first

// The kernel and its operations get the fused locations of all merged kernels, without duplicates; launches keep theirs.
// LOC:       mxgpu.kernel @first(
// LOC:         memref.store {{.*}} loc(fused["net.mlir":1:1, "net.mlir":1:9, "net.mlir":2:1, "net.mlir":3:1])
// LOC:       } loc(fused["net.mlir":1:1, "net.mlir":2:1, "net.mlir":3:1])
// LOC:       mxgpu.kernel @other(
// LOC:         memref.store {{.*}} loc("net.mlir":4:1)
// LOC:       mxgpu.launch @kernels::@first {{.*}} loc("net.mlir":1:1)
// LOC-NEXT:  mxgpu.launch @kernels::@first {{.*}} loc("net.mlir":2:1)
// LOC-NEXT:  mxgpu.launch @kernels::@first {{.*}} loc("net.mlir":3:1)
#one = loc("net.mlir":1:1)
#two = loc("net.mlir":2:1)
#three = loc("net.mlir":3:1)
#four = loc("net.mlir":4:1)
#epilogue = loc(fused["net.mlir":1:1, "net.mlir":1:9])
gpu.module @kernels {
  mxgpu.kernel @first(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id loc(#one)
      %0 = arith.constant 1.0 : f32 loc(#one)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#epilogue)
    } loc(#one)
  } loc(#one)
  mxgpu.kernel @second(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id loc(#two)
      %0 = arith.constant 1.0 : f32 loc(#two)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#two)
    } loc(#two)
  } loc(#two)
  mxgpu.kernel @third(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id loc(#three)
      %0 = arith.constant 1.0 : f32 loc(#three)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#three)
    } loc(#three)
  } loc(#three)
  mxgpu.kernel @other(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id loc(#four)
      %0 = arith.constant 2.0 : f32 loc(#four)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#four)
    } loc(#four)
  } loc(#four)
  mxgpu.kernel @smaller(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(1) {
      %thread = mxgpu.thread_id loc(#one)
      %0 = arith.constant 1.0 : f32 loc(#one)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#one)
    } loc(#one)
  } loc(#one)
  mxgpu.kernel @limited(%out: memref<?xf32>, %n: index) min_ctas(2) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id loc(#one)
      %0 = arith.constant 1.0 : f32 loc(#one)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#one)
    } loc(#one)
  } loc(#one)
}
gpu.module @more {
  mxgpu.kernel @first(%out: memref<?xf32>, %n: index) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id loc(#one)
      %0 = arith.constant 1.0 : f32 loc(#one)
      memref.store %0, %out[%thread] : memref<?xf32> loc(#one)
    } loc(#one)
  } loc(#one)
}
func.func @main(%n: index, %a: memref<?xf32>, %b: memref<?xf32>) {
  mxgpu.launch @kernels::@first grid(%n) args(%a, %n : memref<?xf32>, index) loc(#one)
  mxgpu.launch @kernels::@second grid(%n) args(%b, %n : memref<?xf32>, index) loc(#two)
  mxgpu.launch @kernels::@third grid(%n) args(%b, %n : memref<?xf32>, index) loc(#three)
  mxgpu.launch @kernels::@other grid(%n) args(%a, %n : memref<?xf32>, index) loc(#four)
  mxgpu.launch @kernels::@smaller grid(%n) args(%a, %n : memref<?xf32>, index) loc(#one)
  mxgpu.launch @kernels::@limited grid(%n) args(%a, %n : memref<?xf32>, index) loc(#one)
  mxgpu.launch @more::@first grid(%n) args(%a, %n : memref<?xf32>, index) loc(#one)
  return
}
