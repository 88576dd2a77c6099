// A program uses a group of one rank. Operations compared individually use the same group, and rows without
// a sender and the elements of tensor.empty are not compared. Rows that mx.gather_rows keeps are.
//
// REQUIRES: compiler
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; np.save('%t/ids.npy', np.array([[0, 3], [7, -1], [2, 2]], np.int32)); np.save('%t/x.npy', np.arange(192, dtype=np.float32).reshape(3, 64))"
// RUN: mx-run %s --device=sim --chip=sm_90a --check=cpu --arg %t/ids.npy --arg %t/x.npy --result %t/w.npy --result %t/y.npy --result %t/k.npy --result %t/collected.npy --result %t/ids-window.npy 2>&1 | FileCheck %s

// CHECK-NOT: error
// CHECK-DAG: check: mx.all_gather at {{.*}}check-groups.mlir:[[#@LINE+14]]:10, result 0: 8 elements, 0 bytes unequal
// CHECK-DAG: check: mx.all_gather at {{.*}}check-groups.mlir:[[#@LINE+13]]:10, result 0: 256 elements, 0 bytes unequal
// CHECK-DAG: check: mx.all_gather at {{.*}}check-groups.mlir:[[#@LINE+18]]:8, result 0: 256 elements, 0 bytes unequal
// CHECK-DAG: check: mx.all_to_all at {{.*}}check-groups.mlir:[[#@LINE+19]]:8, result 0: 256 elements, 0 bytes unequal
// CHECK-DAG: check: mx.gather_rows at {{.*}}check-groups.mlir:[[#@LINE+20]]:8, result 0: 192 elements, 0 bytes unequal
// CHECK:     check: result 0 against the reference from end to end: no deviation{{$}}
// CHECK:     check: passed
// CHECK-NOT: error
mx.group @ep size = 1 tokens = 4
!w = tensor<4x64xf32>
func.func @main(%ids: tensor<?x2xi32>, %x: tensor<?x64xf32>) -> (!w, !w, tensor<?x64xf32>, tensor<?x64xf32>, tensor<4x2xi32>) {
  %wi = mx.window @ep : tensor<4x2xi32>
  %wx = mx.window @ep : !w
  // Gathers padded ids and a payload.
  %w:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<?x2xi32>) ins(%x : tensor<?x64xf32>)
      outs(%wi, %wx : tensor<4x2xi32>, !w) -> tensor<4x2xi32>, !w
  %one = arith.constant 1.0 : f32
  %v = mx.window @ep : !w
  %own = linalg.fill ins(%one : f32) outs(%v : !w) -> !w
  // Gathers rows already in the window.
  %g = mx.all_gather @ep outs(%own : !w) -> !w
  %u = mx.window @ep : !w
  %a = mx.all_to_all @ep ins(%g : !w) outs(%u : !w) -> !w
  %rows = arith.constant dense<[0, 2, 4]> : tensor<3xi32>
  %k = mx.gather_rows ins(%a : !w) rows(%rows : tensor<3xi32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = mx.collect @ep experts = 8 wire = f32 ids(%ids : tensor<?x2xi32>) ins(%x : tensor<?x64xf32>)
      slots(%rows : tensor<3xi32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %w#1, %a, %k, %y, %w#0 : !w, !w, tensor<?x64xf32>, tensor<?x64xf32>, tensor<4x2xi32>
}
