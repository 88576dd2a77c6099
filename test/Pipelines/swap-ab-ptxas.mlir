// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: not grep -iE "serializ|warning" %t.log
// RUN: grep "spill stores" %t.log | not grep -v " 0 bytes spill stores, 0 bytes spill loads"

// ptxas compiles wgmma_swap_ab schedules without spills. Each CTA has four warpgroups, so threads
// have few registers. The schedules use the most accumulators or the largest fragments of B.

!x = tensor<?x512xbf16>
!w = tensor<512x512xf8E4M3FN>
!ws = tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x512xf32>

// CHECK-LABEL: .entry high_matmul(
// CHECK:       .maxnreg 96
// CHECK:       setmaxnreg.inc.sync.aligned.u32 104;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK-NOT:   wgmma.mma_async
// CHECK:       wgmma.commit_group.sync.aligned
func.func @high(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64], strategy = #mxgpu.wgmma_swap_ab>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry high_and_deep_matmul(
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
func.func @high_and_deep(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 128], strategy = #mxgpu.wgmma_swap_ab>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry deep_matmul(
// CHECK:       .maxnreg 96
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK-NOT:   wgmma.mma_async
// CHECK:       wgmma.commit_group.sync.aligned
func.func @deep(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [32, 256, 128], strategy = #mxgpu.wgmma_swap_ab>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry large_matmul(
// CHECK:       .maxnreg 152
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK-NOT:   wgmma.mma_async
// CHECK:       wgmma.commit_group.sync.aligned
func.func @large(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mxgpu.wgmma_swap_ab>} -> !y
  return %y : !y
}
