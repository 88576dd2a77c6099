// If an index, slice or size computed from data exceeds an array, the program
// ends with a message, also on the reference path. An empty slice may begin at
// the end.

// REQUIRES: numpy
// RUN: mkdir -p %t
// RUN: %python -c "import numpy as np; save = lambda n, a: np.save(r'%t/' + n, a); [save(f'n{n}.npy', np.int64(n)) for n in (0, 4, 16)]; save('x.npy', np.ones((16, 8), 'f4')); save('y.npy', np.ones((15, 8), 'f4'))"
// RUN: mx-run %s --entry=slice --device=cpu --arg %t/x.npy --arg %t/n16.npy --arg %t/n0.npy --result %t/r.npy
// RUN: mx-run %s --entry=slice --device=cpu --arg %t/x.npy --arg %t/n4.npy --arg %t/n4.npy --result %t/r.npy
// RUN: not mx-run %s --entry=slice --device=cpu --arg %t/x.npy --arg %t/n4.npy --arg %t/n16.npy --result %t/r.npy 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not mx-run %s --entry=element --device=cpu --arg %t/x.npy --arg %t/n16.npy --result %t/r.npy 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not mx-run %s --entry=add --device=cpu --arg %t/x.npy --arg %t/y.npy --result %t/r.npy 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not mx-run %s --entry=promise --device=cpu --arg %t/n4.npy --result %t/r.npy 2>&1 | FileCheck %s --check-prefix=PROMISE
// RUN: mx-run %s --entry=reshape --device=cpu --arg %t/x.npy --arg %t/n4.npy --arg %t/n4.npy --result %t/r.npy
// RUN: %python -c "import numpy as np; r = np.load(r'%t/r.npy'); assert r.shape == (4, 4, 8) and (r == 1).all()"
// RUN: not mx-run %s --entry=reshape --device=cpu --arg %t/x.npy --arg %t/n4.npy --arg %t/n16.npy --result %t/r.npy 2>&1 | FileCheck %s --check-prefix=RESHAPE
// RUN: not mx-run %s --entry=reshape --device=sim --arg %t/x.npy --arg %t/n4.npy --arg %t/n16.npy --result %t/r.npy 2>&1 | FileCheck %s --check-prefix=RESHAPE

// RESHAPE: accesses.mlir:[[#]]:[[#]]: {{.*}}expected dimension 0 of the reshaped array to be 64, found 16
// LONG: accesses.mlir:[[#]]:[[#]]: error: 'memref.subview' op expected an access inside of its array: subview runs out-of-bounds along dimension 0
// ELEMENT: accesses.mlir:[[#]]:[[#]]: error: 'memref.load' op expected an access inside of its array: out-of-bounds access
// SIZE: accesses.mlir:[[#]]:[[#]]: error: 'linalg.add' op {{.*}} 16, but found 15
// PROMISE: accesses.mlir:[[#]]:[[#]]: error: 100% of what was promised

func.func @slice(%x: tensor<?x8xf32>, %first: index, %n: index) -> tensor<?x8xf32> {
  %s = tensor.extract_slice %x[%first, 0] [%n, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.exp ins(%s : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

func.func @element(%x: tensor<?x8xf32>, %row: index) -> f32 {
  %c0 = arith.constant 0 : index
  %r = tensor.extract %x[%row, %c0] : tensor<?x8xf32>
  return %r : f32
}

func.func @add(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.add ins(%x, %y : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

func.func @promise(%n: index) -> index {
  %c5 = arith.constant 5 : index
  %holds = arith.cmpi eq, %n, %c5 : index
  cf.assert %holds, "100% of what was promised"
  return %n : index
}

func.func @reshape(%x: tensor<?x8xf32>, %n: index, %m: index) -> tensor<?x?x8xf32> {
  %r = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, %m, 8] : tensor<?x8xf32> into tensor<?x?x8xf32>
  return %r : tensor<?x?x8xf32>
}
