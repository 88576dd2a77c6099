// RUN: mx-opt %s --mx-loops-to-kernels | FileCheck %s
// RUN: mx-opt %s --mx-loops-to-kernels=chip=sm_90a | FileCheck %s --check-prefix=CHIP
// CHIP: gpu.module @kernels [#nvvm.target<{{.*}}chip = "sm_90a"

// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?xi1>, %[[T:.*]]: f32, %[[B:.*]]: i1)
// CHECK:         %[[BITS:.*]] = builtin.unrealized_conversion_cast %[[Y]] : memref<?x?xi1> to memref<?x?xi8>
// CHECK:         %[[BYTE:.*]] = arith.extui %[[B]] : i1 to i8
// CHECK:         mxgpu.launch @kernels::@main_compare grid(%{{.*}}) args(%{{.*}}, %{{.*}}, %[[X]], %[[T]], %[[BITS]], %[[BYTE]] :
// CHECK-NOT:     scf.parallel
func.func @main(%x: memref<?x?xf32>, %y: memref<?x?xi1>, %t: f32, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  scf.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c1, %c1) {
    %a = memref.load %x[%i, %j] : memref<?x?xf32>
    %above = arith.cmpf ogt, %a, %t : f32
    %old = memref.load %y[%i, %j] : memref<?x?xi1>
    %both = arith.andi %above, %old : i1
    %r = arith.xori %both, %b : i1
    memref.store %r, %y[%i, %j] : memref<?x?xi1>
  } {mxgpu.simple_kernel = "compare"}
  return
}

// CHECK-LABEL: mxgpu.kernel @main_compare
// CHECK-SAME:    (%[[M:.*]]: index, %[[N:.*]]: index, %[[X:.*]]: memref<?x?xf32>, %[[T:.*]]: f32, %[[Y:.*]]: memref<?x?xi8>, %[[BYTE:.*]]: i8)
// CHECK:         %[[B:.*]] = arith.trunci %[[BYTE]] : i8 to i1
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [1, 256] of
// CHECK:         mxgpu.role @elements warps(8)
// CHECK:         %[[ALL:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK:         scf.if
// CHECK:           %[[J:.*]] = arith.remui %[[ALL]], %[[N]]
// CHECK:           %[[I:.*]] = arith.divui %[[ALL]], %[[N]]
// CHECK:           memref.load %[[X]][%[[I]], %[[J]]]
// CHECK:           %[[OLD:.*]] = memref.load %[[Y]][%[[I]], %[[J]]] : memref<?x?xi8>
// CHECK:           arith.cmpi ne, %[[OLD]]
// CHECK:           %[[NEW:.*]] = arith.extui %{{.*}} : i1 to i8
// CHECK:           memref.store %[[NEW]], %[[Y]][%[[I]], %[[J]]] : memref<?x?xi8>
