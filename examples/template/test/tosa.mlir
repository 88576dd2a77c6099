// A block-scaled matmul in TOSA, as emitted by other compilers, is converted to
// operations of mx and runs on the simulator with exact results.

// RUN: my-compiler-opt %s --my-quantize -o %t.mlir
// RUN: FileCheck %s --check-prefix=IR < %t.mlir
// IR-NOT: tosa.
// IR: mx.fused_quantize
// IR: mx.fused_quantize
// IR: mx.matmul

// The rows of x contain 1, 2, 4, ..., so the first row is 64 * 1 * 0.5.
// RUN: %python %S/Inputs/arrays.py make %t.x.npy 1x8x64 f32 rows
// RUN: %python %S/Inputs/arrays.py make %t.w.npy 1x32x64 f32 0.5
// RUN: mx-run %t.mlir --device=sim --check=cpu --arg %t.x.npy --arg %t.w.npy --result %t.y.npy
// RUN: %python %S/Inputs/arrays.py show %t.y.npy | FileCheck %s
// CHECK: 1x8x32
// CHECK-NEXT: 32.0 64.0 128.0 256.0 512.0 1024.0 2048.0 4096.0

func.func @main(%x: tensor<1x8x64xf32>, %w: tensor<1x32x64xf32>) -> tensor<1x8x32xf32> {
  %xq, %xs = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32}
      : (tensor<1x8x64xf32>) -> (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>)
  %wq, %ws = tosa.cast_to_block_scaled %w {block_size = BLOCK_SIZE_32}
      : (tensor<1x32x64xf32>) -> (tensor<1x32x64xf8E4M3FN>, tensor<1x32x2xf8E8M0FNU>)
  %y = tosa.matmul_t_block_scaled %xq, %xs, %wq, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<1x8x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>,
         tensor<1x32x64xf8E4M3FN>, tensor<1x32x2xf8E8M0FNU>) -> tensor<1x8x32xf32>
  return %y : tensor<1x8x32xf32>
}
