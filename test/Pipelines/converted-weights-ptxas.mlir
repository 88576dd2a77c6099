// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_100a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: not grep -iE "warning" %t.log
// RUN: %python %S/Inputs/check_ptx.py %t.ptx --ptxas %t.log | FileCheck %s --check-prefix=COUNT
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_103a" | mx-translate --mx-to-ptx -o %t.103.ptx
// RUN: ptxas -arch=sm_103a %t.103.ptx -o %t.103.cubin
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_100f" | mx-translate --mx-to-ptx -o %t.100f.ptx
// RUN: ptxas -arch=sm_100f %t.100f.ptx -o %t.100f.cubin

// ptxas compiles matmuls of bf16 by quantized weights without spills, for every
// tile width. One instruction multiplies 16 elements of K. Its descriptor encodes
// f32 += bf16 * bf16, N / 8 at bit 17, and M / 16 at bit 24.

// COUNT: 5 kernels

!x = tensor<?x512xbf16>
!w = tensor<512x512xf4E2M1FN>
!ws = tensor<512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x512xbf16>

// CHECK-LABEL: .entry narrow_matmul(
// CHECK:       .maxnreg 128
// CHECK:       setmaxnreg.inc.sync.aligned.u32 168;
// CHECK:       fence.proxy.async.shared::cta
// CHECK:       setmaxnreg.dec.sync.aligned.u32 88;
// CHECK:       mov.b32 %[[WORD:r[0-9]+]], 135267472;
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16.collector::a::discard [%{{r[0-9]+}}], %{{rd[0-9]+}}, %{{rd[0-9]+}}, %[[WORD]],
// CHECK-NOT:   tcgen05.mma
// CHECK:       tcgen05.commit
func.func @narrow(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64]>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry square_matmul(
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16
// CHECK-NOT:   tcgen05.mma
// CHECK:       tcgen05.commit
func.func @square(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2, tile_loop = clc>>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry wide_grouped_matmul(
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16
// CHECK-NOT:   tcgen05.mma
// CHECK:       tcgen05.commit
func.func @wide(%x: !x, %w: tensor<4x512x512xf6E2M3FN>, %ws: tensor<4x512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                %o: tensor<4xi32>, %init: !y) -> !y {
  %y = mx.grouped_matmul ragged = rows
      ins(%x, %w, %ws : !x, tensor<4x512x512xf6E2M3FN>, tensor<4x512x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      offsets(%o : tensor<4xi32>) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64], strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2>>} -> !y
  return %y : !y
}

// CHECK-LABEL: .entry pair_matmul(
// CHECK:       fence.proxy.async.shared::cta
// CHECK:       mbarrier.arrive.release.cluster.shared::cluster.b64
// CHECK-COUNT-4: tcgen05.mma.cta_group::2.kind::f16
// CHECK-NOT:   tcgen05.mma
// CHECK:       tcgen05.commit.cta_group::2
func.func @pair(%x: !x, %w: !w, %ws: !ws, %init: !y) -> !y {
  %y = mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%init : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 64], strategy = #mxgpu.tcgen05_upcast_b<ctas = 2, accumulators = 2>>} -> !y
  return %y : !y
}

// This schedule has the fewest registers and the most expensive epilogue.
// CHECK-LABEL: .entry fewest_grouped_matmul(
// CHECK:       setmaxnreg.inc.sync.aligned.u32 152;
func.func @fewest(%x: tensor<?x?xbf16>, %w: tensor<4x?x?xf8E4M3FN>, %ws: tensor<4x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                  %o: tensor<4xi32>, %init: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = mx.grouped_matmul ragged = rows
      ins(%x, %w, %ws : tensor<?x?xbf16>, tensor<4x?x?xf8E4M3FN>, tensor<4x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      offsets(%o : tensor<4xi32>) outs(%init : tensor<?x?xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64], strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2>, registers = [152, 128, 80]>} -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
