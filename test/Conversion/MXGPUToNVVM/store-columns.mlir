// RUN: mx-opt %s --mxgpu-assign-warps --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// A constant added to a column becomes part of the store's offset, so stores to several columns
// share an address. A store without `aligned` checks the number of columns and does not share
// the address.

gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @columns(
  // CHECK:         %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : index
  // CHECK-NEXT:    %[[ELEMENT:.*]] = arith.addi %[[ROW]], %[[J:.*]] : index
  // CHECK-NEXT:    %[[BYTES:.*]] = arith.muli %[[ELEMENT]], %c4 : index
  // CHECK:         %[[ADDRESS:.*]] = llvm.getelementptr
  // CHECK-NEXT:    llvm.inline_asm {{.*}}[$0+0]{{.*}} %[[ADDRESS]],
  // CHECK-NEXT:    llvm.inline_asm {{.*}}[$0+32]{{.*}} %[[ADDRESS]],
  // CHECK-NEXT:    llvm.inline_asm {{.*}}[$0+64]{{.*}} %[[ADDRESS]],
  // A constant column also becomes part of the offset.
  // CHECK-NEXT:    arith.muli %[[ROW]], %c4 : index
  // CHECK:         %[[OF_ROW:.*]] = llvm.getelementptr
  // CHECK-NEXT:    llvm.inline_asm {{.*}}[$0+32]{{.*}} %[[OF_ROW]],
  // CHECK:         %[[OF_COLUMN:.*]] = llvm.getelementptr
  // CHECK:         llvm.inline_asm {{.*}}[$0+0]{{.*}} %[[OF_COLUMN]],
  mxgpu.kernel @columns(%out: memref<?x?xf32>, %i: index, %j: index, %yes: i1) {
    mxgpu.role @write warps(4) {
      %f = arith.constant dense<1.0> : vector<4xf32>
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %right = arith.addi %j, %c8 : index
      %left = arith.addi %c16, %j : index
      mxgpu.store_fragment %f, %out[%i, %j] when(%yes) aligned(16) : vector<4xf32>, memref<?x?xf32>
      mxgpu.store_fragment %f, %out[%i, %right] when(%yes) aligned(16) : vector<4xf32>, memref<?x?xf32>
      mxgpu.store_fragment %f, %out[%i, %left] when(%yes) aligned(16) : vector<4xf32>, memref<?x?xf32>
      mxgpu.store_fragment %f, %out[%i, %c8] when(%yes) aligned(16) : vector<4xf32>, memref<?x?xf32>
      mxgpu.store_fragment %f, %out[%i, %right] when(%yes) : vector<4xf32>, memref<?x?xf32>
    }
  }
  // Atomic additions are as wide as the alignment allows.
  // CHECK-LABEL: llvm.func @add(
  // CHECK:         red.relaxed.gpu.global.add.v4.f32 [$0+0]
  // CHECK:         red.relaxed.gpu.global.add.v2.f32 [$0+0]
  // CHECK:         red.relaxed.gpu.global.add.v2.f32 [$0+8]
  // CHECK:         red.relaxed.gpu.global.add.f32 [$0+0]
  // CHECK:         red.relaxed.gpu.global.add.f32 [$0+12]
  mxgpu.kernel @add(%out: memref<?x?xf32>, %i: index, %j: index, %yes: i1) {
    mxgpu.role @write warps(4) {
      %f = arith.constant dense<1.0> : vector<4xf32>
      mxgpu.store_fragment %f, %out[%i, %j] when(%yes) aligned(16) add : vector<4xf32>, memref<?x?xf32>
      mxgpu.store_fragment %f, %out[%i, %j] when(%yes) aligned(8) add : vector<4xf32>, memref<?x?xf32>
      mxgpu.store_fragment %f, %out[%i, %j] when(%yes) aligned(4) add : vector<4xf32>, memref<?x?xf32>
    }
  }
}
