// RUN: mx-opt %s --split-input-file --convert-mxgpu-host-to-gpu --mxgpu-lower-work --mxgpu-assign-warps --mxgpu-lower-kernels --convert-mxgpu-to-nvvm | FileCheck %s

// Five shuffles reduce the values of a warp, and all lanes get the result.

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @lanes
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK:         llvm.fadd
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK:         llvm.intr.maximum
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK:         llvm.intr.minimum
  // CHECK-NOT:     nvvm.shfl.sync
  mxgpu.kernel @lanes(%x: memref<32xf32>, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [1, 1] of(%n, %n, %n)
    mxgpu.role @reduce warps(1) {
      %thread = mxgpu.thread_id
      %v = memref.load %x[%thread] : memref<32xf32>
      %a = mxgpu.reduce_lanes add %v : f32
      %b = mxgpu.reduce_lanes maximum %a : f32
      %c = mxgpu.reduce_lanes minimum %b : f32
      memref.store %c, %x[%thread] : memref<32xf32>
    }
  }
}

// -----

// CHECK-LABEL: func.func @fill(
// CHECK-SAME:    %[[X:.*]]: memref<?x3xbf16>)
// CHECK:         %[[BYTES:.*]] = arith.muli
// CHECK:         %[[ALL:.*]] = arith.muli %[[BYTES]]
// CHECK:         llvm.call @mxMemset(%{{.*}}, %{{.*}}, %[[ALL]], %{{.*}}) : (!llvm.ptr, i8, i64, !llvm.ptr) -> i32
// CHECK:         llvm.call @mgpuStreamSynchronize
func.func @fill(%x: memref<?x3xbf16>) {
  %zero = arith.constant 0.0 : bf16
  gpu.memset %x, %zero : memref<?x3xbf16>, bf16
  return
}
