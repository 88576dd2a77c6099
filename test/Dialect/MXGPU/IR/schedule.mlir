// RUN: mx-opt %s | mx-opt | FileCheck %s

// CHECK-DAG: !mma_commit_ring = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), scope = pair, overlap = 64>
// CHECK-DAG: !threads_ring = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>

// Parses the fields of a schedule in any order, and omits default values
// when printing.

!a = tensor<256x256xf8E4M3FN>
!s = tensor<256x8xf8E8M0FNU>
!y = tensor<256x256xf32>

// CHECK-LABEL: func @defaults
func.func @defaults(%a: !a, %s: !s, %y: !y) -> !y {
  // CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], raster = linear, epilogue = direct>
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128]>} -> !y
  return %0 : !y
}

// CHECK-LABEL: func @all
func.func @all(%a: !a, %s: !s, %y: !y) -> !y {
  // CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 256], stages = 3, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2, accumulators = 2, overlap = 64, scale_stages = 2, tile_loop = clc>, split_k = 4, raster = group_m(8), epilogue = tma_store, staging = 4, registers = [208, 56], l2 = [evict_last, evict_first, evict_first], pdl>
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<pdl, l2 = [evict_last, evict_first, evict_first], registers = [208, 56], staging = 4, epilogue = tma_store, raster = group_m(8), split_k = 4, stages = 3, tile = [256, 256, 256], strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc, scale_stages = 2, overlap = 64, accumulators = 2, ctas = 2>>} -> !y
  return %0 : !y
}

// CHECK-LABEL: func @curve
func.func @curve(%a: !a, %s: !s, %y: !y) -> !y {
  // CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [128, 16, 128], raster = hilbert, epilogue = direct>
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 16, 128], raster = hilbert>} -> !y
  return %0 : !y
}

// CHECK-LABEL: func @workspace
func.func @workspace(%a: !a, %s: !s, %y: !y) -> !y {
  // CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = ab, raster = linear, epilogue = direct>
  %0 = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = ab>} -> !y
  return %0 : !y
}

// CHECK-LABEL: func @swapped
func.func @swapped(%a: tensor<256x256xbf16>, %b: !a, %s: !s, %y: !y) -> !y {
  // CHECK: mxgpu.schedule = #mxgpu.schedule<tile = [16, 128, 64], strategy = #mxgpu.wgmma_swap_ab, split_k = 2, raster = linear, epilogue = direct>
  %0 = mx.matmul ins(%a, %b, %s : tensor<256x256xbf16>, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<split_k = 2, tile = [16, 128, 64], strategy = #mxgpu.wgmma_swap_ab>} -> !y
  return %0 : !y
}

// CHECK-LABEL: func.func private @raster
// CHECK-SAME: #mxgpu.raster<group_m(4)>
func.func private @raster() attributes {test.raster = #mxgpu.raster<group_m(4)>}

// CHECK: func.func private @rings(!mma_commit_ring, !threads_ring)
func.func private @rings(!mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 64, scope = pair>,
                         !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>)
