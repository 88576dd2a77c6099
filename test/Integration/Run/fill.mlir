// RUN: %python -c "import numpy as np; np.save('%t.rows.npy', np.ones(5, np.float32))"
// RUN: mx-run %s --device=sim --arg=%t.rows.npy --result=%t.a.npy --result=%t.b.npy --result=%t.c.npy --result=%t.d.npy --result=%t.e.npy
// RUN: %python -c "import numpy as np; a = [np.load(f'%t.{x}.npy') for x in 'abcde']; assert sum(x.any() for x in a) == 0; print([(x.shape, x.dtype.str) for x in a])" | FileCheck %s
// REQUIRES: compiler, numpy

// Fills tensors with zeros. Sizes may be multiples of a word. Covers half-byte elements,
// E8M0 (whose byte 0 is a nonzero number), and tensors without elements.

// CHECK: [((5, 3), '|u1'), ((5, 7), '<u2'), ((5, 16), '|u1'), ((5,), '<f4'), ((0, 5), '<i8')]
func.func @main(%x: tensor<?xf32>) -> (tensor<?x3xf8E8M0FNU>, tensor<?x7xbf16>, tensor<?x32xf4E2M1FN>, tensor<?xf32>, tensor<0x?xi64>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %least = arith.constant 5.877471754111438e-39 : f8E8M0FNU
  %bf16 = arith.constant 0.0 : bf16
  %f4 = arith.constant 0.0 : f4E2M1FN
  %f32 = arith.constant 0.0 : f32
  %i64 = arith.constant 0 : i64
  %e0 = tensor.empty(%n) : tensor<?x3xf8E8M0FNU>
  %0 = linalg.fill ins(%least : f8E8M0FNU) outs(%e0 : tensor<?x3xf8E8M0FNU>) -> tensor<?x3xf8E8M0FNU>
  %e1 = tensor.empty(%n) : tensor<?x7xbf16>
  %1 = linalg.fill ins(%bf16 : bf16) outs(%e1 : tensor<?x7xbf16>) -> tensor<?x7xbf16>
  %e2 = tensor.empty(%n) : tensor<?x32xf4E2M1FN>
  %2 = linalg.fill ins(%f4 : f4E2M1FN) outs(%e2 : tensor<?x32xf4E2M1FN>) -> tensor<?x32xf4E2M1FN>
  %3 = linalg.fill ins(%f32 : f32) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  %e4 = tensor.empty(%n) : tensor<0x?xi64>
  %4 = linalg.fill ins(%i64 : i64) outs(%e4 : tensor<0x?xi64>) -> tensor<0x?xi64>
  return %0, %1, %2, %3, %4 : tensor<?x3xf8E8M0FNU>, tensor<?x7xbf16>, tensor<?x32xf4E2M1FN>, tensor<?xf32>, tensor<0x?xi64>
}
