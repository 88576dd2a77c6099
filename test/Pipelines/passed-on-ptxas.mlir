// REQUIRES: compiler, ptxas, numpy
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/check_ptx.py %t.ptx --ptxas %t.log | FileCheck %s
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_100a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: ptxas -arch=sm_100a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/check_ptx.py %t.ptx --ptxas %t.log | FileCheck %s
// RUN: mx-opt %s --mx-to-nvvm="chip=sm_120a" | mx-translate --mx-to-ptx -o %t.ptx
// RUN: ptxas -arch=sm_120a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/check_ptx.py %t.ptx --ptxas %t.log | FileCheck %s

// Compiles quantizers with fused inputs of dynamic size along rows, along rows of
// expert groups, and along both axes of gathered groups. No kernel uses the stack.

// CHECK: 5 kernels

!e = tensor<?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU>
!rs = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!ct = tensor<?x?xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!cs = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!n = tensor<?xi32>
!o = tensor<4xi32>
!f = tensor<?x?xf4E2M1FN>
!six = tensor<?x?xf6E3M2FN>
!sixt = tensor<?x?xf6E3M2FN, #mx.ragged<groups = 4, align = 128>>

func.func @rows(%x: !e, %s: !s, %n: !n, %e: !e, %f: !s) -> (!e, !s) {
  %q:2 = mx.fused_quantize ins(%x : !e) input_scales(%s : !s) gather(%n : !n) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}
func.func @narrow_rows(%x: !f, %s: !s, %e: !f, %f: !s) -> (!f, !s) {
  %q:2 = mx.fused_quantize ins(%x : !f) input_scales(%s : !s) outs(%e, %f : !f, !s) -> !f, !s
  return %q#0, %q#1 : !f, !s
}
func.func @groups(%x: !e, %s: !s, %n: !n, %o: !o, %e: !e, %f: !rs) -> (!e, !rs) {
  %q:2 = mx.fused_quantize ragged = rows ins(%x : !e) input_scales(%s : !s) gather(%n : !n) offsets(%o : !o)
      outs(%e, %f : !e, !rs) -> !e, !rs
  return %q#0, %q#1 : !e, !rs
}
func.func @both(%x: !e, %s: !s, %n: !n, %o: !o, %e: !e, %f: !rs, %g: !ct, %h: !cs) -> (!e, !rs, !ct, !cs) {
  %q:4 = mx.fused_quantize ragged = rows ins(%x : !e) input_scales(%s : !s) gather(%n : !n) offsets(%o : !o)
      outs(%e, %f, %g, %h : !e, !rs, !ct, !cs) axes = [1, 0] -> !e, !rs, !ct, !cs
  return %q#0, %q#1, %q#2, %q#3 : !e, !rs, !ct, !cs
}
func.func @both_amax(%x: !six, %s: !s, %n: !n, %o: !o, %e: !six, %f: !rs, %g: !sixt, %h: !cs, %a: tensor<f32>) -> (!six, !rs, !sixt, !cs, tensor<f32>) {
  %q:5 = mx.fused_quantize ragged = rows ins(%x : !six) input_scales(%s : !s) gather(%n : !n) offsets(%o : !o)
      outs(%e, %f, %g, %h, %a : !six, !rs, !sixt, !cs, tensor<f32>) axes = [1, 0] amax -> !six, !rs, !sixt, !cs, tensor<f32>
  return %q#0, %q#1, %q#2, %q#3, %q#4 : !six, !rs, !sixt, !cs, tensor<f32>
}
