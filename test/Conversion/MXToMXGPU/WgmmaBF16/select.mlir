// RUN: mx-opt %s --mx-select-schedule="chip=sm_90a explain" 2>&1 | FileCheck %s

// Large matmuls of bf16 by bf16 run on CTA pairs, which read less from L2.

// CHECK-LABEL: mx.matmul in @large: 8192 x 8192 x 8192, bf16 x bf16 (wgmma.mma_async) to bf16
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [256, 256, 64], stages = 4, strategy = #mxgpu.wgmma_bf16<ctas = 2>, raster = group_m(8), epilogue = tma_store, registers = [232, 40]>
// CHECK:       shared memory of a CTA
// CHECK:       | in.a: 16384
// CHECK:       | in.b: 32768
// CHECK:       | more stages of in: 3 x 49152
// CHECK:       | barriers of in: 4 x 24
// CHECK:       | staging.c: 2048
// CHECK:       threads of a CTA: 288, with 232 registers in MMA warps and 40 in other warps
!a = memref<8192x8192xbf16>
func.func @large(%a: !a, %b: !a, %y: !a) {
  mx.matmul ins(%a, %b : !a, !a) outs(%y : !a)
  return
}
