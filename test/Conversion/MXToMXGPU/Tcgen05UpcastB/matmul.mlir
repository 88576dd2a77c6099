// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --mxgpu-assign-warps --canonicalize --cse | FileCheck %s

// tcgen05.mma with kind::f16 reads bf16 activations from the buffers of the copy engine. Threads
// dequantize weights from one ring to another, row by row, so the tensor core needs no scales.
// Accumulators are in tensor memory.

// CHECK-DAG: ![[$MAP:map[0-9]*]] = !mxgpu.tensor_map<128x64xbf16, sw128>
// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = mma_commit>
// CHECK-DAG: ![[$IN_B:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (b: smem<128x32xi8, sw32>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: ![[$OPERANDS:threads_ring[0-9]*]] = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = threads(256), consumer = mma_commit>
// CHECK-DAG: ![[$ACC:mma_commit_ring[0-9]*]] = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
// CHECK-DAG: #[[$ROWS:.*]] = #mxgpu.fragment_layout<threads = [128: 1 row, 2: 32 columns], values = [32: 1 column]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<128x64xbf16, #[[$ROWS]]>

// CHECK-LABEL: func.func @dense(
// CHECK:         %[[A:.*]] = mxgpu.encode_tensor_map %{{.*}} : memref<256x512xbf16> -> ![[$MAP]]
// CHECK:         mxgpu.launch @kernels::@dense_matmul grid(%{{.*}}) args(%[[A]], %{{[^ ,]*}}, %{{[^ ,]*}}, %{{[^ ,]*}} :
// CHECK:         mxgpu.kernel @dense_matmul(%[[AMAP:.*]]: ![[$MAP]], %{{.*}}, %{{.*}}, %{{.*}}: memref<256x128xbf16>)
// CHECK:           mxgpu.role @epilogue warps(4)
// CHECK:               mxgpu.consumer_wait %acc : ![[$ACC]]
// CHECK:               mxgpu.load_accumulator
// CHECK:           mxgpu.role @dequantize warps(8)
// CHECK:               mxgpu.consumer_wait %in_b : ![[$IN_B]]
// CHECK:               %[[NUMBERS:.*]] = mxgpu.dequantize_fragment %{{.*}} -> ![[$TILE]]
// CHECK-NEXT:          %[[FILLED:.*]], %[[TO:.*]] = mxgpu.producer_acquire %operands : ![[$OPERANDS]]
// CHECK-NEXT:          mxgpu.store_shared %[[NUMBERS]], %[[TO]]
// CHECK:           mxgpu.role @load warps(1) elected
// CHECK:               mxgpu.tma_load %[[AMAP]][%row, %k]
// CHECK-NOT:           sfa
// CHECK:           mxgpu.role @mma warps(1) elected
// CHECK:               %[[SUMS_STAGE:.*]], %[[SUMS:.*]] = mxgpu.producer_acquire %acc : ![[$ACC]]
// CHECK:               %[[STAGE:.*]], %[[X:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK-NEXT:          %[[OPERAND_STAGE:.*]], %[[W:.*]] = mxgpu.consumer_wait %operands : ![[$OPERANDS]]
// CHECK:               %[[MORE:.*]] = arith.xori %first
// CHECK-NEXT:          mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 128> %[[X]], %[[W]] into %[[SUMS]] accumulate(%[[MORE]]) :
// CHECK-NEXT:          mxgpu.consumer_release %[[OPERAND_STAGE]]
// CHECK-NEXT:          mxgpu.consumer_release %[[STAGE]]
// CHECK:         mxgpu.assign_warps @epilogue from 0 registers(168)
// CHECK-NEXT:    mxgpu.assign_warps @dequantize from 4 registers(128)
// CHECK-NEXT:    mxgpu.assign_warps @load from 12 registers(88)
// CHECK-NEXT:    mxgpu.assign_warps @mma from 13 registers(88)
!x = memref<256x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<256x128xbf16>
#schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2>, epilogue = direct, registers = [168, 128, 88]>
func.func @dense(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// Narrow tiles may start within a scale tile, and one warpgroup dequantizes them.
// CHECK-LABEL: mxgpu.kernel @rows_grouped_matmul(
// CHECK:         mxgpu.role @dequantize warps(4)
// CHECK:           %[[ROW:.*]] = arith.remui %column, %c128
// CHECK:           mxgpu.load_fragment_scales %{{.*}} at[%[[ROW]], %{{.*}}]
// CHECK:         mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 64>
!x = memref<?x512xbf16>
!w = memref<4x256x512xf8E4M3FN>
!ws = memref<4x2x4x32x4x4xf8E8M0FNU>
!y = memref<?x256xf32>
#schedule = #mxgpu.schedule<tile = [128, 64, 64], stages = 3, epilogue = direct>
func.func @rows(%x: !x, %w: !w, %ws: !ws, %o: memref<4xi32>, %y: !y) {
  mx.grouped_matmul ragged = rows ins(%x, %w, %ws : !x, !w, !ws)
      offsets(%o : memref<4xi32>) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// Each CTA of a pair converts half of B with the scales of its own rows. The instruction of the
// pair reads both halves.
// CHECK-DAG: !mxgpu.ring<{{.*}} x (a: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = mma_commit, scope = pair>
// CHECK-DAG: !mxgpu.ring<{{.*}} x (b: smem<128x64xf8E4M3FN, sw64>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: !mxgpu.ring<{{.*}} x (b: smem<128x64xbf16, sw128>), producer = threads(256), consumer = mma_commit, scope = pair>
// CHECK-LABEL: mxgpu.kernel @pair_matmul(
// CHECK:         %[[RANK:.*]] = mxgpu.cta_rank
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:           %[[ROWS:.*]] = arith.muli %[[RANK]], %c128
// CHECK:           %[[FIRST:.*]] = arith.addi %column, %[[ROWS]]
// CHECK:           %[[TILE:.*]] = arith.addi %{{.*}}, %[[RANK]]
// CHECK:           mxgpu.tma_load %{{.*}}[%[[FIRST]], %k] into %b
// CHECK:           mxgpu.tma_load %{{.*}}[%[[TILE]], %{{.*}}] into %sfb for %in_b_stage : !map{{[0-9]*}}, !smem{{[0-9]*}}, !bulk_copy_stage{{[0-9]*}}
// CHECK:         mxgpu.role @mma warps(1) elected on_leader
// CHECK:           mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 256, n = 256, ctas = 2>
!x = memref<512x512xbf16>
!w = memref<512x512xf8E4M3FN>
!ws = memref<4x4x32x4x4xf8E8M0FNU>
!y = memref<512x512xbf16>
#schedule = #mxgpu.schedule<tile = [256, 256, 64], stages = 4, strategy = #mxgpu.tcgen05_upcast_b<ctas = 2>, epilogue = direct>
func.func @pair(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// Each 6-bit element is loaded as a byte, although the tensor core could read packed elements.
// CHECK-DAG: !mxgpu.tensor_map<256x64xi8, sw64>
// CHECK-LABEL: func.func @six(
// CHECK-NOT:     mxgpu.launch @{{.*}}pack
// CHECK-LABEL: mxgpu.kernel @six_matmul(
// CHECK:         mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 256>
!x = memref<256x512xbf16>
!w = memref<256x512xf6E3M2FN>
!ws = memref<2x4x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
#schedule = #mxgpu.schedule<tile = [128, 256, 64], stages = 2, epilogue = direct>
func.func @six(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}
