// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// With cluster launch control, a CTA is launched for each of the 2 x 3 tiles, however many CTAs run
// at once. One role queries the next unit, and all roles use the response.

// CHECK-LABEL: func.func @clc(
// CHECK-NOT:     mxgpu.sm_count
// CHECK:         %[[TILES:.*]] = arith.constant 6 : index
// CHECK:         mxgpu.launch @kernels::@clc_matmul grid(%[[TILES]])
// CHECK-LABEL: mxgpu.kernel @clc_matmul(
// CHECK:         %[[UNITS:.*]] = mxgpu.ring "work_tiles" : !clc_ring
// CHECK:         %[[WORK:.*]] = mxgpu.tile_scheduler clc(%[[UNITS]] : !clc_ring) raster = hilbert tile [128, 128] of(
// CHECK:         mxgpu.role @epilogue
// CHECK:           mxgpu.for_each_work_tile {{.*}} in %[[WORK]] {
// CHECK:             mxgpu.consumer_release %acc_stage :
// CHECK-NEXT:        %[[STAGE:.*]], %[[ANSWER:.*]] = mxgpu.consumer_wait %[[UNITS]] : !clc_ring
// CHECK-NEXT:        mxgpu.next_work_tile %[[ANSWER]] :
// CHECK-NEXT:        mxgpu.consumer_release %[[STAGE]] : !clc_stage
// CHECK:         mxgpu.role @load
// CHECK:             mxgpu.next_work_tile
// CHECK:         mxgpu.role @mma
// CHECK:             mxgpu.next_work_tile
// CHECK:         mxgpu.role @schedule warps(1) elected {
// CHECK:           mxgpu.for_each_work_tile {{.*}} in %[[WORK]] {
// CHECK-NEXT:        %[[REQUEST:.*]], %{{.*}} = mxgpu.producer_acquire %[[UNITS]] : !clc_ring
// CHECK-NEXT:        mxgpu.producer_commit %[[REQUEST]] : !clc_stage
// CHECK-NEXT:        %[[STAGE:.*]], %[[ANSWER:.*]] = mxgpu.consumer_wait %[[UNITS]] : !clc_ring
// CHECK-NEXT:        mxgpu.next_work_tile %[[ANSWER]] :
// CHECK-NEXT:        mxgpu.consumer_release %[[STAGE]] : !clc_stage
!x = memref<256x512xf8E4M3FN>
!w = memref<384x512xf8E4M3FN>
!xs = memref<2x4x32x4x4xf8E8M0FNU>
!ws = memref<3x4x32x4x4xf8E8M0FNU>
func.func @clc(%x: !x, %xs: !xs, %w: !w, %ws: !ws, %y: memref<256x384xbf16>) {
  mx.matmul ins(%x, %xs, %w, %ws : !x, !xs, !w, !ws) outs(%y : memref<256x384xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc>, raster = hilbert>}
  return
}

// -----

// The reduction is split into 3 parts. The partial sums of whole tiles are stacked in a workspace
// and then added in order. The epilogue is applied only to the final sum.

// CHECK-LABEL: func.func @split(
// CHECK-SAME:    %{{.*}}: memref<130x512xf8E4M3FN>, {{.*}}, %[[Y:[^:]*]]: memref<130x300xbf16>, %[[ALPHA:[^:]*]]: f32)
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<768x384xf32>
// CHECK:         mxgpu.launch @kernels::@split_matmul {{.*}}, %[[PARTS]] :
// CHECK:         mxgpu.launch @kernels::@split_matmul_sum grid(%{{.*}}) args(%[[PARTS]], %[[Y]], %[[ALPHA]] :
// CHECK:         memref.dealloc %[[PARTS]]
// CHECK-LABEL: mxgpu.kernel @split_matmul(
// CHECK-DAG:     %[[M:.*]] = arith.constant 256 : index
// CHECK-DAG:     %[[N:.*]] = arith.constant 384 : index
// CHECK-DAG:     %[[K:.*]] = arith.constant 512 : index
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [128, 128] split(3 step 128) of(%[[M]], %[[N]], %[[K]])
// CHECK:         mxgpu.role @epilogue
// CHECK:           mxgpu.for_each_work_tile (%[[SLICE:.*]], %[[ROW:.*]], %{{.*}}, %{{.*}}, %{{.*}}) in
// CHECK:             %[[ABOVE:.*]] = arith.muli %[[SLICE]], %[[M]]
// CHECK:             arith.addi %[[ROW]], %[[ABOVE]]
// CHECK-NOT:       arith.truncf
// CHECK:         mxgpu.role @load
// CHECK-LABEL: mxgpu.kernel @split_matmul_sum(
// CHECK-SAME:    %[[PARTS:.*]]: memref<768x384xf32>, %[[Y:.*]]: memref<130x300xbf16>, %[[ALPHA:.*]]: f32)
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK:         mxgpu.role @sum warps(8) {
// CHECK:           %[[FIRST:.*]] = vector.load %[[PARTS]]{{.*}} {alignment = 32 : i64} : memref<768x384xf32>, vector<8xf32>
// CHECK:           %[[SUM:.*]] = scf.for %[[I:.*]] = %[[C1]] to %[[C3]] step %[[C1]] iter_args(%[[SOFAR:.*]] = %[[FIRST]]) -> (vector<8xf32>) {
// CHECK:             %[[NEXT:.*]] = vector.load %[[PARTS]]
// CHECK:             %[[MORE:.*]] = arith.addf %[[SOFAR]], %[[NEXT]] : vector<8xf32>
// CHECK:             scf.yield %[[MORE]]
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[SUM]], %{{.*}} : vector<8xf32>
// CHECK:           arith.truncf %[[SCALED]] : vector<8xf32> to vector<8xbf16>
!x = memref<130x512xf8E4M3FN>
!w = memref<300x512xf8E4M3FN>
!xs = memref<2x4x32x4x4xf8E8M0FNU>
!ws = memref<3x4x32x4x4xf8E8M0FNU>
func.func @split(%x: !x, %xs: !xs, %w: !w, %ws: !ws, %y: memref<130x300xbf16>, %f: f32) {
  mx.matmul ins(%x, %xs, %w, %ws : !x, !xs, !w, !ws) alpha(%f) outs(%y : memref<130x300xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, split_k = 3>}
  return
}

// -----

!x = memref<128x160xf8E4M3FN>
!xs = memref<1x2x32x4x4xf8E8M0FNU>
func.func @too_many(%x: !x, %xs: !xs, %y: memref<128x128xf32>) {
  // expected-error @below {{'mx.matmul' op expected split_k to be at most 2, the number of reduction tiles, found 3}}
  mx.matmul ins(%x, %xs, %x, %xs : !x, !xs, !x, !xs) outs(%y : memref<128x128xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, split_k = 3>}
  return
}
