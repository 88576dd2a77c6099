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
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
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
      %d = mxgpu.reduce_lanes minimum %c lanes(4) : f32
      memref.store %d, %x[%thread] : memref<32xf32>
    }
  }
}

// -----

// A CTA reduces the maxima of its warps through shared memory, between barriers. A single barrier joins conditions.

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK:         llvm.mlir.global internal @mx_warp_maxima() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i32>
  // CHECK-LABEL: llvm.func @cta
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK:         %[[MAXIMA:.*]] = llvm.mlir.addressof @mx_warp_maxima
  // CHECK:         barrier.cta.sync.aligned.count
  // CHECK:         scf.if
  // CHECK:           llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
  // CHECK:         barrier.cta.sync.aligned.count
  // CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
  // CHECK-NOT:     llvm.load {{.*}}!llvm.ptr<3>
  // CHECK:         llvm.intr.maximum
  // CHECK:         %[[ANY:.*]] = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.or.aligned.count"(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i1) -> i1
  // CHECK:         scf.if %[[ANY]]
  // CHECK:         nvvm.read.ptx.sreg.laneid
  mxgpu.kernel @cta(%x: memref<64xf32>, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [1, 1] of(%n, %n, %n)
    mxgpu.role @reduce warps(2) {
      %thread = mxgpu.thread_id
      %v = memref.load %x[%thread] : memref<64xf32>
      %a = gpu.all_reduce maximumf %v uniform {
      } : (f32) -> f32
      %is_below = arith.cmpf olt, %v, %a : f32
      %any = gpu.all_reduce or %is_below uniform {
      } : (i1) -> i1
      scf.if %any {
        %lane = gpu.lane_id
        memref.store %a, %x[%lane] : memref<64xf32>
      }
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
