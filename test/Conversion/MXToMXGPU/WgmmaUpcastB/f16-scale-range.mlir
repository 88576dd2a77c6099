// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// The first kernels find the scale range of each tile of both operands, and tiles with NaN. Three
// matmul kernels follow. The first computes work tiles that fit f16, the second computes work tiles
// that fit bf16 relative to references, and the third computes the rest.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[A:.*]] = memref.alloc() : memref<2x4xi32>
// CHECK:         mxgpu.launch @kernels::@main_scale_range grid(%c2) args(%{{.*}}, %{{.*}}, %[[A]]
// CHECK:         %[[B:.*]] = memref.alloc() : memref<2x4xi32>
// CHECK:         mxgpu.launch @kernels::@main_scale_range_0 grid(%c2) args(%{{.*}}, %{{.*}}, %[[B]]
// CHECK:         %[[A_FINITE:.*]] = memref.alloc() : memref<2x16xi8>
// CHECK:         %[[B_FINITE:.*]] = memref.alloc() : memref<2x16xi8>
// CHECK:         mxgpu.launch @kernels::@main_nan grid(%c4) args(%{{.*}}, %{{.*}}, %[[A]], %[[A_FINITE]], %{{.*}}, %{{.*}}, %[[B]], %[[B_FINITE]] :
// CHECK:         mxgpu.launch @kernels::@main_matmul grid({{.*}}) args({{.*}}%[[A_FINITE]], %[[B_FINITE]] :
// CHECK:         mxgpu.launch @kernels::@main_matmul_0 grid({{.*}}) args({{.*}}%[[A_FINITE]], %[[B_FINITE]] :
// CHECK:         mxgpu.launch @kernels::@main_matmul_1 grid({{.*}}) args({{.*}}%[[A_FINITE]], %[[B_FINITE]] :
// CHECK-DAG:     memref.dealloc %[[A]]
// CHECK-DAG:     memref.dealloc %[[B]]
// CHECK-DAG:     memref.dealloc %[[A_FINITE]]
// CHECK-DAG:     memref.dealloc %[[B_FINITE]]

// Each warp scans every fourth tile of 4 blocks, and reads the elements of blocks with zero scales.
// CHECK:       mxgpu.kernel @main_scale_range(
// CHECK:         mxgpu.role @scale_range warps(4)
// CHECK:           vector.load
// CHECK:           arith.maxui
// CHECK:           arith.minui
// CHECK:           scf.if
// CHECK:             mxgpu.load_block
// CHECK:           gpu.subgroup_reduce maxui
// CHECK:           gpu.subgroup_reduce maxui
// CHECK:           memref.store

// If a tile of either operand fits bf16 but not f16, warps check all tiles that fit bf16 for NaN.
// Contiguous rows are read as one line. A warp writes 255 if one of its elements is NaN, and
// otherwise the scale range byte.
// CHECK:       mxgpu.kernel @main_nan({{.*}}: memref<256x128xf8E4M3FN>, %[[LINE:.*]]: memref<1x32768xf8E4M3FN>, %[[A:.*]]: memref<2x4xi32>, %[[A_FINITE:.*]]: memref<2x16xi8>, {{.*}}: memref<1x32768xf8E4M3FN>, %[[B:.*]]: memref<2x4xi32>, %[[B_FINITE:.*]]: memref<2x16xi8>)
// CHECK:         mxgpu.role @look warps(16)
// CHECK:           %[[WARP:.*]] = arith.divui %{{.*}}, %c32
// CHECK:           %[[SOME_A:.*]] = scf.for
// CHECK:             mxgpu.load_scale_range %[[A]]
// CHECK:             mxgpu.load_scale_range %[[A]][%{{.*}}] bf16
// CHECK:           %[[SOME_B:.*]] = scf.for
// CHECK:             mxgpu.load_scale_range %[[B]]
// CHECK:             mxgpu.load_scale_range %[[B]][%{{.*}}] bf16
// CHECK:           %[[SOME:.*]] = arith.ori %[[SOME_A]], %[[SOME_B]]
// CHECK:           %[[ANY:.*]] = gpu.subgroup_reduce maxui
// CHECK:           %[[NEEDED:.*]] = arith.cmpi ne, %[[ANY]], %c0_i32
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:             %[[IS_A:.*]] = arith.cmpi ult, %[[ROW]], %c2
// CHECK:             scf.if %[[IS_A]] {
// CHECK:               %{{.*}}, %[[FITS:.*]] = mxgpu.load_scale_range %[[A]][%[[ROW]]] bf16
// CHECK:               %[[READ:.*]] = arith.andi %[[NEEDED]], %[[FITS]]
// CHECK:               scf.if %[[READ]] -> (i32) {
// CHECK:                 scf.for {{.*}} step %c4096
// CHECK-COUNT-8:           mxgpu.load_block %[[LINE]]{{.*}} in_bounds
// CHECK:                 scf.for {{.*}} step %c512
// CHECK:                   mxgpu.load_block %[[LINE]]{{.*}} in_bounds
// CHECK:                 gpu.subgroup_reduce maxui
// CHECK:               memref.store %{{.*}}, %[[A_FINITE]][%[[ROW]], %[[WARP]]]
// CHECK:             } else {
// CHECK:               memref.store %{{.*}}, %[[B_FINITE]]

