// RUN: mx-opt %s --mx-expand-math="before-folding" | FileCheck %s
// RUN: mx-opt %s --mx-expand-math="before-folding" --canonicalize --mx-expand-math --canonicalize > %t.early
// RUN: mx-opt %s --mx-expand-math --canonicalize > %t.late
// RUN: diff %t.early %t.late

// Folding would compute functions of constants by the host's library: those are
// expanded first, others wait for fusion.

// CHECK-LABEL: func @constants(
// CHECK-NOT:     math.rsqrt
// CHECK-NOT:     math.exp
// CHECK-NOT:     math.log
// CHECK:         {mx.normal_reciprocal}
// CHECK:         return
func.func @constants() -> (f32, f32, f32) {
  %c = arith.constant 7.1 : f32
  %one = arith.constant 1.0 : f32
  %0 = math.rsqrt %c : f32
  // Of what depends on constants only.
  %1 = arith.mulf %0, %c : f32
  %2 = math.log %1 : f32
  %minus = arith.negf %c : f32
  %e = math.exp %minus : f32
  %d = arith.addf %e, %one : f32
  %3 = arith.divf %one, %d : f32
  return %0, %2, %3 : f32, f32, f32
}

// CHECK-LABEL: func @not_constants(
// CHECK:         math.exp
// CHECK:         arith.divf %{{.*}}, %{{[a-z0-9_]*}} : f32
// CHECK-NEXT:    return
func.func @not_constants(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %minus = arith.negf %x : f32
  %e = math.exp %minus : f32
  %d = arith.addf %e, %one : f32
  %0 = arith.divf %one, %d : f32
  return %0 : f32
}

// CHECK-LABEL: func @tensors(
// CHECK:         linalg.generic
// CHECK:           math.cos %{{.*}} : f32
func.func @tensors(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = math.cos %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
