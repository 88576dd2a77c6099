// mx-run reads arguments from arrays and writes results to arrays.
//
// REQUIRES: numpy
// RUN: %python %S/Inputs/make_arrays.py %t a:f4:2x3 b:f4:2x3 s:f4: z:f4:0x3 i:i8:
// RUN: mx-run %s --device=cpu --entry=several --arg %t/a.npy --arg=%t/b.npy --arg %t/s.npy \
// RUN:   --result %t/0.npy --result=%t/1.npy --result %t/2.npy --result %t/3.npy --result %t/4.npy
// RUN: %python %S/Inputs/print_array.py %t/0.npy %t/1.npy %t/2.npy %t/3.npy %t/4.npy | FileCheck %s --check-prefix=SEVERAL
// RUN: mx-run %s --device=cpu --entry=several --arg %t/z.npy --arg=%t/z.npy --arg %t/s.npy \
// RUN:   --result %t/0.npy --result=%t/1.npy --result %t/2.npy --result %t/3.npy --result %t/4.npy
// RUN: %python %S/Inputs/print_array.py %t/0.npy %t/2.npy | FileCheck %s --check-prefix=EMPTY
// RUN: mx-run %s --device=cpu --entry=number --arg %t/i.npy --result %t/0.npy
// RUN: %python %S/Inputs/print_array.py %t/0.npy | FileCheck %s --check-prefix=NUMBER
// RUN: mx-run %s --device=cpu --entry=nothing

// Returns a sum, a number, an argument twice, and a constant. Results may share
// memory with each other and with arguments.
// SEVERAL: float32 (2, 3) [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
// SEVERAL: float32 () [0.0]
// SEVERAL: float32 (2, 3) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
// SEVERAL: float32 (2, 3) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
// SEVERAL: int32 (4,) [1, 2, 3, 4]
// EMPTY: float32 (0, 3) []
// EMPTY: float32 (0, 3) []
func.func @several(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %s: f32)
    -> (tensor<?x?xf32>, f32, tensor<?x?xf32>, tensor<?x?xf32>, tensor<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %init = tensor.empty(%m, %n) : tensor<?x?xf32>
  %sum = linalg.add ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  %square = arith.mulf %s, %s : f32
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %sum, %square, %a, %a, %c
      : tensor<?x?xf32>, f32, tensor<?x?xf32>, tensor<?x?xf32>, tensor<4xi32>
}

// NUMBER: int64 () [1]
func.func @number(%i: index) -> index {
  %c1 = arith.constant 1 : index
  %r = arith.addi %i, %c1 : index
  return %r : index
}

func.func @nothing() {
  return
}
