// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// wgmma reads bf16 activations from the buffers of the copy engine. Weights are
// dequantized from one ring to another, in the order of the reduction.

// CHECK-DAG: ![[$MAP:map[0-9]*]] = !mxgpu.tensor_map<128x64xbf16, sw128>
// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>
// CHECK-DAG: ![[$IN_B:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (b: smem<128x32xi8, sw32>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(128)>
// CHECK-DAG: ![[$OPERANDS:threads_ring[0-9]*]] = !mxgpu.ring<{{.*}} x (b: smem<128x64xbf16, sw128>), producer = threads(128), consumer = async_threads(256)>
// CHECK-DAG: #[[$STORED:.*]] = #mxgpu.fragment_layout<threads = [2: 1 row, 4: 8 rows, 4: 2 rows, 4: 32 rows], values = [64: 1 column]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<128x64xbf16, #[[$STORED]]>

// CHECK-LABEL: func.func @dense(
// CHECK:         %[[A:.*]] = mxgpu.encode_tensor_map %{{.*}} : memref<256x512xbf16> -> ![[$MAP]]
// CHECK:         mxgpu.launch @kernels::@dense_matmul grid(%{{.*}}) args(%[[A]], %{{[^ ,]*}}, %{{[^ ,]*}}, %{{[^ ,]*}} :
// CHECK:         mxgpu.kernel @dense_matmul(%[[AMAP:.*]]: ![[$MAP]], %{{.*}}, %{{.*}}, %{{.*}}: memref<256x128xbf16>)
// CHECK:           mxgpu.role @multiply warps(8)
// CHECK:               %[[STAGE:.*]], %[[X:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK-NEXT:          %[[TILE:.*]], %[[W:.*]] = mxgpu.consumer_wait %operands : ![[$OPERANDS]]
// CHECK-NEXT:          %[[THREAD:.*]] = mxgpu.thread_id
// CHECK-NEXT:          mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %[[X]], %[[W]] into %{{.*}} thread(%[[THREAD]])
// CHECK-NEXT:          mxgpu.mma_wait
// CHECK:           mxgpu.role @dequantize warps(4)
// CHECK:               mxgpu.dequantize_fragment
// CHECK-NEXT:          %[[NATURAL:.*]] = mxgpu.relabel_fragment %{{.*}} -> ![[$TILE]]
// CHECK:               mxgpu.store_shared %[[NATURAL]]
// CHECK:           mxgpu.role @load warps(1) elected
// CHECK:               mxgpu.tma_load %[[AMAP]][%row, %k]
// CHECK-NOT:           sfa
!x = memref<256x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<256x128xbf16>
#schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, epilogue = direct>
func.func @dense(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// Expert groups may begin at any row. Activations have no scale tiles, so a work tile may have
// a small M, which leaves room for more dequantizing threads.
// CHECK-LABEL: mxgpu.kernel @rows_grouped_matmul(
// CHECK:         mxgpu.mma #mxgpu.wgmma<n = 256, k = 16>
// CHECK:         mxgpu.role @dequantize warps(8)
!x = memref<?x512xbf16>
!w = memref<4x256x512xf8E4M3FN>
!ws = memref<4x2x4x32x4x4xf8E8M0FNU>
!y = memref<?x256xf32>
#schedule = #mxgpu.schedule<tile = [64, 256, 64], stages = 3, epilogue = direct>
func.func @rows(%x: !x, %w: !w, %ws: !ws, %o: memref<4xi32>, %y: !y) {
  mx.grouped_matmul ragged = rows ins(%x, %w, %ws : !x, !w, !ws)
      offsets(%o : memref<4xi32>) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// A warp computes 16 rows of each of two wgmma blocks. These rows are adjacent in the tile, so
// 16-row boxes are loaded in the row order of wgmma.
// CHECK-DAG: !mxgpu.tensor_map<16x64xbf16, sw128>
// CHECK-LABEL: mxgpu.kernel @blocks_matmul(
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK:         %[[STAGE:.*]], %[[A:.*]] = mxgpu.producer_acquire %in :
// CHECK-NEXT:    mxgpu.tma_load %[[MAP:.*]][%row, %k] into %[[A]] box(%{{.*}}) for %[[STAGE]]
// CHECK-NEXT:    %[[R32:.*]] = arith.addi %row, %[[C32]]
// CHECK-NEXT:    mxgpu.tma_load %[[MAP]][%[[R32]], %k] into %[[A]] box(%[[C1]]) for %[[STAGE]]
// CHECK:         %[[R16:.*]] = arith.addi %row, %[[C16]]
// CHECK-NEXT:    mxgpu.tma_load %[[MAP]][%[[R16]], %k] into %[[A]] box(%[[C4]]) for %[[STAGE]]
!x = memref<256x512xbf16>
!w = memref<128x512xf4E2M1FN>
!ws = memref<1x4x32x4x4xf8E8M0FNU>
!y = memref<256x128xbf16>
#schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 3, epilogue = direct>
func.func @blocks(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}
