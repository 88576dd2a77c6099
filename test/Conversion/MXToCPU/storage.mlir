// RUN: mx-opt %s -split-input-file --convert-mx-to-cpu --canonicalize | FileCheck %s

// Two f4 elements share a byte: the last dimension of a converted array counts
// bytes, but memref.dim still returns the number of elements.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %[[X:.*]]: memref<?x?xi8>) -> (memref<?x32xi8>, index)
// CHECK:         %[[BYTES:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[SIZE:.*]] = arith.muli %[[BYTES]], %c2
// CHECK:         %[[ALLOC:.*]] = memref.alloc(%{{.*}}) : memref<?x32xi8>
// CHECK:         return %[[ALLOC]], %[[SIZE]]
func.func @packed(%x: memref<?x?xf4E2M1FN>) -> (memref<?x64xf4E2M1FN>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf4E2M1FN>
  %n = memref.dim %x, %c1 : memref<?x?xf4E2M1FN>
  %y = memref.alloc(%m) : memref<?x64xf4E2M1FN>
  return %y, %n : memref<?x64xf4E2M1FN>, index
}

// -----

// CHECK-LABEL: func.func @packed_alloc(
// CHECK-SAME:    %[[M:.*]]: index, %[[N:.*]]: index)
// CHECK:         %[[MORE:.*]] = arith.addi %[[N]], %c1
// CHECK:         %[[BYTES:.*]] = arith.divui %[[MORE]], %c2
// CHECK:         memref.alloc(%[[M]], %[[BYTES]]) : memref<?x?xi8>
func.func @packed_alloc(%m: index, %n: index) -> memref<?x?xf4E2M1FN> {
  %y = memref.alloc(%m, %n) : memref<?x?xf4E2M1FN>
  return %y : memref<?x?xf4E2M1FN>
}

// -----

// Each f6 element is stored in one byte, including in calls and loops.
// CHECK-LABEL: func.func @bytes(
// CHECK-SAME:    %[[X:.*]]: memref<8x3xi8>) -> memref<8x3xi8>
// CHECK:         call @bytes(%[[X]]) : (memref<8x3xi8>) -> memref<8x3xi8>
func.func @bytes(%x: memref<8x3xf6E3M2FN>) -> memref<8x3xf6E3M2FN> {
  %y = call @bytes(%x) : (memref<8x3xf6E3M2FN>) -> memref<8x3xf6E3M2FN>
  return %y : memref<8x3xf6E3M2FN>
}

// -----

// The low nibble of a byte holds the first of its two elements.
// CHECK-LABEL: func.func @low_nibble_first(
// CHECK-SAME:    %[[Q:.*]]: memref<2x16xi8>,
// CHECK:         %[[BYTE:.*]] = arith.divui %[[K:.*]], %c2 : index
// CHECK:         %[[ODD:.*]] = arith.remui %[[K]], %c2 : index
// CHECK:         %[[BIT:.*]] = arith.muli %[[ODD]], %c4 : index
// CHECK:         %[[SHIFT:.*]] = arith.index_castui %[[BIT]] : index to i8
// CHECK:         %[[PAIR:.*]] = memref.load %[[Q]][%{{.*}}, %[[BYTE]]]
// CHECK:         %[[DOWN:.*]] = arith.shrui %[[PAIR]], %[[SHIFT]]
// CHECK:         arith.andi %[[DOWN]], %c15_i8
func.func @low_nibble_first(%q: memref<2x32xf4E2M1FN>,
                            %s: memref<2x1xf8E8M0FNU>, %x: memref<2x32xf32>) {
  mx.dequantize ins(%q, %s : memref<2x32xf4E2M1FN>, memref<2x1xf8E8M0FNU>)
      outs(%x : memref<2x32xf32>)
  return
}

// -----

