// RUN: mx-opt %s --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// Where the scales of both operands' tiles lie is found first. One kernel then
// computes the units whose tiles fit, the other one the rest.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[A:.*]] = memref.alloc() : memref<2x4xi32>
// CHECK:         mxgpu.launch @kernels::@main_window grid(%c2) args(%{{.*}}, %{{.*}}, %[[A]]
// CHECK:         %[[B:.*]] = memref.alloc() : memref<2x4xi32>
// CHECK:         mxgpu.launch @kernels::@main_window_0 grid(%c2) args(%{{.*}}, %{{.*}}, %[[B]]
// CHECK:         mxgpu.launch @kernels::@main_matmul grid({{.*}}) args({{.*}}%[[A]], %[[B]] :
// CHECK:         mxgpu.launch @kernels::@main_matmul_0 grid({{.*}}) args({{.*}}%[[A]], %[[B]] :
// CHECK:         memref.dealloc %[[A]]
// CHECK:         memref.dealloc %[[B]]

// A warp looks at every fourth tile of 4 blocks, and at elements where a scale is 0.
// CHECK:       mxgpu.kernel @main_window(
// CHECK:         mxgpu.role @window warps(4)
// CHECK:           vector.load
// CHECK:           arith.maxui
// CHECK:           arith.minui
// CHECK:           scf.if
// CHECK:             mxgpu.load_block
// CHECK:           mxgpu.warp_max
// CHECK:           mxgpu.warp_max
// CHECK:           memref.store

// CHECK:       mxgpu.kernel @main_matmul({{.*}}%[[A:arg[0-9]+]]: memref<2x4xi32>, %[[B:arg[0-9]+]]: memref<2x4xi32>) schedule({{.*}}f16_window
// CHECK:         mxgpu.role @multiply
// CHECK:           %[[REFERENCE_B:.*]], %[[FITS_B:.*]] = mxgpu.load_window %[[B]]
// CHECK:           %{{.*}}, %[[FITS_0:.*]] = mxgpu.load_window %[[A]]
// CHECK:           %[[FIT:.*]] = arith.andi %[[FITS_B]], %[[FITS_0]]
// CHECK:           %{{.*}}, %[[FITS_1:.*]] = mxgpu.load_window %[[A]]
// CHECK:           %[[OWN:.*]] = arith.andi %[[FIT]], %[[FITS_1]]
// Each warpgroup has the rows of a tile of scales.
// CHECK:           %[[GROUP:.*]] = arith.divui %{{.*}}, %c128
// CHECK:           %[[REFERENCE_A:.*]], %{{.*}} = mxgpu.load_window %[[A]]
// CHECK:           %[[END:.*]] = arith.select %[[OWN]], %end, %start
// CHECK:           mxgpu.for_each_k {{.*}} to %[[END]] step 64
// CHECK:             mxgpu.dequantize_fragment {{.*}} reference(%[[REFERENCE_A]]) : {{.*}} -> !
// CHECK:           scf.if %[[OWN]] {
// CHECK:             %[[SUM:.*]] = arith.addi %[[REFERENCE_A]], %[[REFERENCE_B]]
// CHECK:             arith.mulf
// CHECK:             mxgpu.store_fragment
// CHECK:         mxgpu.role @dequantize
// CHECK:             mxgpu.dequantize_fragment {{.*}} reference(

// CHECK:       mxgpu.kernel @main_matmul_0({{.*}} schedule(<tile = [256, 128, 64], stages = 2, accumulators = 1, raster
// CHECK:         mxgpu.role @multiply
// CHECK:           %[[OTHER:.*]] = arith.xori %{{.*}}, %true
// CHECK:           arith.select %{{.*}}, %start, %end
// CHECK-NOT:     reference(
!a = memref<256x128xf8E4M3FN>
!s = memref<2x1x32x4x4xf8E8M0FNU>
!y = memref<256x256xbf16>
func.func @main(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 128, 64], stages = 2, f16_window>}
  return
}
