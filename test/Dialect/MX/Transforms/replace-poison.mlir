// RUN: mx-opt %s --lift-cf-to-scf --mx-replace-poison | FileCheck %s

// A path that does not return the tensor yields tensor.empty instead of poison.

// CHECK-LABEL: func.func @switch
// CHECK-NOT:     ub.poison : tensor
// CHECK:         tensor.empty(%{{.*}}) : tensor<?x4xf32>
// CHECK-NOT:     ub.poison : tensor
// CHECK:         scf.index_switch
func.func @switch(%n: i32, %x: tensor<?x4xf32>) -> (i32, tensor<?x4xf32>) {
  %c5 = arith.constant 5 : i32
  cf.switch %n : i32, [
    default: ^a(%n : i32),
    1: ^a(%c5 : i32),
    3: ^b
  ]
^a(%k: i32):
  return %k, %x : i32, tensor<?x4xf32>
^b:
  return %c5, %x : i32, tensor<?x4xf32>
}
