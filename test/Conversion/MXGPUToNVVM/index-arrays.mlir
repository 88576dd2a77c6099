// RUN: mx-opt %s --mx-to-nvvm | FileCheck %s

// Arrays store an index in 64 bits. This affects allocations, fills with zeros and subview offsets.

// CHECK-LABEL: func.func @filled
// CHECK:         %[[SIZE:.*]] = arith.constant 8 : i64
// CHECK:         %[[N:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK:         %[[BYTES:.*]] = arith.muli %[[SIZE]], %[[N]] : i64
// CHECK:         llvm.call @mxMemset(
func.func @filled(%n: index) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%n) : tensor<?xindex>
  %y = linalg.fill ins(%c0 : index) outs(%e : tensor<?xindex>) -> tensor<?xindex>
  return %y : tensor<?xindex>
}

// CHECK-LABEL: func.func @part
// CHECK:         %[[POINTER:.*]] = memref.extract_aligned_pointer_as_index %{{.*}} : memref<3xindex, strided<[1], offset: 2>>
// CHECK:         %[[WIDTH:.*]] = arith.constant 8 : index
// CHECK:         %[[BYTES:.*]] = arith.muli %{{.*}}, %[[WIDTH]] : index
// CHECK:         arith.addi %[[POINTER]], %[[BYTES]] : index
func.func @part(%x: tensor<5xindex>) -> tensor<3xi64> {
  %s = tensor.extract_slice %x[2] [3] [1] : tensor<5xindex> to tensor<3xindex>
  %y = arith.index_cast %s : tensor<3xindex> to tensor<3xi64>
  return %y : tensor<3xi64>
}
