// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --mxgpu-assign-warps --canonicalize --cse | FileCheck %s

// TMA loads both operands into separate rings. The MMA warpgroups dequantize A
// in registers. Another warpgroup dequantizes B into a third ring, which wgmma
// reads.

// CHECK-DAG: ![[$A_MAP:map[0-9]*]] = !mxgpu.tensor_map<128x64xf8E4M3FN>
// CHECK-DAG: ![[$B_MAP:map[0-9]*]] = !mxgpu.tensor_map<128x64xf8E4M3FN, sw64>
// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (a: smem<128x64xf8E4M3FN>, sfa: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: ![[$IN_B:bulk_copy_ring[0-9]*]] = !mxgpu.ring<2 x (b: smem<128x64xf8E4M3FN, sw64>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(128)>
// CHECK-DAG: ![[$OPERANDS:threads_ring[0-9]*]] = !mxgpu.ring<3 x (b: smem<128x64xbf16, sw128>), producer = threads(128), consumer = async_threads(256)>

// A thread reads 16 adjacent elements of each of its rows of A. wgmma uses them as 2 of every 8
// elements, alternating between two rows. A dequantizing thread holds one row of B and writes it in
// the same order.
// CHECK-DAG: #[[$A_LOADED:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [4: 16 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 2 columns, 4: 4 columns, 2: 8 rows]>
// CHECK-DAG: #[[$A_ORDER:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [4: 16 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 2: 2 columns, 4: 4 columns]>
// CHECK-DAG: #[[$A_TAKEN:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>
// CHECK-DAG: #[[$B_LOADED:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>
// CHECK-DAG: #[[$B_STORED:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [2: 1 row, 4: 8 rows, 4: 2 rows, 4: 32 rows], values = [2: 1 column, 2: 8 columns, 4: 16 columns, 4: 2 columns]>
// The columns of the accumulator follow the order of B, so a thread holds 8 adjacent columns of
// every 32.
// CHECK-DAG: #[[$SUMS:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// CHECK-DAG: #[[$RESULT:layout[0-9]*]] = #mxgpu.fragment_layout<threads = [4: 8 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 4: 2 columns, 4: 32 columns]>
// CHECK-DAG: ![[$NARROW_A:.*]] = !mxgpu.fragment<128x64xf8E4M3FN, #[[$A_LOADED]]>
// CHECK-DAG: ![[$WIDE_A:.*]] = !mxgpu.fragment<128x64xbf16, #[[$A_ORDER]]>
// CHECK-DAG: ![[$OPERAND_A:.*]] = !mxgpu.fragment<128x64xbf16, #[[$A_TAKEN]]>
// CHECK-DAG: ![[$WIDE_B:.*]] = !mxgpu.fragment<128x64xbf16, #[[$B_LOADED]]>
// CHECK-DAG: ![[$OPERAND_B:.*]] = !mxgpu.fragment<128x64xbf16, #[[$B_STORED]]>
// CHECK-DAG: ![[$SUM:.*]] = !mxgpu.fragment<128x128xf32, #[[$SUMS]]>
// CHECK-DAG: ![[$Y:.*]] = !mxgpu.fragment<128x128xf32, #[[$RESULT]]>

// CHECK:       mxgpu.kernel @main_matmul(%a_map: ![[$A_MAP]], %b_map: ![[$B_MAP]], %sfa_map: {{.*}}, %sfb_map: {{.*}}, %result: memref<256x256xbf16>)
// CHECK:         mxgpu.role @multiply warps(8) {
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             %[[ZERO:.*]] = mxgpu.zero_fragment : ![[$SUM]]
// CHECK:             %[[ALL:.*]] = mxgpu.for_each_k (%k, %{{.*}}, %{{.*}}) from %start to %end step 64 iter_args(%[[OLD:.*]] = %[[ZERO]] : ![[$SUM]]) {
// CHECK-NEXT:          %[[STAGE:.*]], %a, %sfa = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK:               %[[CODES:.*]] = mxgpu.load_fragment %a at[%c0, %c0] : {{.*}} -> ![[$NARROW_A]]
// A scale tile covers 128 elements.
// CHECK:               %[[WITHIN:.*]] = arith.remui %k, %c128
// CHECK:               %[[BLOCK:.*]] = arith.divui %[[WITHIN]], %c32
// CHECK:               %[[SCALES:.*]] = mxgpu.load_fragment_scales %sfa at[%c0, %[[BLOCK]]] block(32)
// CHECK:               %[[WIDE:.*]] = mxgpu.dequantize_fragment %[[CODES]] by %[[SCALES]] block(32) : {{.*}} -> ![[$WIDE_A]]
// CHECK:               %[[A:.*]] = mxgpu.relabel_fragment %[[WIDE]] : ![[$WIDE_A]] -> ![[$OPERAND_A]]
// CHECK-NEXT:          %[[TILE:.*]], %b = mxgpu.consumer_wait %operands : ![[$OPERANDS]]
// CHECK-NEXT:          %[[STARTED:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %[[A]], %b into %[[OLD]]
// CHECK-NEXT:          mxgpu.consumer_release %[[STAGE]]
// CHECK-NEXT:          %[[SUM:.*]] = mxgpu.mma_wait %[[STARTED]] pending(0)
// CHECK-NEXT:          mxgpu.consumer_release %[[TILE]]
// CHECK:               mxgpu.yield %[[SUM]]
// CHECK:             %[[Y:.*]] = mxgpu.relabel_fragment %[[ALL]] : ![[$SUM]] -> ![[$Y]]
// CHECK:             mxgpu.extract_columns %[[Y]] at
// CHECK:             mxgpu.store_fragment {{.*}}aligned(16) : vector<8xbf16>

