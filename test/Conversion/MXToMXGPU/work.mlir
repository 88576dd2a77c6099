// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// Cluster launch control: a CTA for each of the 2 x 3 tiles, however many run
// at once. Every role goes on by the answers that one of them asks for.

// CHECK-LABEL: func.func @clc(
// CHECK-NOT:     mxgpu.sm_count
// CHECK:         %[[TILES:.*]] = arith.constant 6 : index
// CHECK:         mxgpu.launch @kernels::@clc_matmul grid(%[[TILES]])
// CHECK-LABEL: mxgpu.kernel @clc_matmul(
// CHECK:         %[[UNITS:.*]] = mxgpu.ring "units" : !clc_ring
// CHECK-NEXT:    %[[WORK:.*]] = mxgpu.work_source clc(%[[UNITS]] : !clc_ring) raster = hilbert tile [128, 128] of(
// CHECK:         mxgpu.role @epilogue
// CHECK-NEXT:      mxgpu.for_each_work {{.*}} in %[[WORK]] {
// CHECK:             mxgpu.release %acc_slot : !mma_slot
// CHECK-NEXT:        %[[ANSWER:.*]] = mxgpu.consume %[[UNITS]] : !clc_ring
// CHECK-NEXT:        mxgpu.next_unit %[[ANSWER]] : !clc_slot
// CHECK-NEXT:        mxgpu.release %[[ANSWER]] : !clc_slot
// CHECK-NEXT:      }
// CHECK:         mxgpu.role @load
// CHECK:             mxgpu.next_unit
// CHECK:         mxgpu.role @mma
// CHECK:             mxgpu.next_unit
// CHECK:         mxgpu.role @schedule warps(1) elected {
// CHECK-NEXT:      mxgpu.for_each_work {{.*}} in %[[WORK]] {
// CHECK-NEXT:        %[[REQUEST:.*]] = mxgpu.acquire %[[UNITS]] : !clc_ring
// CHECK-NEXT:        mxgpu.publish %[[REQUEST]] : !clc_slot
// CHECK-NEXT:        %[[ANSWER:.*]] = mxgpu.consume %[[UNITS]] : !clc_ring
// CHECK-NEXT:        mxgpu.next_unit %[[ANSWER]] : !clc_slot
// CHECK-NEXT:        mxgpu.release %[[ANSWER]] : !clc_slot
// CHECK-NEXT:      }
!x = memref<256x512xf8E4M3FN>
!w = memref<384x512xf8E4M3FN>
!xs = memref<2x4x32x4x4xf8E8M0FNU>
!ws = memref<3x4x32x4x4xf8E8M0FNU>
func.func @clc(%x: !x, %xs: !xs, %w: !w, %ws: !ws, %y: memref<256x384xbf16>) {
  mx.matmul ins(%x, %xs, %w, %ws : !x, !xs, !w, !ws) outs(%y : memref<256x384xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, tile_loop = clc, raster = hilbert>}
  return
}
