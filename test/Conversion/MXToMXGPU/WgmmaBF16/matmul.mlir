// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// A matmul of bf16 by bf16 needs a single ring and two roles.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<128x64xbf16, sw128>, b: smem<256x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>

// CHECK-LABEL: mxgpu.kernel @dense_matmul(
// CHECK:         mxgpu.role @multiply warps(8)
// CHECK:             mxgpu.for_each_k
// CHECK-NEXT:          %[[STAGE:.*]], %[[A:.*]], %[[B:.*]] = mxgpu.consumer_wait %in : ![[$IN]]
// CHECK-NEXT:          %[[THREAD:.*]] = mxgpu.thread_id
// CHECK-NEXT:          %[[STARTED:.*]] = mxgpu.mma #mxgpu.wgmma<m = 128, n = 256, k = 16, warpgroups = 2> %[[A]], %[[B]] into %{{.*}} thread(%[[THREAD]])
// CHECK-NEXT:          mxgpu.mma_wait %[[STARTED]] pending(0)
// CHECK-NEXT:          mxgpu.consumer_release %[[STAGE]] :
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:               mxgpu.tma_load %{{.*}}[%row, %k]
// CHECK-NEXT:          mxgpu.tma_load %{{.*}}[%column, %k]
// CHECK-NEXT:          mxgpu.producer_commit
// CHECK-NOT:     mxgpu.role
!x = memref<256x512xbf16>
!w = memref<512x512xbf16>
!y = memref<256x512xbf16>
#schedule = #mxgpu.schedule<tile = [128, 256, 64], stages = 4, epilogue = direct>
func.func @dense(%x: !x, %w: !w, %y: !y) {
  mx.matmul ins(%x, %w : !x, !w) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// Each CTA of a pair loads its own rows of A, and half of B for both CTAs.

// CHECK-DAG: ![[$IN:bulk_copy_ring[0-9]*]] = !mxgpu.ring<4 x (a: smem<128x64xbf16, sw128>, b: smem<256x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256), scope = pair>
// CHECK-DAG: ![[$MAP:map[0-9]*]] = !mxgpu.tensor_map<128x64xbf16, sw128>

// CHECK-LABEL: mxgpu.kernel @pair_matmul(
// CHECK-SAME:    cluster(2)
// CHECK:         %[[RANK:.*]] = mxgpu.cta_rank
// CHECK:         mxgpu.role @load
// CHECK:             %[[ROW:.*]] = arith.addi %row
// CHECK:             %[[COLUMN:.*]] = arith.addi %column
// CHECK:               mxgpu.tma_load %{{.*}}[%[[ROW]], %k] into %{{[^ ]*}} for
// CHECK-NEXT:          mxgpu.tma_load %{{.*}}[%[[COLUMN]], %k] into %{{.*}} box(%[[RANK]]) for %{{.*}} multicast
!x = memref<512x512xbf16>
!w = memref<512x512xbf16>
!y = memref<512x512xbf16>
#schedule = #mxgpu.schedule<tile = [256, 256, 64], stages = 4, strategy = #mxgpu.wgmma_bf16<ctas = 2>, epilogue = direct>
func.func @pair(%x: !x, %w: !w, %y: !y) {
  mx.matmul ins(%x, %w : !x, !w) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}

// -----

// With a single stage, no MMA stays in flight, because the next load needs the same stage.

// CHECK-LABEL: mxgpu.kernel @one_matmul(
// CHECK:         mxgpu.mma_wait %{{.*}} pending(0)
// CHECK-NEXT:    mxgpu.consumer_release %{{[^ ]*}} : 
!x = memref<256x512xbf16>
!w = memref<512x512xbf16>
!y = memref<256x512xbf16>
#schedule = #mxgpu.schedule<tile = [128, 256, 64], stages = 1, epilogue = direct>
func.func @one(%x: !x, %w: !w, %y: !y) {
  mx.matmul ins(%x, %w : !x, !w) outs(%y : !y) {mxgpu.schedule = #schedule}
  return
}
