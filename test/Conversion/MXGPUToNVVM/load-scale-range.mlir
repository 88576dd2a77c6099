// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// Reduces four parts of a scale range to the largest scale and to 255 minus the smallest scale.
// The reference is the largest scale minus 7. The tile fits f16 if the largest scale is at most
// 169, the reference is at least 87, and the smallest scale is at most 5 below the reference.
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @f16(
  // CHECK:         %[[PARTS:.*]] = vector.load %{{.*}} {alignment = 16 : i64} : memref<8x4xi32>, vector<4xi32>
  // CHECK:         %[[HIGH:.*]] = arith.shrui %[[PARTS]]
  // CHECK:         %[[MOST:.*]] = vector.reduction <maxui>, %[[HIGH]]
  // CHECK:         %[[LOW:.*]] = arith.andi %[[PARTS]]
  // CHECK:         %[[REST:.*]] = vector.reduction <maxui>, %[[LOW]]
  // CHECK:         %[[REFERENCE:.*]] = arith.addi %[[MOST]], %c-7_i32
  // CHECK:         %[[IS_LOW:.*]] = arith.cmpi sle, %[[MOST]], %c169_i32
  // CHECK:         %[[IS_HIGH:.*]] = arith.cmpi sge, %[[REFERENCE]], %c87_i32
  // CHECK:         %[[BOTH:.*]] = arith.andi %[[IS_LOW]], %[[IS_HIGH]]
  // CHECK:         %[[SUM:.*]] = arith.addi %[[REFERENCE]], %[[REST]]
  // CHECK:         %[[SPANS:.*]] = arith.cmpi sle, %[[SUM]], %c260_i32
  // CHECK:         arith.andi %[[BOTH]], %[[SPANS]]
  mxgpu.kernel @f16(%table: memref<8x4xi32>) {
    mxgpu.role @look warps(4) {
      %thread = mxgpu.thread_id
      %r:2 = mxgpu.load_scale_range %table[%thread] : memref<8x4xi32>
      "use"(%r#0, %r#1) : (i32, i1) -> ()
    }
  }

  // The tile fits bf16 if the smallest scale is at most 54 below the reference, which is at least
  // 127 (a scale of 1). A single load reads all 16 bytes.
  // CHECK-LABEL: llvm.func @bf16(
  // CHECK:         %[[BYTES:.*]] = vector.load %{{.*}} {alignment = 16 : i64} : memref<8x16xi8>, vector<16xi8>
  // CHECK:         vector.bitcast %[[BYTES]] : vector<16xi8> to vector<4xi32>
  // CHECK:         %[[MOST:.*]] = vector.reduction <maxui>
  // CHECK:         %[[REST:.*]] = vector.reduction <maxui>
  // CHECK:         %[[BELOW:.*]] = arith.addi %[[MOST]], %c-7_i32
  // CHECK:         %[[IS_LOW:.*]] = arith.cmpi sle, %[[MOST]], %c169_i32
  // CHECK:         %[[REFERENCE:.*]] = arith.maxsi %[[BELOW]], %c127_i32
  // CHECK:         %[[SUM:.*]] = arith.addi %[[REFERENCE]], %[[REST]]
  // CHECK:         %[[SPANS:.*]] = arith.cmpi sle, %[[SUM]], %c309_i32
  // CHECK:         arith.andi %[[IS_LOW]], %[[SPANS]]
  mxgpu.kernel @bf16(%table: memref<8x16xi8>) {
    mxgpu.role @look warps(4) {
      %thread = mxgpu.thread_id
      %r:2 = mxgpu.load_scale_range %table[%thread] bf16 : memref<8x16xi8>
      "use"(%r#0, %r#1) : (i32, i1) -> ()
    }
  }
}
