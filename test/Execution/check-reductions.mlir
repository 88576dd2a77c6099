// --check=cpu compares reductions. The largest element of a row (alone or after
// additions) and the sums of columns are evaluated in the same order as on the
// reference path; the sums of rows are added in a different order.
//
// REQUIRES: numpy
// RUN: %python %S/Inputs/make_arrays.py %t x:f4:5x40
// RUN: mx-run %s --device=sim --arg %t/x.npy --check=cpu | FileCheck %s

// CHECK-DAG: check: result 0: 5 elements, 0 unequal
// CHECK-DAG: check: result 1: 40 elements, 0 unequal
// CHECK-DAG: check: result 2: not compared alone, since it depends on a sum of rows
// CHECK-DAG: check: result 3: 1 element, 0 unequal
// CHECK: check: passed, 3 other values

#matrix = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @main(%x: tensor<5x40xf32>)
    -> (tensor<5xf32>, tensor<40xf32>, tensor<5xf32>, tensor<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<5xf32>
  %columns = tensor.empty() : tensor<40xf32>
  %one = tensor.empty() : tensor<1xf32>
  %rows0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<5xf32>) -> tensor<5xf32>
  %columns0 = linalg.fill ins(%zero : f32) outs(%columns : tensor<40xf32>) -> tensor<40xf32>
  %one0 = linalg.fill ins(%zero : f32) outs(%one : tensor<1xf32>) -> tensor<1xf32>
  %max = linalg.generic {indexing_maps = [#matrix, #row],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x40xf32>) outs(%rows0 : tensor<5xf32>) {
  ^bb0(%a: f32, %m: f32):
    %d = arith.addf %a, %a : f32
    %n = arith.maximumf %d, %m : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  %of_columns = linalg.reduce { arith.addf } ins(%x : tensor<5x40xf32>)
      outs(%columns0 : tensor<40xf32>) dimensions = [0]
  %of_rows = linalg.reduce { arith.addf } ins(%x : tensor<5x40xf32>)
      outs(%rows0 : tensor<5xf32>) dimensions = [1]
  return %max, %of_columns, %of_rows, %one0
      : tensor<5xf32>, tensor<40xf32>, tensor<5xf32>, tensor<1xf32>
}
