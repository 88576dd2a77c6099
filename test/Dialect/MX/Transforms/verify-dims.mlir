// RUN: not mx-opt %s --mx-verify-dims 2>&1 | FileCheck %s --check-prefixes=MEMREF,CHECK
// RUN: not mx-opt %s --mx-to-cpu 2>&1 | FileCheck %s --check-prefixes=MEMREF,CHECK
// RUN: not mx-compile %s --entry=memref --entry=tensor -o %t --ptxas=none --chip=sm_100a 2>&1 | FileCheck %s --check-prefixes=MEMREF,CHECK
// RUN: not mx-opt %s --mx-to-plan=chip=sm_100a 2>&1 | FileCheck %s
// RUN: not mx-opt %s --mx-to-nvvm=chip=sm_90a 2>&1 | FileCheck %s

// Rejects a nonexistent dimension. The check runs before the operation is
// folded, because folding would read past the sizes in a memref type.

// MEMREF: verify-dims.mlir:[[@LINE+4]]:8: error: expected a dimension of 'memref<?x?xf4E2M1FN>', at least 0 and below 2, found -1
func.func @memref(%x: memref<?x?xf4E2M1FN>) -> (memref<?x64xf4E2M1FN>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant -1 : index
  %n = memref.dim %x, %c1 : memref<?x?xf4E2M1FN>
  %m = memref.dim %x, %c0 : memref<?x?xf4E2M1FN>
  %y = memref.alloc(%m) : memref<?x64xf4E2M1FN>
  return %y, %n : memref<?x64xf4E2M1FN>, index
}

// CHECK: error: expected a dimension of 'tensor<?x4xf32>', at least 0 and below 2, found 2
func.func @tensor(%x: tensor<?x4xf32>) -> index {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c2 : tensor<?x4xf32>
  return %n : index
}
