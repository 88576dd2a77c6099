// RUN: mx-opt %s --mx-peer-stores | FileCheck %s
// RUN: mx-opt %s --mx-peer-stores --convert-mx-to-mxgpu=chip=sm_90a | FileCheck %s --check-prefix=KERNEL
// RUN: mx-opt --mx-to-plan="chip=sm_90a peer-stores=true" --help | FileCheck %s --check-prefix=HELP

// HELP: --peer-stores{{ *}}- let kernels access windows of other ranks, where ranks map them, as mx-peer-stores does

mx.group @ep size = 4 tokens = 16

!x = memref<?x64xbf16>
!e = memref<?x64xf8E4M3FN>
!s = memref<?x2xf8E8M0FNU>
!we = memref<64x64xf8E4M3FN>
!ws = memref<64x2xf8E8M0FNU>
!p = memref<64x64xbf16>

// CHECK-LABEL: func @gather(
// CHECK-SAME: %[[X:.*]]: memref<?x64xbf16>, %[[T:.*]]: index
// CHECK-DAG:   %[[WE:.*]] = mx.window @ep : memref<64x64xf8E4M3FN>
// CHECK-DAG:   %[[WS:.*]] = mx.window @ep : memref<64x2xf8E8M0FNU>
// CHECK:       %[[PEERS:.*]] = mx.peers @ep
// CHECK:       %[[NONE:.*]] = arith.cmpi eq, %[[PEERS]], %{{.*}} : index
// CHECK:       %[[MAPPED:.*]] = arith.xori %[[NONE]], %{{.*}} : i1
// CHECK:       scf.if %[[MAPPED]] {
// CHECK-NEXT:    mx.barrier @ep
// CHECK-NEXT:  }
// CHECK:       %[[TE:.*]] = mx.to_peers @ep %[[WE]][%{{.*}}] : memref<64x64xf8E4M3FN> to memref<?x64xf8E4M3FN>
// CHECK:       %[[TS:.*]] = mx.to_peers @ep %[[WS]][%{{.*}}] : memref<64x2xf8E8M0FNU> to memref<?x2xf8E8M0FNU>
// CHECK:       mx.fused_quantize ins(%[[X]] : memref<?x64xbf16>) outs(%[[TE]], %[[TS]] :
// CHECK-NEXT:  scf.if %[[MAPPED]] {
// CHECK-NEXT:    mx.barrier @ep
// CHECK-NEXT:  } else {
// CHECK-NEXT:    mx.all_gather @ep outs(%[[WE]] : memref<64x64xf8E4M3FN>)
// CHECK-NEXT:    mx.all_gather @ep outs(%[[WS]] : memref<64x2xf8E8M0FNU>)
// CHECK-NEXT:  }
// CHECK-NOT:   mx.all_gather
// CHECK:       return

// The kernel stores a piece and its scale to this rank, then to the next ranks in order.
// KERNEL:       mxgpu.kernel @gather_quantize(%[[IN:.*]]: memref<?x64xbf16>, %[[E:.*]]: memref<?x64xf8E4M3FN>, %[[S:.*]]: memref<?x2xf8E8M0FNU>, %[[PEERS:.*]]: index, %[[RANK:.*]]: index)
// KERNEL:       mxgpu.store_block %[[V:.*]], %[[E]][%[[ROW:.*]], %[[COLUMN:.*]]] :
// KERNEL:       mxgpu.store_scales %[[F:.*]] into %[[S]]
// KERNEL:       scf.for %[[I:.*]] = %c1{{.*}} to %c4{{.*}} step %c1
// KERNEL:         %[[NEXT:.*]] = arith.addi %[[RANK]], %[[I]] : index
// KERNEL:         %[[PEER:.*]] = arith.remui %[[NEXT]], %c4{{.*}} : index
// KERNEL:         %[[PE:.*]] = mxgpu.peer_view %[[E]] of(%[[PEER]]) through(%[[PEERS]]) : memref<?x64xf8E4M3FN>
// KERNEL:         %[[PS:.*]] = mxgpu.peer_view %[[S]] of(%[[PEER]]) through(%[[PEERS]]) : memref<?x2xf8E8M0FNU>
// KERNEL:         mxgpu.store_block %[[V]], %[[PE]][%[[ROW]], %[[COLUMN]]] :
// KERNEL:         mxgpu.store_scales %[[F]] into %[[PS]]
func.func @gather(%x: !x, %t: index) -> (!we, !ws) {
  %e = memref.alloc(%t) : !e
  %s = memref.alloc(%t) : !s
  mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s)
  %we = mx.window @ep : !we
  mx.all_gather @ep ins(%e : !e) outs(%we : !we)
  %ws = mx.window @ep : !ws
  mx.all_gather @ep ins(%s : !s) outs(%ws : !ws)
  return %we, %ws : !we, !ws
}