// CHECK:       mxgpu.kernel @main_matmul({{.*}}%[[A:arg[0-9]+]]: memref<2x16xi8>, %[[B:arg[0-9]+]]: memref<2x16xi8>) schedule({{.*}}f16_scale_range
// CHECK:         mxgpu.role @multiply
// CHECK:           %{{.*}}, %[[FITS_B:.*]] = mxgpu.load_scale_range %[[B]]
// CHECK:           %{{.*}}, %[[FITS_0:.*]] = mxgpu.load_scale_range %[[A]]
// CHECK:           %[[FIT:.*]] = arith.andi %[[FITS_B]], %[[FITS_0]]
// CHECK:           %{{.*}}, %[[FITS_1:.*]] = mxgpu.load_scale_range %[[A]]
// CHECK:           %[[OWN:.*]] = arith.andi %[[FIT]], %[[FITS_1]]
// Each warpgroup covers the rows of one scale tile.
// CHECK:           %[[REFERENCE_A:.*]], %{{.*}} = mxgpu.load_scale_range %[[A]]
// CHECK:           %[[END:.*]] = arith.select %[[OWN]], %end, %start
// CHECK:           mxgpu.for_each_k {{.*}} to %[[END]] step 64
// CHECK:             mxgpu.dequantize_fragment {{.*}} reference(%[[REFERENCE_A]]) : {{.*}} -> !
// CHECK:           scf.if %[[OWN]] {
// CHECK:             arith.mulf
// CHECK:             mxgpu.store_fragment
// CHECK:         mxgpu.role @dequantize
// CHECK:             mxgpu.dequantize_fragment {{.*}} reference(

// The second kernel computes work tiles that fit bf16 but not f16, and needs no NaN check.
// CHECK:       mxgpu.kernel @main_matmul_0({{.*}}%[[A:arg[0-9]+]]: memref<2x16xi8>, %[[B:arg[0-9]+]]: memref<2x16xi8>) schedule(<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b, raster
// CHECK:         mxgpu.role @multiply
// CHECK:           %[[REFERENCE_B:.*]], %[[FITS_B:.*]] = mxgpu.load_scale_range %[[B]][%{{.*}}] bf16
// CHECK:           %{{.*}}, %[[FITS_0:.*]] = mxgpu.load_scale_range %[[A]][%{{.*}}] bf16
// CHECK:           %[[FIT:.*]] = arith.andi %[[FITS_B]], %[[FITS_0]]
// CHECK:           %{{.*}}, %[[FITS_1:.*]] = mxgpu.load_scale_range %[[A]][%{{.*}}] bf16
// CHECK:           %[[IN_BF16:.*]] = arith.andi %[[FIT]], %[[FITS_1]]
// CHECK:           mxgpu.load_scale_range %[[B]][%{{.*}}] : memref
// CHECK:           mxgpu.load_scale_range %[[A]][%{{.*}}] : memref
// CHECK:           mxgpu.load_scale_range %[[A]][%{{.*}}] : memref
// CHECK:           %[[IN_F16:.*]] = arith.andi
// CHECK:           %[[NOT_F16:.*]] = arith.xori %[[IN_F16]], %true
// CHECK:           %[[OWN:.*]] = arith.andi %[[IN_BF16]], %[[NOT_F16]]
// CHECK:           %[[REFERENCE_A:.*]], %{{.*}} = mxgpu.load_scale_range %[[A]][%{{.*}}] bf16
// CHECK:           %[[END:.*]] = arith.select %[[OWN]], %end, %start
// CHECK:           mxgpu.for_each_k {{.*}} to %[[END]] step 64
// CHECK:             mxgpu.dequantize_fragment {{.*}} reference(%[[REFERENCE_A]]) finite
// CHECK:           scf.if %[[OWN]] {
// CHECK:             arith.addi %[[REFERENCE_A]], %[[REFERENCE_B]]
// CHECK:             mxgpu.store_fragment
// CHECK:         mxgpu.role @dequantize
// CHECK:             mxgpu.dequantize_fragment {{.*}} reference(%{{.*}}) finite

// CHECK:       mxgpu.kernel @main_matmul_1({{.*}} schedule(<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b, raster
// CHECK:         mxgpu.role @multiply
// CHECK:           mxgpu.load_scale_range {{.*}} bf16
// CHECK:           %[[OTHER:.*]] = arith.xori %{{.*}}, %true
// CHECK:           arith.select %{{.*}}, %start, %end
// CHECK-NOT:     reference(
!a = memref<256x128xf8E4M3FN>
!s = memref<2x1x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
func.func @main(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}

// -----

// Strided rows of unknown size are read row by row.
// CHECK-LABEL: func.func @strided(
// CHECK:       mxgpu.kernel @strided_nan(%[[A:[a-z0-9]+]]: memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>>
// CHECK:         scf.for {{.*}} step %c1
// CHECK:           scf.for {{.*}} step %c4096
// CHECK-COUNT-8:     mxgpu.load_block %[[A]]
!a = memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>>
!b = memref<?x?xf8E4M3FN>
!s = memref<?x?x32x4x4xf8E8M0FNU>
!y = memref<?x?xbf16>
func.func @strided(%a: !a, %as: !s, %b: !b, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !b, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>>}
  return
}
