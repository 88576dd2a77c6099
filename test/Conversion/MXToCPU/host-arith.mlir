// RUN: mx-opt %s --mx-expand-host-arith | FileCheck %s
// RUN: mx-opt %s --mx-to-cpu | FileCheck %s --check-prefix=LLVM

// Equal operands may be zeros of different sign, so their maximum is the bitwise AND.
// LLVM-LABEL: llvm.func @maximum(
// CHECK-LABEL: func @maximum(
// CHECK-SAME:    %[[A:.*]]: f32, %[[B:.*]]: f32)
// CHECK:         %[[BOTH:.*]] = arith.andi
// CHECK:         %[[EQUAL:.*]] = arith.bitcast %[[BOTH]] : i32 to f32
// CHECK:         %[[LESS:.*]] = arith.cmpf ogt, %[[B]], %[[A]]
// CHECK:         %[[OTHER:.*]] = arith.select %[[LESS]], %[[B]], %[[EQUAL]]
// CHECK:         %[[MORE:.*]] = arith.cmpf ogt, %[[A]], %[[B]]
// CHECK:         %[[LARGER:.*]] = arith.select %[[MORE]], %[[A]], %[[OTHER]]
// CHECK:         %[[NAN:.*]] = arith.addf %[[A]], %[[B]]
// CHECK:         %[[IS:.*]] = arith.cmpf uno, %[[A]], %[[B]]
// CHECK:         arith.select %[[IS]], %[[NAN]], %[[LARGER]]
// LLVM-NOT:      llvm.intr.maximum
func.func @maximum(%a: f32, %b: f32) -> f32 {
  %0 = arith.maximumf %a, %b : f32
  return %0 : f32
}

// LLVM-LABEL: llvm.func @minnum(
// CHECK-LABEL: func @minnum(
// CHECK:         arith.ori %{{.*}} : vector<4xi64>
// CHECK:         arith.cmpf uno
// CHECK:         arith.cmpf uno
// LLVM-NOT:      llvm.intr.minnum
func.func @minnum(%a: vector<4xf64>, %b: vector<4xf64>) -> vector<4xf64> {
  %0 = arith.minnumf %a, %b : vector<4xf64>
  return %0 : vector<4xf64>
}

// The multiplication is exact in f64, and the addition rounds to odd.
// LLVM-LABEL: llvm.func @fma(
// CHECK-LABEL: func @fma(
// CHECK-COUNT-3: arith.extf %{{.*}} : bf16 to f64
// CHECK:         arith.mulf
// CHECK-NOT:     math.fma
// CHECK:         arith.truncf %{{.*}} : f64 to bf16
// LLVM-NOT:      llvm.intr.fma
// LLVM-NOT:      llvm.fptrunc
func.func @fma(%a: bf16, %b: bf16, %c: bf16) -> bf16 {
  %0 = math.fma %a, %b, %c : bf16
  return %0 : bf16
}

// LLVM-LABEL: llvm.func @full(
// CHECK-LABEL: func @full(
// CHECK-NEXT:    math.fma %{{.*}} : f32
// LLVM:         llvm.intr.fma
func.func @full(%a: f32) -> f32 {
  %0 = math.fma %a, %a, %a : f32
  return %0 : f32
}

// LLVM-LABEL: llvm.func @select(
// CHECK-LABEL: func @select(
// CHECK:         arith.select %{{.*}} : i16
// LLVM-NOT:      llvm.select {{.*}} bf16
func.func @select(%c: i1, %a: bf16, %b: bf16) -> bf16 {
  %0 = arith.select %c, %a, %b : bf16
  return %0 : bf16
}
