// RUN: mx-opt %s --mx-expand-math | FileCheck %s --implicit-check-not="math.{{(a?(sin|cos|tan)|log|f?pow|exp|erf|round |is|clamp|cbrt|rsqrt)}}"

// Expands every supported function of scalars, vectors and tensors. docs/reference/Math.md
// lists the sequences, and test/Integration/Run/functions.py checks their results.

// CHECK-LABEL: func @sin(
// A large angle is handled in a branch.
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK:         %[[SIZE:.*]] = math.absf %[[X]] : f32
// CHECK:         %[[LARGE:.*]] = arith.cmpf olt, %{{.*}}, %[[SIZE]] : f32
// CHECK:         scf.if %[[LARGE]] -> (i32, f32)
// CHECK:           arith.sitofp %{{.*}} : i64 to f64
// CHECK:         else
// CHECK-NEXT:      scf.yield
// CHECK-COUNT-8: math.fma %{{.*}} : f32
// CHECK:         return
func.func @sin(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}

// For vectors, both paths are computed and the results are selected for each element.
// CHECK-LABEL: func @vectors(
// CHECK-NOT:     scf.if
// CHECK:         arith.select %{{.*}} : vector<3xi1>, vector<3xf32>
// CHECK:         return %{{.*}} : vector<3xf32>
func.func @vectors(%x: vector<3xf32>) -> vector<3xf32> {
  %0 = math.cos %x : vector<3xf32>
  return %0 : vector<3xf32>
}

// CHECK-LABEL: func @both(
// CHECK:         scf.if
// CHECK:         scf.if
// CHECK:         return %{{.*}}, %{{.*}} : f32, f32
func.func @both(%x: f32) -> (f32, f32) {
  %0, %1 = math.sincos %x : f32
  return %0, %1 : f32, f32
}

// f16 and bf16 are computed in f32 and rounded once.
// CHECK-LABEL: func @halves(
// CHECK-SAME:    %[[X:.*]]: bf16, %[[N:.*]]: index)
// CHECK:         arith.extf %[[X]] : bf16 to f32
// CHECK:         %[[I:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:         arith.sitofp %[[I]] : i64 to f64
// CHECK:         %[[R:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:    return %[[R]]
func.func @halves(%x: bf16, %n: index) -> bf16 {
  %0 = math.fpowi %x, %n : bf16, index
  return %0 : bf16
}

// A square becomes a multiplication.
// CHECK-LABEL: func @square(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK:         %[[R:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT:    return %[[R]]
func.func @square(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %0 = math.powf %x, %two : f32
  return %0 : f32
}

// Functions built only from comparisons are computed in the type of their operands.
// CHECK-LABEL: func @exact(
// CHECK-SAME:    %[[X:.*]]: f64, %[[Y:.*]]: bf16)
// CHECK-DAG:     %[[INF:.*]] = arith.constant 0x7FF0000000000000 : f64
// CHECK-DAG:     %[[LEAST:.*]] = arith.constant 1.175490e-38 : bf16
// CHECK:         %[[SIZE:.*]] = math.absf %[[X]] : f64
// CHECK:         arith.cmpf oeq, %[[SIZE]], %{{.*}} : f64
// CHECK:         arith.cmpf olt, %{{.*}} : bf16
// CHECK:         arith.maximumf %[[X]], %[[X]] : f64
// CHECK:         arith.minimumf %{{.*}}, %[[X]] : f64
// CHECK-NOT:     arith.extf
func.func @exact(%x: f64, %y: bf16) -> (i1, i1, f64, f64) {
  %0 = math.isinf %x : f64
  %1 = math.isnormal %y : bf16
  %2 = math.clampf %x to [%x, %x] : f64
  %3 = math.round %x : f64
  return %0, %1, %2, %3 : i1, i1, f64, f64
}

// Functions that every target computes exactly are kept.
// CHECK-LABEL: func @stays(
// CHECK-DAG:     math.sqrt %{{.*}} : f64
// CHECK-DAG:     math.fma
// CHECK-DAG:     math.floor
// CHECK-DAG:     math.ctlz
func.func @stays(%x: f64, %i: i32) -> (f64, f64, f64, i32) {
  %0 = math.sqrt %x : f64
  %1 = math.fma %x, %x, %x : f64
  %2 = math.floor %x : f64
  %3 = math.ctlz %i : i32
  return %0, %1, %2, %3 : f64, f64, f64, i32
}

// A function of a tensor is expanded for each element.
// CHECK-LABEL: func @tensors(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xbf16>, %[[Y:.*]]: tensor<8xf32>)
// CHECK:         tensor.dim %[[X]]
// CHECK:         %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xbf16>
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[X]] : tensor<?x4xbf16>) outs(%[[EMPTY]] : tensor<?x4xbf16>)
// CHECK-NEXT:    ^bb0(%[[E:.*]]: bf16, %{{.*}}: bf16):
// CHECK:           arith.extf %[[E]] : bf16 to f32
// CHECK:           linalg.yield %{{.*}} : bf16
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[Y]], %[[Y]] : tensor<8xf32>, tensor<8xf32>)
// CHECK:           math.fma
// CHECK:         linalg.generic
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>)
func.func @tensors(%x: tensor<?x4xbf16>, %y: tensor<8xf32>)
    -> (tensor<?x4xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = math.erf %x : tensor<?x4xbf16>
  %1 = math.atan2 %y, %y : tensor<8xf32>
  %2, %3 = math.sincos %y : tensor<8xf32>
  return %0, %1, %2, %3 : tensor<?x4xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
