// RUN: mx-opt %s --split-input-file --mx-linalg-to-loops --verify-diagnostics -o %t
// RUN: mx-opt %s --split-input-file --mx-linalg-to-loops 2>/dev/null | FileCheck %s

// One thread computes each element of the result and keeps the sum in a register.
// CHECK-LABEL: @sum_of_columns
// CHECK-SAME:    (%[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK:         %[[N:.*]] = memref.dim %[[X]], %c1
// CHECK:         mxgpu.require {{.*}} "expected dimension 0 of operand 1 of 'linalg.generic' to be %lld, found %lld"
// CHECK:         scf.parallel (%[[J:.*]]) = (%c0{{.*}}) to (%{{.*}}) step (%c1{{.*}}) {
// CHECK:           %[[FIRST:.*]] = memref.load %[[Y]][%[[J]]]
// CHECK:           %[[SUM:.*]] = scf.for %[[I:.*]] = %c0{{.*}} iter_args(%[[ACC:.*]] = %[[FIRST]])
// CHECK:             %[[A:.*]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK:             arith.addf %[[A]], %[[ACC]]
// CHECK:           memref.store %[[SUM]], %[[Y]][%[[J]]]
// CHECK:           scf.reduce
// CHECK:         } {mxgpu.simple_kernel = "linalg_generic"}
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @sum_of_columns(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result}}
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %a, %acc : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Operations that the reduction kernel or the runtime handles are unchanged.
// CHECK-LABEL: @others
// CHECK-NOT:     scf.parallel
// CHECK:         linalg.fill
// CHECK:         linalg.generic
// CHECK:         memref.copy
// CHECK-NOT:     scf.parallel
func.func @others(%x: memref<8x64xbf16>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8xf32>)
  linalg.reduce ins(%x : memref<8x64xbf16>) outs(%y : memref<8xf32>) dimensions = [1] (%a: bf16, %acc: f32) {
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %0, %acc : f32
    linalg.yield %1 : f32
  }
  memref.copy %y, %z : memref<8xf32> to memref<8xf32>
  return
}

// -----

// A reduction to scalars runs in a single thread, and its loop carries both results.
// CHECK-LABEL: @everything
// CHECK:         scf.parallel (%{{.*}}) = (%c0{{.*}}) to (%c1{{.*}})
// CHECK:           scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, i32)
// CHECK:             arith.index_cast %{{.*}} : index to i32
#in = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
func.func @everything(%x: memref<9xf32>, %y: memref<f32>, %z: memref<i32>) {
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, in one thread}}
  linalg.generic {indexing_maps = [#in, #one, #one], iterator_types = ["reduction"]}
      ins(%x : memref<9xf32>) outs(%y, %z : memref<f32>, memref<i32>) {
  ^bb0(%a: f32, %largest: f32, %place: i32):
    %i = linalg.index 0 : index
    %here = arith.index_cast %i : index to i32
    %above = arith.cmpf ogt, %a, %largest : f32
    %v = arith.select %above, %a, %largest : f32
    %p = arith.select %above, %here, %place : i32
    linalg.yield %v, %p : f32, i32
  }
  return
}

// -----

// The index of the result changes in the loops, so each iteration loads the result from memory
// and stores it again.
// CHECK-LABEL: @scatter
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               memref.load
// CHECK:               memref.store
#diagonal = affine_map<(i, j) -> (i + j)>
#id = affine_map<(i, j) -> (i, j)>
func.func @scatter(%x: memref<4x5xf32>, %y: memref<8xf32>) {
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, in one thread}}
  linalg.generic {indexing_maps = [#id, #diagonal], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<4x5xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %a, %acc : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK-LABEL: @named
// CHECK:         {mxgpu.simple_kernel = "linalg_matmul"}
func.func @named(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // expected-remark @below {{'linalg.matmul' runs as a simple kernel, one thread for each element of its result, since it was asked for}}
  linalg.matmul {mx.apart = "it was asked for"} ins(%x, %x : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>)
  return
}

// -----

// Copies of slices and stores of elements also become loops.
// CHECK-LABEL: @part
// CHECK-SAME:    (%[[X:.*]]: memref<4x?xf6E3M2FN>, %[[Y:.*]]: memref<4x?xf6E3M2FN, strided<[16, 2], offset: 3>>
// CHECK-DAG:     %[[FROM:.*]] = builtin.unrealized_conversion_cast %[[X]] : {{.*}} to memref<4x?xi8>
// CHECK-DAG:     %[[TO:.*]] = builtin.unrealized_conversion_cast %[[Y]] : {{.*}} to memref<4x?xi8, strided<[16, 2], offset: 3>>
// CHECK:         scf.parallel (%[[I:.*]], %[[J:.*]]) =
// CHECK:           %[[A:.*]] = memref.load %[[FROM]][%[[I]], %[[J]]]
// CHECK:           memref.store %[[A]], %[[TO]][%[[I]], %[[J]]]
// CHECK:         {mxgpu.simple_kernel = "copy"}
// CHECK:         scf.parallel
// CHECK:           memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<4xi32>
// CHECK:         {mxgpu.simple_kernel = "store"}
func.func @part(%x: memref<4x?xf6E3M2FN>, %y: memref<4x?xf6E3M2FN, strided<[16, 2], offset: 3>>, %z: memref<4xi32>, %n: i32, %i: index) {
  // expected-remark @below {{'memref.copy' runs as a simple kernel, one thread for each element of its result}}
  memref.copy %x, %y : memref<4x?xf6E3M2FN> to memref<4x?xf6E3M2FN, strided<[16, 2], offset: 3>>
  // expected-remark @below {{'memref.store' runs as a simple kernel, in one thread}}
  memref.store %n, %z[%i] : memref<4xi32>
  return
}
