// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// With wgmma_upcast_a, the MMA warps load A in the register layout of wgmma and dequantize it in
// registers. B is bf16 and is read from shared memory. Accumulators keep the layout of the result.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<128x64xf8E4M3FN, sw64>, sfa: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: ![[$IN_B:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (b: smem<96x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>
// CHECK-DAG: #[[$OPERAND:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>
// CHECK-DAG: #[[$SUMS:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 12: 8 columns]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<128x64xf8E4M3FN, #[[$OPERAND]]>
// CHECK-DAG: ![[$NUMBERS:.*]] = !mxgpu.fragment<128x64xbf16, #[[$OPERAND]]>
// CHECK-DAG: ![[$ALL:.*]] = !mxgpu.fragment<128x96xf32, #[[$SUMS]]>

// CHECK-LABEL: mxgpu.kernel @dense_matmul(
// CHECK-NOT:     sfb
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:           %[[ZERO:.*]] = mxgpu.zero_fragment : ![[$ALL]]
// CHECK:           mxgpu.for_each_k ({{.*}}) from %{{.*}} to %{{.*}} step 64 iter_args(%[[SUM:.*]] = %[[ZERO]] : ![[$ALL]]) {
// CHECK:             %[[STAGE:.*]], %[[A:.*]], %[[SFA:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK:             %[[CODES:.*]] = mxgpu.load_fragment %[[A]] {{.*}} -> ![[$TILE]]
// CHECK:             %[[SCALES:.*]] = mxgpu.load_fragment_scales %[[SFA]]
// CHECK:             %[[X:.*]] = mxgpu.dequantize_fragment %[[CODES]] by %[[SCALES]] block(32) : {{.*}} -> ![[$NUMBERS]]
// CHECK-NEXT:        %[[B_STAGE:.*]], %[[B:.*]] = mxgpu.consumer_wait %in_b : ![[$IN_B]]
// CHECK-NEXT:        %[[STARTED:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 96, k = 16, warpgroups = 2> %[[X]], %[[B]] into %[[SUM]]
// CHECK-NEXT:        mxgpu.consumer_release %[[STAGE]]
// CHECK-NEXT:        %[[NEXT:.*]] = mxgpu.mma_wait %[[STARTED]] pending(0)
// CHECK-NEXT:        mxgpu.consumer_release %[[B_STAGE]]
// CHECK:             mxgpu.yield %[[NEXT]]
// CHECK:           mxgpu.store_fragment
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK-NOT:     mxgpu.role
!a = memref<128x512xf8E4M3FN>
!as = memref<1x4x32x4x4xf8E8M0FNU>
!b = memref<96x512xbf16>
!y = memref<128x96xbf16>
#schedule = #mxgpu.schedule<tile = [128, 96, 64], stages = 4, strategy = #mxgpu.wgmma_upcast_a>
func.func @dense(%a: !a, %as: !as, %b: !b, %y: !y) {
  mx.matmul ins(%a, %as, %b : !a, !as, !b) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// With many columns, a step of the reduction consists of two parts. With permuted B, a thread holds 16
// adjacent elements of every 64 elements of A. The scales of an expert group begin at a tile boundary.
// CHECK-DAG: #[[$LOAD:.*]] = #mxgpu.fragment_layout<threads = [4: 16 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 8: 2 columns, 2: 64 columns, 2: 8 rows]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<128x128xf4E2M1FN, #[[$LOAD]]>
// CHECK-LABEL: mxgpu.kernel @rows_grouped_matmul(
// CHECK:         mxgpu.load_fragment {{.*}} -> ![[$TILE]]
// CHECK:         mxgpu.mma #mxgpu.wgmma<m = 128, n = 256, k = 16, warpgroups = 2> {{.*}} column(0)
// CHECK:         mxgpu.mma #mxgpu.wgmma<m = 128, n = 256, k = 16, warpgroups = 2> {{.*}} column(64)
// CHECK:         mxgpu.role @load
// CHECK:           %[[TILE:.*]] = arith.divui %row, %c128
// CHECK:           arith.addi %[[TILE]], %group
!a = memref<?x512xf4E2M1FN>
!as = memref<?x4x32x4x4xf8E8M0FNU>
!w = memref<4x768x512xbf16>
!b = memref<4x768x512xbf16>
!y = memref<?x768xbf16>
#schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 2, strategy = #mxgpu.wgmma_upcast_a<permuted_b = true>>
func.func @rows(%a: !a, %as: !as, %w: !w, %b: !b, %o: memref<4xi32>, %y: !y) {
  mx.pack_operand order = #mxgpu.k_order<64> ins(%w : !w) outs(%b : !b)
  mx.grouped_matmul ragged = rows ins(%a, %as, %b : !a, !as, !b)
      offsets(%o : memref<4xi32>) outs(%y : !y) b_order = #mxgpu.k_order<64> {mxgpu.schedule = #schedule}
  return
}