// CHECK:         mxgpu.role @dequantize warps(4) {
// CHECK:           %[[THREAD:.*]] = mxgpu.thread_id
// The thread number is changed so that eight lanes access eight rows in different banks.
// CHECK:           %[[MOVED:.*]] = arith.xori %[[THREAD]],
// CHECK:             mxgpu.for_each_k
// CHECK-NEXT:          %[[STAGE:.*]], %b, %sfb = mxgpu.consumer_wait %in_b : ![[$IN_B]]
// CHECK:               %[[CODES:.*]] = mxgpu.load_fragment %b at[%c0, %c0] thread(%[[MOVED]])
// CHECK:               %[[SCALES:.*]] = mxgpu.load_fragment_scales %sfb at[%c0, %{{.*}}] thread(%[[MOVED]]) block(32)
// CHECK:               %[[WIDE:.*]] = mxgpu.dequantize_fragment %[[CODES]] by %[[SCALES]] block(32) : {{.*}} -> ![[$WIDE_B]]
// CHECK:               %[[B:.*]] = mxgpu.relabel_fragment %[[WIDE]] : ![[$WIDE_B]] -> ![[$OPERAND_B]]
// CHECK-NEXT:          %[[FILLED:.*]], %[[TO:.*]] = mxgpu.producer_acquire %operands : ![[$OPERANDS]]
// CHECK-NEXT:          mxgpu.store_shared %[[B]], %[[TO]] thread(%[[MOVED]])
// CHECK-NEXT:          mxgpu.producer_commit %[[FILLED]]
// CHECK-NEXT:          mxgpu.consumer_release %[[STAGE]]

// CHECK:         mxgpu.role @load warps(1) elected {
// CHECK:             mxgpu.for_each_k
// CHECK:               %[[KTILE:.*]] = arith.divui %k, %c128
// CHECK-NEXT:          %[[STAGE:.*]], %a, %sfa = mxgpu.producer_acquire %in : ![[$IN]]
// CHECK:               mxgpu.tma_load %a_map[%row, %k] into %a for %[[STAGE]]
// CHECK:               mxgpu.tma_load %sfa_map[%{{.*}}, %[[KTILE]]] into %sfa for %[[STAGE]]
// CHECK-NEXT:          mxgpu.producer_commit %[[STAGE]]
// CHECK-NEXT:          %[[STAGE:.*]], %b, %sfb = mxgpu.producer_acquire %in_b : ![[$IN_B]]
// CHECK:               mxgpu.tma_load %b_map[%column, %k] into %b for %[[STAGE]]
// CHECK:               mxgpu.tma_load %sfb_map[%{{.*}}, %[[KTILE]]] into %sfb for %[[STAGE]]
// CHECK-NEXT:          mxgpu.producer_commit %[[STAGE]]
// CHECK:         mxgpu.assign_warps @multiply from 0 registers(200)
// CHECK-NEXT:    mxgpu.assign_warps @dequantize from 8 registers(72)
// CHECK-NEXT:    mxgpu.assign_warps @load from 12 registers(40)
!a = memref<256x128xf8E4M3FN>
!s = memref<2x1x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
func.func @main(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<operand_stages = 3>, registers = [200, 72, 40]>}
  return
}

// -----

// Each warpgroup has two row blocks. The kernel is not pipelined, because mxgpu-pipeline-mmas later
// overlaps the wgmma of one block with the dequantization of the other.

