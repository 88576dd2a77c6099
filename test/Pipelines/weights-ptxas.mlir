// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: not grep -iE "serializ|warning" %t.log

// ptxas compiles matmuls with bf16 activations for every tile height. All of these
// CTAs have 512 threads with 128 registers each. 128 accumulators would leave no
// registers for other values, so each instruction computes only half of the columns.

!x = tensor<?x512xbf16>
!w = tensor<512x512xf4E2M1FN>
!ws = tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x512xbf16>

// CHECK-LABEL: .entry blocks_matmul(
// CHECK:       .maxnreg 128
// CHECK:       setmaxnreg.inc.sync.aligned.u32 168;
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK-NOT:   wgmma.mma_async
// CHECK:       wgmma.commit_group.sync.aligned
func.func @blocks(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64]>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry wide_matmul(
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK-NOT:   wgmma.mma_async
// CHECK:       wgmma.commit_group.sync.aligned
func.func @wide(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64]>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry low_matmul(
// CHECK:       setmaxnreg.inc.sync.aligned.u32 216;
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK-NOT:   wgmma.mma_async
// CHECK:       wgmma.commit_group.sync.aligned
func.func @low(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64]>} -> !y
  return %y : !y
}
