// ptxas compiles mma.sync kernels for every supported chip. The kernels use no stack.

// REQUIRES: compiler, ptxas
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_120a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_120a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/check_ptx.py %t.ptx --ptxas %t.log
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_121a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: ptxas -arch=sm_121a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/check_ptx.py %t.ptx --ptxas %t.log

!e = tensor<?x?xf8E4M3FN>
!w = tensor<?x?xf4E2M1FN>
!h = tensor<?x?xbf16>
!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ns = tensor<?x?xf8E4M3FN, #mx.scale_layout<sf_128x4>>
!d = tensor<?x?xf32>

// Each CTA consists of four warps.
// CHECK-LABEL: .entry mxfp8_matmul(
// CHECK:       mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0
func.func @mxfp8(%a: !e, %as: !s, %b: !e, %bs: !s, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %as, %b, %bs : !e, !s, !e, !s) outs(%y : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 128]>} -> !d
  return %r : !d
}
// CHECK-LABEL: .entry wide_matmul(
// CHECK:       mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0
func.func @wide(%a: !e, %as: !s, %b: !w, %bs: !s, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %as, %b, %bs : !e, !s, !w, !s) outs(%y : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 128]>} -> !d
  return %r : !d
}
// CHECK-LABEL: .entry mxfp4_matmul(
// CHECK:       mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
func.func @mxfp4(%a: !w, %as: !s, %b: !w, %bs: !s, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %as, %b, %bs : !w, !s, !w, !s) outs(%y : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 256]>} -> !d
  return %r : !d
}
// CHECK-LABEL: .entry nvfp4_matmul(
// CHECK:       mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
func.func @nvfp4(%a: !w, %as: !ns, %b: !w, %bs: !ns, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %as, %b, %bs : !w, !ns, !w, !ns) outs(%y : !d) block_size = 16
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 256], strategy = #mxgpu.mma_sync_block_scaled<column_warps = 4>>} -> !d
  return %r : !d
}
// CHECK-LABEL: .entry weights_matmul(
// CHECK:       mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @weights(%a: !h, %b: !e, %bs: !s, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %b, %bs : !h, !e, !s) outs(%y : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64]>} -> !d
  return %r : !d
}
// CHECK-LABEL: .entry few_matmul(
// CHECK:       .minnctapersm 2
func.func @few(%a: !h, %b: !w, %bs: !s, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %b, %bs : !h, !w, !s) outs(%y : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [32, 128, 64], strategy = #mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>>} -> !d
  return %r : !d
}

// Matmuls with packed weights, with two weight matrices, with quantized results,
// and with all three.
!p = tensor<?x?xf8E4M3FN, #mxgpu.fragment_64x64>
!pb = tensor<8x?x?xf4E2M1FN, #mxgpu.fragment_64x64>
!gb = tensor<8x?x?xf8E4M3FN>
!gs = tensor<8x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!qs = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!o = tensor<8xi32>
// CHECK-LABEL: .entry packed_matmul(
func.func @packed(%a: !h, %b: !p, %bs: !s, %y: !d) -> !d {
  %r = mx.matmul ins(%a, %b, %bs : !h, !p, !s) outs(%y : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64]>} -> !d
  return %r : !d
}
// CHECK-LABEL: .entry gated_grouped_matmul(
func.func @gated(%a: !h, %b: !gb, %bs: !gs, %o: !o, %y: !h) -> !h {
  %r = mx.grouped_matmul ragged = rows ins(%a, %b, %bs : !h, !gb, !gs) offsets(%o : !o)
      outs(%y : !h) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64]>} -> !h epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
    %v = arith.mulf %gate, %up : f32
    %t = arith.truncf %v : f32 to bf16
    mx.yield %t : bf16
  }
  return %r : !h
}
// CHECK-LABEL: .entry quantized_grouped_matmul(
func.func @quantized(%a: !h, %b: !gb, %bs: !gs, %o: !o, %q: !e, %qs: !qs) -> (!e, !qs) {
  %r:2 = mx.grouped_matmul ragged = rows ins(%a, %b, %bs : !h, !gb, !gs) offsets(%o : !o)
      outs(%q, %qs : !e, !qs)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64]>} -> !e, !qs
  return %r#0, %r#1 : !e, !qs
}
// CHECK-LABEL: .entry all_grouped_matmul(
func.func @all(%a: !h, %b: !pb, %bs: !gs, %o: !o, %q: !e, %qs: !qs) -> (!e, !qs) {
  %r:2 = mx.grouped_matmul ragged = rows ins(%a, %b, %bs : !h, !pb, !gs) offsets(%o : !o)
      outs(%q, %qs : !e, !qs) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 64]>} -> !e, !qs epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
    %v = arith.mulf %gate, %up : f32
    mx.yield %v : f32
  }
  return %r#0, %r#1 : !e, !qs
}
