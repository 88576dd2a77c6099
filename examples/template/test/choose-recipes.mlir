// RUN: my-compiler-opt %s --pass-pipeline="builtin.module(func.func(my-choose-recipes{min-elements=65536}))" \
// RUN:   --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @small
// CHECK: linalg.matmul {mx.recipe = "mxfp8"}
func.func @small(%x: tensor<64x128xbf16>, %w: tensor<128x64xbf16>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = linalg.matmul ins(%x, %w : tensor<64x128xbf16>, tensor<128x64xbf16>) outs(%y : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: @large
// CHECK: linalg.matmul {mx.recipe = ["mxfp8", "mxfp4"]}
func.func @large(%x: tensor<64x256xbf16>, %w: tensor<256x256xbf16>, %y: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %r = linalg.matmul ins(%x, %w : tensor<64x256xbf16>, tensor<256x256xbf16>) outs(%y : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// -----

// An existing recipe is kept.
// CHECK-LABEL: @chosen
// CHECK: linalg.matmul {mx.recipe = "none"}
func.func @chosen(%x: tensor<64x256xbf16>, %w: tensor<256x256xbf16>, %y: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %r = linalg.matmul {mx.recipe = "none"} ins(%x, %w : tensor<64x256xbf16>, tensor<256x256xbf16>) outs(%y : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// -----

// CHECK-LABEL: @dynamic
// CHECK: linalg.matmul {mx.recipe = "mxfp8"}
func.func @dynamic(%x: tensor<64x256xbf16>, %w: tensor<256x?xbf16>, %y: tensor<64x?xf32>) -> tensor<64x?xf32> {
  // expected-remark @below {{has weights of a dynamic size: they become MXFP8}}
  %r = linalg.matmul ins(%x, %w : tensor<64x256xbf16>, tensor<256x?xbf16>) outs(%y : tensor<64x?xf32>) -> tensor<64x?xf32>
  return %r : tensor<64x?xf32>
}
