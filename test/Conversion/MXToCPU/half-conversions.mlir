// RUN: mx-opt %s --mx-expand-half-conversions | FileCheck %s

// CHECK-LABEL: func.func @narrow(
// CHECK:         call @__mx_widen_f32
// CHECK:         %[[CODE:.*]] = call @__mx_round_f64_to_bf16
// CHECK:         arith.bitcast %[[CODE]] : i16 to bf16
// CHECK-NOT:     arith.truncf
func.func @narrow(%x: f32) -> bf16 {
  %y = arith.truncf %x : f32 to bf16
  return %y : bf16
}

// A conversion from f64 rounds only once.
// CHECK-LABEL: func.func @narrow_f64(
// CHECK-NEXT:    %[[BITS:.*]] = arith.bitcast %{{.*}} : f64 to i64
// CHECK-NEXT:    call @__mx_round_f64_to_f16(%[[BITS]])
func.func @narrow_f64(%x: f64) -> f16 {
  %y = arith.truncf %x : f64 to f16
  return %y : f16
}

// CHECK-LABEL: func.func @widen(
// CHECK:         call @__mx_widen_f16
// CHECK-NOT:     arith.extf
func.func @widen(%x: f16) -> f32 {
  %y = arith.extf %x : f16 to f32
  return %y : f32
}

// CHECK-LABEL: func.func @vectors(
// CHECK-COUNT-4: call @__mx_round_f64_to_bf16
// CHECK:         vector.from_elements {{.*}} : vector<2x2xbf16>
func.func @vectors(%x: vector<2x2xf32>) -> vector<2x2xbf16> {
  %y = arith.truncf %x : vector<2x2xf32> to vector<2x2xbf16>
  return %y : vector<2x2xbf16>
}

// CHECK-LABEL: func.func @keep(
// CHECK:         arith.extf
// CHECK:         arith.truncf
func.func @keep(%x: f32) -> f32 {
  %y = arith.extf %x : f32 to f64
  %z = arith.truncf %y : f64 to f32
  return %z : f32
}