// CHECK: memref.global "private" constant @pairs : memref<1x2xi8> = dense<{{\[}}[66, -11]]>
// CHECK: memref.global "private" constant @splat : memref<2x4xi8> = dense<34>
// CHECK: memref.global "private" constant @single : memref<2xi8> = dense<[8, 63]>
// CHECK-LABEL: func.func @constants(
// CHECK:         memref.get_global @pairs : memref<1x2xi8>
memref.global "private" constant @pairs : memref<1x4xf4E2M1FN> = dense<[[1.0, 2.0, 3.0, -6.0]]>
memref.global "private" constant @splat : memref<2x8xf4E2M1FN> = dense<1.0>
memref.global "private" constant @single : memref<2xf6E2M3FN> = dense<[1.0, -7.5]>
func.func @constants() -> memref<1x4xf4E2M1FN> {
  %x = memref.get_global @pairs : memref<1x4xf4E2M1FN>
  return %x : memref<1x4xf4E2M1FN>
}

// -----

// Rows whose static length is even are reshaped as bytes.
// CHECK-LABEL: func.func @reshape(
// CHECK-SAME:    %[[X:.*]]: memref<?x4x16xi8>, %[[M:.*]]: index)
// CHECK:         %[[C:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0], [1, 2]] : memref<?x4x16xi8> into memref<?x64xi8>
// CHECK:         memref.expand_shape %[[C]] {{\[\[}}0], [1, 2]] output_shape [%[[M]], 8, 8] : memref<?x64xi8> into memref<?x8x8xi8>
func.func @reshape(%x: memref<?x4x32xf4E2M1FN>, %m: index) -> memref<?x8x16xf4E2M1FN> {
  %c = memref.collapse_shape %x [[0], [1, 2]] : memref<?x4x32xf4E2M1FN> into memref<?x128xf4E2M1FN>
  %e = memref.expand_shape %c [[0], [1, 2]] output_shape [%m, 8, 16] : memref<?x128xf4E2M1FN> into memref<?x8x16xf4E2M1FN>
  return %e : memref<?x8x16xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @more_rows(
// CHECK-SAME:    %[[X:.*]]: memref<8x?xi8>, %[[N:.*]]: index)
// CHECK:         %[[MORE:.*]] = arith.addi %[[N]], %c1
// CHECK:         %[[BYTES:.*]] = arith.divui %[[MORE]], %c2
// CHECK:         memref.expand_shape %[[X]] {{\[\[}}0, 1], [2]] output_shape [2, 4, %[[BYTES]]] : memref<8x?xi8> into memref<2x4x?xi8>
func.func @more_rows(%x: memref<8x?xf4E2M1FN>, %n: index) -> memref<2x4x?xf4E2M1FN> {
  %e = memref.expand_shape %x [[0, 1], [2]] output_shape [2, 4, %n] : memref<8x?xf4E2M1FN> into memref<2x4x?xf4E2M1FN>
  return %e : memref<2x4x?xf4E2M1FN>
}

// -----

// A single row may have an odd length.
// CHECK-LABEL: func.func @joined_row(
// CHECK-SAME:    %[[X:.*]]: memref<1x?xi8>)
// CHECK:         memref.collapse_shape %[[X]] {{\[\[}}0, 1]] : memref<1x?xi8> into memref<?xi8>
func.func @joined_row(%x: memref<1x?xf4E2M1FN>) -> memref<?xf4E2M1FN> {
  %c = memref.collapse_shape %x [[0, 1]] : memref<1x?xf4E2M1FN> into memref<?xf4E2M1FN>
  return %c : memref<?xf4E2M1FN>
}

// CHECK-LABEL: func.func @divided_row(
// CHECK-SAME:    %[[X:.*]]: memref<?xi8>, %[[N:.*]]: index)
// CHECK:         %[[MORE:.*]] = arith.addi %[[N]], %c1
// CHECK:         %[[BYTES:.*]] = arith.divui %[[MORE]], %c2
// CHECK:         memref.expand_shape %[[X]] {{\[\[}}0, 1]] output_shape [1, %[[BYTES]]] : memref<?xi8> into memref<1x?xi8>
func.func @divided_row(%x: memref<?xf4E2M1FN>, %n: index) -> memref<1x?xf4E2M1FN> {
  %e = memref.expand_shape %x [[0, 1]] output_shape [1, %n] : memref<?xf4E2M1FN> into memref<1x?xf4E2M1FN>
  return %e : memref<1x?xf4E2M1FN>
}
