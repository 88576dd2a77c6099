// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources | FileCheck %s

// Four kernels list the rows of each token, and a fifth kernel adds these rows in order.

// CHECK-LABEL: func.func @main(
// CHECK:         gpu.memset
// CHECK:         mxgpu.launch @kernels::@main_combine_count
// CHECK:         mxgpu.launch @kernels::@main_combine_start
// CHECK:         mxgpu.launch @kernels::@main_combine_place
// CHECK:         mxgpu.launch @kernels::@main_combine_order
// CHECK:         mxgpu.launch @kernels::@main_combine grid(

// Atomic additions only number the rows of a token and allocate slots for
// tokens.
// CHECK-LABEL: mxgpu.kernel @main_combine_count(
// CHECK:         memref.atomic_rmw addi %{{.*}}, %{{.*}}[%[[TOKEN:.*]]] : (i32, memref<?xi32>) -> i32
// CHECK-LABEL: mxgpu.kernel @main_combine_start(
// CHECK:         %[[ALL:.*]] = scf.for
// CHECK:         %[[START:.*]] = memref.atomic_rmw addi %[[ALL]],
// CHECK:         scf.for {{.*}} iter_args(%[[PLACE:.*]] = %[[START]]) -> (i32)
// CHECK-NEXT:      memref.store %[[PLACE]]
// CHECK-LABEL: mxgpu.kernel @main_combine_place(
// CHECK-NOT:     memref.atomic_rmw addi
// CHECK-LABEL: mxgpu.kernel @main_combine_order(
// CHECK:         scf.for
// CHECK:           arith.cmpi ult
// The last kernel loads the listed rows, four columns at a time if the rows are aligned, and stores
// their sum.
// CHECK-LABEL: mxgpu.kernel @main_combine(
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [8, 512]
// CHECK:         vector.load %{{.*}} {alignment = 16 : i64} : memref<150x512xf32>, vector<4xf32>
// CHECK:         %[[SUMS:.*]]:4 = scf.for
// CHECK:           vector.load %{{.*}} {alignment = 8 : i64} : memref<300x512xbf16>, vector<4xbf16>
// CHECK:           arith.addf %{{.*}} : vector<4xf32>
// CHECK:         mxgpu.store_fragment %[[SUMS]]#0, %{{.*}} aligned(16) :
// CHECK-NOT:     add :
func.func @main(%z: memref<300x512xbf16>, %o: memref<4xi32>, %to: memref<300xi32>, %y: memref<150x512xf32>) {
  mx.combine ins(%z : memref<300x512xbf16>) rows(%to : memref<300xi32>) offsets(%o : memref<4xi32>) outs(%y : memref<150x512xf32>) order = fixed
  return
}
