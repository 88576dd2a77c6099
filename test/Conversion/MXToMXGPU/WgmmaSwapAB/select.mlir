// RUN: mx-opt %s --mx-select-schedule="chip=sm_90a explain" 2>&1 | FileCheck %s

// wgmma_swap_ab is selected if A is bf16. The number of rows in a tile depends on the rows of A: 3,
// 64 and 257 rows get tiles of 16, 64 and 144 rows.

!w = memref<4096x4096xf4E2M1FN>
!ws = memref<32x32x32x4x4xf8E8M0FNU>

// CHECK-LABEL: mx.matmul in @decode:
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [16, 256, 128], stages = 10, strategy = #mxgpu.wgmma_swap_ab, split_k = 8, raster = linear, epilogue = direct, registers = [104, 40]>
// CHECK:       1  16x256x128 s10 swap k/8
// CHECK:       shared memory of a CTA
// CHECK:       | in.a: 4096
// CHECK:       | in_b.b: 16384
// CHECK-NOT:   operands
// CHECK:       threads of a CTA: 544, with 104 registers in MMA warps and 40 in other warps
func.func @decode(%x: memref<3x4096xbf16>, %w: !w, %ws: !ws, %y: memref<3x4096xbf16>) {
  mx.matmul ins(%x, %w, %ws : memref<3x4096xbf16>, !w, !ws) outs(%y : memref<3x4096xbf16>)
  return
}

// CHECK-LABEL: mx.matmul in @most:
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [64, {{.*}}strategy = #mxgpu.wgmma_swap_ab<cluster_split = true>, split_k = 2,
func.func @most(%x: memref<64x4096xbf16>, %w: !w, %ws: !ws, %y: memref<64x4096xbf16>) {
  mx.matmul ins(%x, %w, %ws : memref<64x4096xbf16>, !w, !ws) outs(%y : memref<64x4096xbf16>)
  return
}

// CHECK-LABEL: mx.matmul in @many:
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [144, 128, 128], {{.*}}strategy = #mxgpu.wgmma_swap_ab<
// CHECK-LABEL: mx.matmul in @unknown:
// CHECK:       all others: schedule [[LAST:[0-9]+]],
// CHECK:       schedule 1, m up to {{[0-9]+}}, for example
// CHECK:       schedule: {{.*}}wgmma_swap_ab
// CHECK:       schedule [[LAST]], {{.*}}for example
func.func @many(%x: memref<257x4096xbf16>, %w: !w, %ws: !ws, %y: memref<257x4096xbf16>) {
  mx.matmul ins(%x, %w, %ws : memref<257x4096xbf16>, !w, !ws) outs(%y : memref<257x4096xbf16>)
  return
}
func.func @unknown(%x: memref<?x4096xbf16>, %w: !w, %ws: !ws, %y: memref<?x4096xbf16>) {
  mx.matmul ins(%x, %w, %ws : memref<?x4096xbf16>, !w, !ws) outs(%y : memref<?x4096xbf16>)
  return
}

// In half of the modeled calls, rows are distributed evenly over expert groups. In the other
// half, the distribution follows Zipf's law.
// CHECK-LABEL: mx.grouped_matmul in @experts:
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [48, 256, 128], {{.*}}strategy = #mxgpu.wgmma_swap_ab, raster = linear, {{.*}}l2 = [evict_last, evict_first], pdl>
func.func @experts(%x: memref<128x4096xbf16>, %w: memref<8x4096x4096xf4E2M1FN>, %ws: memref<8x32x32x32x4x4xf8E8M0FNU>,
                   %o: memref<8xi32>, %y: memref<128x2048xbf16>) {
  mx.grouped_matmul ragged = rows ins(%x, %w, %ws : memref<128x4096xbf16>, memref<8x4096x4096xf4E2M1FN>,
      memref<8x32x32x32x4x4xf8E8M0FNU>) offsets(%o : memref<8xi32>) outs(%y : memref<128x2048xbf16>) num_b = 2 epilogue {
    ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
      %v = arith.mulf %gate, %up : f32
      %r = arith.truncf %v : f32 to bf16
      mx.yield %r : bf16
    }
  return
}

// Operations on memrefs get no workspace for dequantized operands.
// CHECK-LABEL: mx.matmul in @large:
// CHECK-NOT:   workspace
func.func @large(%x: memref<?x8192xbf16>, %w: memref<8192x8192xf4E2M1FN>, %ws: memref<64x64x32x4x4xf8E8M0FNU>, %y: memref<?x8192xbf16>) {
  mx.matmul ins(%x, %w, %ws : memref<?x8192xbf16>, memref<8192x8192xf4E2M1FN>, memref<64x64x32x4x4xf8E8M0FNU>) outs(%y : memref<?x8192xbf16>)
  return
}
