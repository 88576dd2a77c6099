// RUN: mx-opt %s --convert-mx-to-mxgpu=chip=sm_120a --canonicalize --cse | FileCheck %s

// Warps load fragments of both operands and their scales, and multiply them in registers. A single
// instruction multiplies each block of 32 elements, whose operands are loaded during the previous block.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1x1x2x256xf8E8M0FNU>, b: smem<64x128xf8E4M3FN, sw128>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: #[[$SUMS:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 32 rows, 2: 32 columns], values = [2: 1 column, 2: 8 rows, 2: 16 rows, 4: 8 columns]>
// CHECK-DAG: #[[$SCALES_A:.*]] = #mxgpu.fragment_layout<threads = [4: 8 rows, 8: 1 row, 4: 32 rows, 2: 0 columns], values = [4: 1 column]>
// CHECK-DAG: #[[$ROWS_A:.*]] = #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row, 4: 32 rows, 2: 0 columns], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 2: 16 rows]>
// CHECK-DAG: ![[$D:.*]] = !mxgpu.fragment<128x64xf32, #[[$SUMS]]>
// CHECK-DAG: ![[$SFA:.*]] = !mxgpu.fragment<128x4xf8E8M0FNU, #[[$SCALES_A]]>
// CHECK-DAG: ![[$A:.*]] = !mxgpu.fragment<128x32xf8E4M3FN, #[[$ROWS_A]]>

// CHECK-LABEL: mxgpu.kernel @dense_matmul(
// CHECK:         mxgpu.role @multiply warps(8) {
// CHECK:           mxgpu.for_each_k {{.*}} step 128 iter_args(%[[OLD:.*]] = %{{.*}} : ![[$D]]) {
// CHECK:             %[[STAGE:.*]], %[[A:.*]], %[[SA:.*]], %[[B:.*]], %[[SB:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK:             %[[SFA:.*]] = mxgpu.load_fragment_scales %[[SA]] {{.*}} -> ![[$SFA]]
// CHECK:             %[[SFB:.*]] = mxgpu.load_fragment_scales %[[SB]]
// CHECK:             %[[A0:.*]] = mxgpu.load_fragment %[[A]] at[%c0, %c0] matrices : {{.*}} -> ![[$A]]
// CHECK:             %[[B0:.*]] = mxgpu.load_fragment %[[B]] at[%c0, %c0] matrices
// CHECK:             %[[A1:.*]] = mxgpu.load_fragment %[[A]] at[%c0, %c32] matrices
// CHECK:             %[[B1:.*]] = mxgpu.load_fragment %[[B]] at[%c0, %c32] matrices
// CHECK:             %[[SUM:.*]] = mxgpu.mma #mxgpu.mma_sync<mxf8f6f4, m = 128, n = 64, warps = 4, column_warps = 2> %[[A0]], %[[B0]] scales(%[[SFA]], %[[SFB]] : {{.*}}) into %[[OLD]]
// CHECK:             mxgpu.mma {{.*}} first_scale = 1> %[[A1]], %[[B1]] scales(%[[SFA]], %[[SFB]] : {{.*}}) into %[[SUM]]
// CHECK:             mxgpu.mma {{.*}} first_scale = 2>
// CHECK:             mxgpu.consumer_release %[[STAGE]]
// CHECK:             %[[ALL:.*]] = mxgpu.mma {{.*}} first_scale = 3>
// CHECK:             mxgpu.yield %[[ALL]]
// CHECK:           mxgpu.store_fragment {{.*}}aligned(4) : vector<2xbf16>
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK-NOT:     mxgpu.role
!e = memref<256x512xf8E4M3FN>
!s = memref<2x4x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
func.func @dense(%a: !e, %as: !s, %b: !e, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !e, !s, !e, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 2>>}
  return
}
