// RUN: mx-opt %s --mx-expand-math | FileCheck %s

// Tests the sequences listed as formulas in docs/reference/Math.md; test/Integration/Run/exponentials.test compares
// their bits.

// The expansion contains no rounding to an integer, no comparison and no branch.
// CHECK-LABEL: func @exp(
// CHECK-NOT:     math.exp
// CHECK-NOT:     arith.cmp
// CHECK-COUNT-9: math.fma %{{.*}} : f32
// CHECK:         arith.mulf
// CHECK:         arith.mulf
// CHECK-NEXT:    return
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func @sigmoid(
// CHECK-NOT:     math.exp
// CHECK-NOT:     arith.negf
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<4xf32>
// CHECK-DAG:     %[[LIMIT:.*]] = arith.constant dense<8.700000e+01> : vector<4xf32>
// CHECK-COUNT-8: math.fma
// CHECK:         %[[D:.*]] = math.fma
// CHECK:         %[[Y:.*]] = arith.divf %{{.*}}, %[[D]] {mx.normal_reciprocal} : vector<4xf32>
// CHECK:         %[[S:.*]] = arith.subf %[[Y]], %{{.*}} : vector<4xf32>
// CHECK-NEXT:    return %[[S]]
func.func @sigmoid(%x: vector<4xf32>) -> vector<4xf32> {
  %one = arith.constant dense<1.0> : vector<4xf32>
  %minus = arith.negf %x : vector<4xf32>
  %e = math.exp %minus : vector<4xf32>
  %d = arith.addf %e, %one : vector<4xf32>
  %0 = arith.divf %one, %d : vector<4xf32>
  return %0 : vector<4xf32>
}

// CHECK-LABEL: func @silu(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK:         %[[Y:.*]] = arith.divf %{{.*}}, %{{.*}} {mx.normal_reciprocal} : f32
// CHECK:         %[[S:.*]] = arith.subf %[[Y]], %{{.*}} : f32
// CHECK:         %[[R:.*]] = arith.mulf %[[X]], %[[S]] : f32
// CHECK-NEXT:    return %[[R]]
func.func @silu(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %minus = arith.negf %x : f32
  %e = math.exp %minus : f32
  %d = arith.addf %one, %e : f32
  %0 = arith.divf %x, %d : f32
  return %0 : f32
}

// The division is kept in patterns that only resemble a sigmoid.

// CHECK-LABEL: func @other_numerator(
// CHECK:         arith.divf %{{.*}}, %{{[a-z0-9_]*}} : f32
// CHECK-NEXT:    return
func.func @other_numerator(%x: f32, %n: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %minus = arith.negf %x : f32
  %e = math.exp %minus : f32
  %d = arith.addf %one, %e : f32
  %0 = arith.divf %n, %d : f32
  return %0 : f32
}

// CHECK-LABEL: func @two(
// CHECK:         arith.divf %{{.*}}, %{{[a-z0-9_]*}} : f32
// CHECK-NEXT:    return
func.func @two(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %minus = arith.negf %x : f32
  %e = math.exp %minus : f32
  %d = arith.addf %two, %e : f32
  %0 = arith.divf %x, %d : f32
  return %0 : f32
}

// CHECK-LABEL: func @plus(
// CHECK:         arith.divf %{{.*}}, %{{[a-z0-9_]*}} : f32
// CHECK-NEXT:    return
func.func @plus(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %e = math.exp %x : f32
  %d = arith.addf %one, %e : f32
  %0 = arith.divf %x, %d : f32
  return %0 : f32
}

// The types of the operations require four roundings to bf16.
// CHECK-LABEL: func @halves(
// CHECK:         arith.truncf
// CHECK:         arith.addf %{{.*}} : bf16
// CHECK:         arith.divf %{{.*}}, %{{[a-z0-9_]*}} : bf16
func.func @halves(%x: bf16) -> bf16 {
  %one = arith.constant 1.0 : bf16
  %minus = arith.negf %x : bf16
  %e = math.exp %minus : bf16
  %d = arith.addf %one, %e : bf16
  %0 = arith.divf %x, %d : bf16
  return %0 : bf16
}

// An exp with another user is expanded separately for that user.
// CHECK-LABEL: func @shared(
// CHECK:         arith.shrsi
// CHECK:         arith.divf %{{.*}} {mx.normal_reciprocal} : f32
// CHECK-NOT:     math.exp
func.func @shared(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %minus = arith.negf %x : f32
  %e = math.exp %minus : f32
  %d = arith.addf %one, %e : f32
  %0 = arith.divf %one, %d : f32
  return %e, %0 : f32, f32
}