// CHECK-LABEL: func @sum(
// CHECK-SAME: %[[Z:.*]]: memref<?x64xbf16>,
// CHECK:       %[[SUMS:.*]] = memref.alloc() : memref<64x64xbf16>
// CHECK:       %[[W:.*]] = mx.window @ep : memref<64x64xbf16>
// CHECK:       %[[TO:.*]] = arith.select %[[MAPPED:.*]], %[[W]], %[[SUMS]] : memref<64x64xbf16>
// CHECK:       mx.combine ins(%[[Z]] : {{.*}} outs(%[[TO]] :
// CHECK:       scf.if %[[MAPPED]] {
// CHECK-NEXT:    mx.barrier @ep
// CHECK-NEXT:  } else {
// CHECK-NEXT:    mx.all_to_all @ep ins(%[[SUMS]] : memref<64x64xbf16>) outs(%[[W]] : memref<64x64xbf16>)
// CHECK-NEXT:  }
// CHECK:       %[[FROM:.*]] = mx.from_peers @ep %[[W]] : memref<64x64xbf16>
// CHECK:       mx.combine ins(%[[FROM]] :
// CHECK-NEXT:  scf.if %[[MAPPED]] {
// CHECK-NEXT:    mx.barrier @ep
// CHECK-NEXT:  }
// CHECK-NEXT:  return
func.func @sum(%z: !x, %rows: memref<?xi32>, %tokens: memref<64xi32>, %y: memref<16x64xf32>) {
  %sums = memref.alloc() : !p
  mx.combine ins(%z : !x) rows(%rows : memref<?xi32>) outs(%sums : !p) order = fixed overwrite
  %w = mx.window @ep : !p
  mx.all_to_all @ep ins(%sums : !p) outs(%w : !p)
  mx.combine ins(%w : !p) rows(%tokens : memref<64xi32>) outs(%y : memref<16x64xf32>) order = fixed
  return
}

// The elements are also returned, so the quantizer stores them to this rank's memory only.
// CHECK-LABEL: func @used(
// CHECK-NOT:   mx.peers
// CHECK:       mx.all_gather @ep ins
// CHECK:       mx.all_gather @ep ins
func.func @used(%x: !x, %t: index) -> !e {
  %e = memref.alloc(%t) : !e
  %s = memref.alloc(%t) : !s
  mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s)
  %we = mx.window @ep : !we
  mx.all_gather @ep ins(%e : !e) outs(%we : !we)
  %ws = mx.window @ep : !ws
  mx.all_gather @ep ins(%s : !s) outs(%ws : !ws)
  return %e : !e
}

// The window is read between the quantizer and the collective.
// CHECK-LABEL: func @read_before(
// CHECK-NOT:   mx.peers
// CHECK:       return
func.func @read_before(%x: !x, %t: index, %we: !we, %out: !ws) {
  %e = memref.alloc(%t) : !e
  %s = memref.alloc(%t) : !s
  mx.fused_quantize ins(%x : !x) outs(%e, %s : !e, !s)
  %ws = mx.window @ep : !ws
  memref.copy %ws, %out : !ws to !ws
  %w = mx.window @ep : !we
  mx.all_gather @ep ins(%e : !e) outs(%w : !we)
  mx.all_gather @ep ins(%s : !s) outs(%ws : !ws)
  return
}
