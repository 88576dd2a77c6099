// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// Kernel names differ from each other and from existing symbols.

// CHECK: func.func private @kernels()
// CHECK: gpu.module @kernels_0
// CHECK: mxgpu.kernel @f_quantize(
// CHECK: mxgpu.kernel @f_quantize_0(
func.func @f(%x: memref<32x32xf32>, %e: memref<32x32xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<32x32xf32>) outs(%e, %s : memref<32x32xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
  mx.quantize ins(%x : memref<32x32xf32>) outs(%e, %s : memref<32x32xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
  return
}
func.func private @kernels()

// -----

// Functions without mx operations get no kernels. Operations without memory accesses are allowed.

// CHECK-LABEL: func.func @host
// CHECK-NEXT:    memref.dim
// CHECK-NOT:   gpu.module
func.func @host(%x: memref<?xf32>, %i: index) -> index {
  %d = memref.dim %x, %i : memref<?xf32>
  return %d : index
}

// -----

// Copies inserted by bufferization become runtime copies.

// CHECK-LABEL: func.func @copies
// CHECK: memref.copy
func.func @copies(%x: memref<32x32xf32>, %z: memref<32x32xf32>, %e: memref<32x32xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  memref.copy %z, %x : memref<32x32xf32> to memref<32x32xf32>
  mx.quantize ins(%x : memref<32x32xf32>) outs(%e, %s : memref<32x32xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
  return
}
