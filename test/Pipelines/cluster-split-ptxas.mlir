// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: not grep -iE "serializ|warning" %t.log
// RUN: grep "spill stores" %t.log | not grep -v " 0 bytes spill stores, 0 bytes spill loads"

// The CTAs of a cluster share a tile. Each CTA reduces the part of K given by its
// rank and stores its sums; the first CTA then reads the sums of all CTAs.

!x = tensor<16x1024xbf16>
!w = tensor<512x1024xf4E2M1FN>
!ws = tensor<512x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<16x512xbf16>

// CHECK-LABEL: .entry parts_matmul(
// CHECK-DAG:   .reqnctapercluster 8, 1, 1
// CHECK-DAG:   .minnctapersm 4
// CHECK:       %clusterid.x
// CHECK:       %cluster_ctarank
// CHECK:       wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK:       st.shared.v4
// CHECK:       barrier.cluster.arrive.aligned;
// CHECK-NEXT:  barrier.cluster.wait.aligned;
// CHECK-COUNT-14: ld.shared::cluster.v4.b32
// CHECK-NOT:   ld.shared::cluster
func.func @parts(%x: !x, %w: !w, %ws: !ws) -> !y {
  %init = tensor.empty() : !y
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 64, 128], strategy = #mxgpu.wgmma_swap_ab<cluster_split = true, ctas_per_sm = 4>, split_k = 8>} -> !y
  return %y : !y
}
