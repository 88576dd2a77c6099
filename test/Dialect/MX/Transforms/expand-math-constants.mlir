// RUN: mx-opt %s --mx-expand-math | FileCheck %s

// Constant folding would call the host's math library, so the pass expands
// functions of constants without folding.

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
  // This value depends on constants only.
  %1 = arith.mulf %0, %c : f32
  %2 = math.log %1 : f32
  %minus = arith.negf %c : f32
  %e = math.exp %minus : f32
  %d = arith.addf %e, %one : f32
  %3 = arith.divf %one, %d : f32
  return %0, %2, %3 : f32, f32, f32
}
