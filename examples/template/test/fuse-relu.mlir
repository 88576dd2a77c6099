// RUN: my-compiler-opt %s --pass-pipeline="builtin.module(func.func(my-fuse-relu))" -o %t.mlir
// RUN: FileCheck %s < %t.mlir

// Kernels match the reference bitwise.
// RUN: %python %S/Inputs/arrays.py make %t.x.npy 8x64 bf16 rows
// RUN: %python %S/Inputs/arrays.py make %t.w.npy 128x64 bf16 -0.5
// RUN: mx-run %t.mlir --entry=relu --chip=sm_90a --device=sim --check=cpu --arg %t.x.npy --arg %t.w.npy --result %t.y.npy
// RUN: %python %S/Inputs/arrays.py show %t.y.npy | FileCheck %s --check-prefix=ZEROS
// ZEROS: 8x128
// ZEROS-NEXT: 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0

// CHECK-LABEL: func.func @relu
// CHECK: %[[R:.*]] = mx.matmul
// CHECK-SAME: epilogue {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[MAX:.*]] = arith.maximumf %[[SUM]], %[[ZERO]] : f32
// CHECK-NEXT: mx.yield %[[MAX]] : f32
// CHECK-NOT: linalg.max
// CHECK: return %[[R]]
func.func @relu(%x: tensor<8x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<8x128xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8x128xf32>
  %empty = tensor.empty() : tensor<8x128xf32>
  %y = mx.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<128x64xbf16>)
      outs(%empty : tensor<8x128xf32>) -> tensor<8x128xf32>
  %r = linalg.max ins(%y, %zeros : tensor<8x128xf32>, tensor<8x128xf32>)
      outs(%empty : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %r : tensor<8x128xf32>
}

// An existing epilogue runs first.
// CHECK-LABEL: func.func @second
// CHECK: %[[HALF:.*]] = arith.mulf
// CHECK: %[[OLD:.*]] = arith.truncf %[[HALF]] : f32 to bf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[OLD]] : bf16 to f32
// CHECK: %[[MAX:.*]] = arith.maximumf %[[WIDE]], %{{.*}} : f32
// CHECK: arith.truncf %[[MAX]] : f32 to bf16
// CHECK-NOT: linalg.max
func.func @second(%x: tensor<8x64xbf16>, %w: tensor<128x64xbf16>, %half: f32) -> tensor<8x128xbf16> {
  %zeros = arith.constant dense<0.0> : tensor<8x128xbf16>
  %empty = tensor.empty() : tensor<8x128xbf16>
  %y = mx.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<128x64xbf16>)
      outs(%empty : tensor<8x128xbf16>) -> tensor<8x128xbf16>
      epilogue {
      ^bb0(%acc: f32, %row: index, %column: index):
        %scaled = arith.mulf %acc, %half : f32
        %rounded = arith.truncf %scaled : f32 to bf16
        mx.yield %rounded : bf16
      }
  %r = linalg.max ins(%y, %zeros : tensor<8x128xbf16>, tensor<8x128xbf16>)
      outs(%empty : tensor<8x128xbf16>) -> tensor<8x128xbf16>
  return %r : tensor<8x128xbf16>
}

// CHECK-LABEL: func.func @other_use
// CHECK-NOT: epilogue
// CHECK: linalg.max
func.func @other_use(%x: tensor<8x64xbf16>, %w: tensor<128x64xbf16>) -> (tensor<8x128xbf16>, tensor<8x128xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<8x128xbf16>
  %empty = tensor.empty() : tensor<8x128xbf16>
  %y = mx.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<128x64xbf16>)
      outs(%empty : tensor<8x128xbf16>) -> tensor<8x128xbf16>
  %r = linalg.max ins(%y, %zeros : tensor<8x128xbf16>, tensor<8x128xbf16>)
      outs(%empty : tensor<8x128xbf16>) -> tensor<8x128xbf16>
  return %y, %r : tensor<8x128xbf16>, tensor<8x128xbf16>
}
