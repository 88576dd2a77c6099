// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: not grep -iE "serializ|warning|[1-9][0-9]* bytes spill" %t.log

// ptxas compiles bf16 matmuls without spills and without serializing the MMAs. A
// pair of CTAs signals empty stages without a GPU-wide fence.

!x = tensor<?x1024xbf16>
!w = tensor<1024x1024xbf16>
!y = tensor<?x1024xbf16>

// CHECK-LABEL: .entry wide_matmul(
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK:       wgmma.wait_group.sync.aligned 1
func.func @wide(%x: !x, %w: !w, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w : !x, !w) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64], epilogue = tma_store>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry pair_matmul(
// CHECK:       .reqnctapercluster 2, 1, 1
// CHECK:       wgmma.wait_group.sync.aligned 1
// CHECK-NOT:   mbarrier.arrive.release.cluster
// CHECK:       mbarrier.arrive.shared::cluster.b64
// CHECK:       cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
func.func @pair(%x: !x, %w: !w, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w : !x, !w) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>, epilogue = tma_store>} -> !y
  return %y : !y
}

func.func @low(%x: !x, %w: !w, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w : !x, !w) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64]>} -> !y
  return %y : !y
}

func.func @high(%x: !x, %w: !w, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w : !x, !w) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], epilogue = tma_store>} -> !y
  return %y : !y
}

// A matmul with two B matrices, an epilogue region and a quantized result.
!v = tensor<4x1024x1024xbf16>
!e = tensor<?x512xf8E4M3FN>
!s = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
func.func @parts(%x: !x, %w: !v, %o: tensor<4xi32>, %e: !e, %s: !s) -> (!e, !s) {
  %y:2 = mx.grouped_matmul ragged = rows ins(%x, %w : !x, !v) offsets(%o : tensor<4xi32>)
      outs(%e, %s : !e, !s) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>>} -> !e, !s epilogue {
    ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
      %product = arith.mulf %gate, %up : f32
      mx.yield %product : f32
    }
  return %y#0, %y#1 : !e, !s
}
