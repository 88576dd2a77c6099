// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// The rows of the wgmma instruction are rows of B. The MMA warpgroups load B in the register
// layout of the first wgmma operand and dequantize it in registers. A is bf16 and stays in shared
// memory. Accumulators are relabeled, and each thread stores two adjacent columns of the result.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<16x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>
// CHECK-DAG: ![[$IN_B:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (b: smem<128x32xi8, sw32>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: #[[$LOAD:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 2 rows, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 1 row, 2: 8 columns, 4: 16 columns]>
// CHECK-DAG: #[[$OPERAND:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>
// CHECK-DAG: #[[$SUMS:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>
// CHECK-DAG: #[[$RESULT:.*]] = #mxgpu.fragment_layout<threads = [4: 2 rows, 8: 2 columns, 4: 16 columns, 2: 64 columns], values = [2: 1 row, 2: 1 column, 2: 8 rows]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<128x64xf4E2M1FN, #[[$LOAD]]>
// CHECK-DAG: ![[$WEIGHTS:.*]] = !mxgpu.fragment<128x64xbf16, #[[$OPERAND]]>
// CHECK-DAG: ![[$OF_B:.*]] = !mxgpu.fragment<128x16xf32, #[[$SUMS]]>
// CHECK-DAG: ![[$OF_A:.*]] = !mxgpu.fragment<16x128xf32, #[[$RESULT]]>

