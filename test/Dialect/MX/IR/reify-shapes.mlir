// RUN: mx-opt %s --resolve-ranked-shaped-type-result-dims | FileCheck %s

// A result has the shape of its destination.
// CHECK-LABEL: func @quantize(
// CHECK-SAME:      %{{[^:]*}}: tensor<?x?xf32>, %[[E:[^:]*]]: tensor<?x?xf8E4M3FN>, %[[F:[^:]*]]: tensor<?x?xf8E8M0FNU>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1
// CHECK-DAG:     %[[M:.*]] = tensor.dim %[[E]], %[[C0]]
// CHECK-DAG:     %[[B:.*]] = tensor.dim %[[F]], %[[C1]]
// CHECK:         return %[[M]], %[[B]]
func.func @quantize(%x: tensor<?x?xf32>, %e: tensor<?x?xf8E4M3FN>, %f: tensor<?x?xf8E8M0FNU>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %s = mx.quantize ins(%x : tensor<?x?xf32>)
      outs(%e, %f : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>)
      -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %m = tensor.dim %q, %c0 : tensor<?x?xf8E4M3FN>
  %b = tensor.dim %s, %c1 : tensor<?x?xf8E8M0FNU>
  return %m, %b : index, index
}
