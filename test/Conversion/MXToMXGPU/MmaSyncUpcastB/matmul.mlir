// RUN: mx-opt %s --convert-mx-to-mxgpu=chip=sm_120a --canonicalize --cse | FileCheck %s

// Warps dequantize their columns of B in registers and multiply them by fragments of A. A and B use
// separate rings. With 32 rows, four warps divide the columns of a tile.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (a: smem<32x64xbf16, sw128>), producer = bulk_copy, consumer = threads(128)>
// CHECK-DAG: ![[$IN_B:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (b: smem<128x32xi8, sw32>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(128)>
// CHECK-DAG: #[[$ROWS_A:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 0 columns], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 2: 16 columns, 2: 16 rows]>
// CHECK-DAG: #[[$ROWS_B:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 32 rows], values = [2: 1 column, 2: 8 columns, 2: 16 columns, 4: 8 rows]>
// CHECK-DAG: ![[$CODES:.*]] = !mxgpu.fragment<128x32xf4E2M1FN, #[[$ROWS_B]]>
// CHECK-DAG: ![[$B:.*]] = !mxgpu.fragment<128x32xbf16, #[[$ROWS_B]]>
// CHECK-DAG: ![[$A:.*]] = !mxgpu.fragment<32x32xbf16, #[[$ROWS_A]]>

// CHECK-LABEL: mxgpu.kernel @dense_matmul(
// CHECK-SAME:    min_ctas(2)
// CHECK-NOT:     sfa
// CHECK:         mxgpu.role @multiply warps(4) {
// CHECK:           mxgpu.for_each_k {{.*}} step 64 iter_args(%[[OLD:.*]] = %
// CHECK:             %[[B_STAGE:.*]], %[[B:.*]], %[[SB:.*]] = mxgpu.consumer_wait %in_b : ![[$IN_B]]
// CHECK:             mxgpu.load_fragment_scales %[[SB]]
// CHECK:             %[[CODES:.*]] = mxgpu.load_fragment %[[B]] at[%c0, %c0] : {{.*}} -> ![[$CODES]]
// CHECK:             %[[B0:.*]] = mxgpu.dequantize_fragment %[[CODES]] by %{{.*}} block(32) : {{.*}} -> ![[$B]]
// CHECK:             %[[A_STAGE:.*]], %[[A:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK:             %[[A0:.*]] = mxgpu.load_fragment %[[A]] at[%c0, %c0] : {{.*}} -> ![[$A]]
// CHECK:             %[[SUM:.*]] = mxgpu.mma #mxgpu.mma_sync<f16, m = 32, n = 128, column_warps = 4> %[[A0]], %[[B0]] into %[[OLD]]
// CHECK:             mxgpu.dequantize_fragment
// CHECK:             mxgpu.mma {{.*}} into %[[SUM]]
// CHECK:             mxgpu.consumer_release %[[B_STAGE]]
// CHECK:             mxgpu.consumer_release %[[A_STAGE]]
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK-NOT:     mxgpu.role
!x = memref<256x512xbf16>
!w = memref<256x512xf4E2M1FN>
!s = memref<2x4x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
func.func @dense(%x: !x, %w: !w, %s: !s, %y: !y) {
  mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [32, 128, 64], stages = 2, strategy = #mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>>}
  return
}