// CHECK-LABEL: mxgpu.kernel @blocks_matmul(
// CHECK:           %[[ALL:.*]]:2 = mxgpu.for_each_k {{.*}} iter_args(%[[SUM0:[^ ]+]] = %[[ZERO:[^ ]+]] : {{[^,]*}}, %[[SUM1:[^ ]+]] = %[[ZERO]] : {{.*}}) {
// CHECK:               %[[CODES:.*]] = mxgpu.load_fragment %a
// CHECK:               %[[SCALES:.*]] = mxgpu.load_fragment_scales %sfa
// CHECK:               %[[CODES0:.*]] = mxgpu.extract_rows %[[CODES]][0]
// CHECK:               %[[SCALES0:.*]] = vector.extract_strided_slice %[[SCALES]] {offsets = [0, 0], sizes = [2, 1], strides = [1, 1]}
// CHECK:               %[[WIDE0:.*]] = mxgpu.dequantize_fragment %[[CODES0]] by %[[SCALES0]]
// CHECK:               %[[A0:.*]] = mxgpu.relabel_fragment %[[WIDE0]]
// CHECK-NEXT:          %[[TILE:.*]], %b = mxgpu.consumer_wait %operands
// CHECK-NEXT:          %[[STARTED0:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %[[A0]], %b into %[[SUM0]]
// CHECK-NEXT:          %[[DONE0:.*]] = mxgpu.mma_wait %[[STARTED0]] pending(0)
// CHECK:               %[[CODES1:.*]] = mxgpu.extract_rows %[[CODES]][1]
// CHECK:               %[[STARTED1:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %{{.*}}, %b into %[[SUM1]]
// CHECK-NEXT:          mxgpu.consumer_release %in_stage :
// CHECK-NEXT:          %[[DONE1:.*]] = mxgpu.mma_wait %[[STARTED1]] pending(0)
// CHECK-NEXT:          mxgpu.consumer_release %[[TILE]] :
// CHECK:               mxgpu.yield %[[DONE0]], %[[DONE1]]
// CHECK:             mxgpu.concat_rows %[[ALL]]#0, %[[ALL]]#1
!a = memref<256x128xf8E4M3FN>
!s = memref<2x1x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
func.func @blocks(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2>}
  return
}

// -----

// Tiles of 64 rows or columns may start within a scale tile. If a reduction ends within a tile, the
// number of valid blocks is passed, because scales past these blocks may be NaN.

// CHECK-LABEL: mxgpu.kernel @low_matmul(
// CHECK:         mxgpu.role @multiply warps(4)
// CHECK:             %[[BLOCKS:.*]] = arith.divui %extent, %c16
// CHECK:             mxgpu.load_fragment_scales %sfa at[%[[ROW:.*]], %{{.*}}] extent(%[[BLOCKS]]) block(16)
// CHECK:             mxgpu.mma #mxgpu.wgmma<n = 64, k = 16>
// CHECK:         mxgpu.role @dequantize warps(4)
// CHECK:             mxgpu.load_fragment_scales %sfb at[%{{.*}}, %{{.*}}] extent(%{{.*}}) thread(%{{.*}}) block(16)
!a = memref<256x96xf4E2M1FN>
!s = memref<2x2x32x4x4xf8E4M3FN>
!y = memref<256x256xf32>
func.func @low(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y) block_size = 16
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], stages = 2>}
  return
}

// -----

// All threads of a CTA join the words of A and B after the previous kernels. If all are 0, there are no work tiles. Each
// role tests the words of a tile, whose reduction may be empty.

// CHECK-LABEL: mxgpu.kernel @wide_matmul(
// CHECK-SAME:    %[[A_WORDS:[^:]*]]: memref<8xi32>, %[[B_WORDS:[^:]*]]: memref<8xi32>) {{.*}} pdl>
// CHECK:         mxgpu.wait_dependencies
// CHECK-COUNT-4: memref.load %[[A_WORDS]]
// CHECK-COUNT-4: memref.load %[[B_WORDS]]
// CHECK:         %[[ANY:.*]] = gpu.all_reduce or %{{.*}} uniform
// CHECK:         %[[COLUMNS:.*]] = arith.select %[[ANY]], %c256, %c0
// CHECK:         mxgpu.tile_scheduler static {{.*}} of(%c256, %[[COLUMNS]],
// CHECK:         mxgpu.role @multiply
// CHECK:             %[[IS_NARROW:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK:             %[[END:.*]] = arith.select %[[IS_NARROW]], %{{.*}}, %{{.*}}
// CHECK:             mxgpu.for_each_k {{.*}} to %[[END]]
!a = memref<256x128xf8E4M3FN>
!s = memref<2x1x32x4x4xf8E8M0FNU>
!y = memref<256x256xf32>
func.func @wide(%a: !a, %as: !s, %b: !a, %bs: !s, %r: memref<8xi32>, %t: memref<8xi32>, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) where wide(%r, %t : memref<8xi32>, memref<8xi32>) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 2, epilogue = direct>}
  return
}