// CHECK-LABEL: mxgpu.kernel @dense_matmul(
// CHECK-NOT:     mxgpu.ring "operands"
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:           %[[ZERO:.*]] = mxgpu.zero_fragment : ![[$OF_B]]
// CHECK:           %[[ALL:.*]] = mxgpu.for_each_k ({{.*}}) from %{{.*}} to %{{.*}} step 64 iter_args(%[[SUM:.*]] = %[[ZERO]] : ![[$OF_B]]) {
// CHECK:             %[[B_STAGE:.*]], %[[B:.*]], %[[SFB:.*]] = mxgpu.consumer_wait %in_b : ![[$IN_B]]
// CHECK:             %[[CODES:.*]] = mxgpu.load_fragment %[[B]] {{.*}} -> ![[$TILE]]
// CHECK:             %[[SCALES:.*]] = mxgpu.load_fragment_scales %[[SFB]]
// CHECK:             %[[NUMBERS:.*]] = mxgpu.dequantize_fragment %[[CODES]] by %[[SCALES]]
// CHECK:             %[[W:.*]] = mxgpu.relabel_fragment %[[NUMBERS]] : {{.*}} -> ![[$WEIGHTS]]
// CHECK-NEXT:        %[[STAGE:.*]], %[[X:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK-NEXT:        %[[STARTED:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 16, k = 16, warpgroups = 2> %[[W]], %[[X]] into %[[SUM]]
// CHECK-NEXT:        mxgpu.consumer_release %[[B_STAGE]]
// CHECK-NEXT:        %[[NEXT:.*]] = mxgpu.mma_wait %[[STARTED]] pending(0)
// CHECK-NEXT:        mxgpu.consumer_release %[[STAGE]]
// CHECK:             mxgpu.yield %[[NEXT]]
// CHECK:           mxgpu.relabel_fragment %[[ALL]] : ![[$OF_B]] -> ![[$OF_A]]
// CHECK:           mxgpu.store_fragment {{.*}} aligned(4) : vector<2xbf16>, memref<16x128xbf16>
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK-NOT:     mxgpu.role
!x = memref<16x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<16x128xbf16>
#schedule = #mxgpu.schedule<tile = [16, 128, 64], stages = 4, strategy = #mxgpu.wgmma_swap_ab>
func.func @dense(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// With two B matrices, a thread holds the same row of both matrices, and therefore both sums for
// its result columns. A larger reduction step reads several panels of A.
// CHECK-DAG: !mxgpu.ring<2 x (a: smem<2x32x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(512)>
// CHECK-DAG: #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 8 rows, 4: 32 rows], values = [2: 1 column, 2: 128 rows, 2: 8 columns, 8: 16 columns]>
// CHECK-DAG: #[[$BOTH:.*]] = #mxgpu.fragment_layout<threads = [4: 2 rows, 8: 1 column, 4: 8 columns, 4: 32 columns], values = [2: 1 row, 2: 128 columns, 4: 8 rows]>
// CHECK-DAG: #[[$ONE:.*]] = #mxgpu.fragment_layout<threads = [4: 2 rows, 8: 1 column, 4: 8 columns, 4: 32 columns], values = [2: 1 row, 4: 8 rows]>
// CHECK-DAG: ![[$SUMS:.*]] = !mxgpu.fragment<32x256xf32, #[[$BOTH]]>
// CHECK-DAG: ![[$PART:.*]] = !mxgpu.fragment<32x128xf32, #[[$ONE]]>
// CHECK-LABEL: mxgpu.kernel @parts_grouped_matmul(
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK:         mxgpu.mma #mxgpu.wgmma<m = 256, n = 32, k = 16, warpgroups = 4>
// CHECK:         mxgpu.extract_columns %[[ALL:.*]] at(%[[C0]]) : ![[$SUMS]] -> ![[$PART]]
// CHECK:         mxgpu.extract_columns %[[ALL]] at(%[[C128]]) : ![[$SUMS]] -> ![[$PART]]
// CHECK:         mxgpu.role @load
// CHECK:           %[[STAGE:.*]], %[[A:.*]] = mxgpu.producer_acquire %in :
// CHECK:           mxgpu.tma_load %{{.*}} into %[[A]] box(%[[C0]])
// CHECK:           mxgpu.tma_load %{{.*}} into %[[A]] box(%{{.*}})
!x = memref<?x512xbf16>
!w = memref<4x256x512xf8E4M3FN>
!ws = memref<4x2x4x32x4x4xf8E8M0FNU>
!y = memref<?x128xf32>
#schedule = #mxgpu.schedule<tile = [32, 256, 128], stages = 2, strategy = #mxgpu.wgmma_swap_ab>
func.func @parts(%x: !x, %w: !w, %ws: !ws, %o: memref<4xi32>, %y: !y) {
  mx.grouped_matmul ragged = rows ins(%x, %w, %ws : !x, !w, !ws)
      offsets(%o : memref<4xi32>) outs(%y : !y) num_b = 2 {mxgpu.schedule = #schedule} epilogue {
    ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
      %v = arith.mulf %gate, %up : f32
      mx.yield %v : f32
    }
  return
}

// -----

// With many rows, a step of the reduction consists of two parts. The MMA of one part overlaps the
// dequantization of the next part. The stage is released after the MMAs of both parts.
// CHECK-LABEL: mxgpu.kernel @high_matmul(
// CHECK:         mxgpu.for_each_k
// CHECK:           %[[CODES:.*]] = mxgpu.load_fragment
// CHECK:           mxgpu.extract_columns %[[CODES]] at(%c0)
// CHECK:           vector.extract_strided_slice %{{.*}} {offsets = [0, 0], sizes = [2, 2]
// CHECK:           mxgpu.dequantize_fragment
// CHECK:           %[[STAGE:.*]], %[[X:.*]] = mxgpu.consumer_wait %in :
// CHECK:           %[[FIRST:.*]] = mxgpu.mma {{.*}}, %[[X]] column(0) into
// CHECK-NEXT:      mxgpu.mma_wait %[[FIRST]] pending(1)
// CHECK:           mxgpu.extract_columns %[[CODES]] at(%c64)
// CHECK:           %[[SECOND:.*]] = mxgpu.mma {{.*}}, %[[X]] column(64) into
// CHECK-NEXT:      mxgpu.consumer_release
// CHECK-NEXT:      mxgpu.mma_wait %[[SECOND]] pending(0)
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE]] :
!x = memref<256x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<256x128xbf16>
func.func @high(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 4, strategy = #mxgpu.wgmma_swap_ab>}
  return
}
