// RUN: mx-opt %s --mx-define-arith --split-input-file --verify-diagnostics | FileCheck %s

// Tests the rules in the section "Arithmetic" of docs/reference/Math.md.

// A number in range is converted. A number out of range becomes the nearest limit of the integer type.
// CHECK-LABEL: func @to_signed(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK-DAG:     %[[ABOVE:.*]] = arith.constant 2.14748365E+9 : f32
// CHECK-DAG:     %[[LEAST:.*]] = arith.constant -2.14748365E+9 : f32
// CHECK:         %[[LARGE:.*]] = arith.cmpf oge, %[[X]], %[[ABOVE]]
// CHECK:         %[[FITS:.*]] = arith.andi
// CHECK:         %[[INSIDE:.*]] = arith.select %[[FITS]], %[[X]]
// CHECK:         %[[NUMBER:.*]] = arith.fptosi %[[INSIDE]] : f32 to i32
// CHECK:         %[[MAX:.*]] = arith.constant 2147483647 : i32
// CHECK:         arith.select %[[LARGE]], %[[MAX]], %[[NUMBER]]
// CHECK:         %[[SMALL:.*]] = arith.cmpf olt, %[[X]], %[[LEAST]]
// CHECK:         %[[MIN:.*]] = arith.constant -2147483648 : i32
// CHECK:         arith.select %[[SMALL]], %[[MIN]]
func.func @to_signed(%x: f32) -> i32 {
  %y = arith.fptosi %x : f32 to i32
  return %y : i32
}

// f16 is widened to f32, because f16 may not represent a limit. Vectors are converted like scalars.
// CHECK-LABEL: func @to_unsigned(
// CHECK:         arith.extf %{{.*}} : vector<4xf16> to vector<4xf32>
// CHECK:         arith.constant dense<6.553600e+04> : vector<4xf32>
// CHECK:         arith.fptoui %{{.*}} : vector<4xf32> to vector<4xi16>
// CHECK:         arith.constant dense<-1> : vector<4xi16>
func.func @to_unsigned(%x: vector<4xf16>) -> vector<4xi16> {
  %y = arith.fptoui %x : vector<4xf16> to vector<4xi16>
  return %y : vector<4xi16>
}

// CHECK-LABEL: func @to_bf16(
// CHECK:         math.ctlz
// CHECK:         %[[ODD:.*]] = arith.select
// CHECK:         %[[WIDE:.*]] = arith.sitofp %[[ODD]] : i32 to f32
// CHECK:         arith.truncf %[[WIDE]] : f32 to bf16
func.func @to_bf16(%x: i32) -> bf16 {
  %y = arith.sitofp %x : i32 to bf16
  return %y : bf16
}

// CHECK-LABEL: func @to_f16(
// CHECK:         %[[WIDE:.*]] = arith.uitofp %{{.*}} : i16 to f32
// CHECK:         %[[BEYOND:.*]] = arith.constant 6.553500e+04 : f32
// CHECK:         %[[LESS:.*]] = arith.minimumf %{{.*}}, %[[BEYOND]]
// CHECK:         arith.truncf %[[LESS]] : f32 to f16
func.func @to_f16(%x: i16) -> f16 {
  %y = arith.uitofp %x : i16 to f16
  return %y : f16
}

// Conversions to f32, and conversions of integers that f32 represents exactly, are kept.
// CHECK-LABEL: func @short(
// CHECK-NEXT:    arith.sitofp %{{.*}} : i16 to bf16
// CHECK-NEXT:    arith.sitofp %{{.*}} : i64 to f32
func.func @short(%x: i16, %y: i64) -> (bf16, f32) {
  %0 = arith.sitofp %x : i16 to bf16
  %1 = arith.sitofp %y : i64 to f32
  return %0, %1 : bf16, f32
}

// CHECK-LABEL: func @bool(
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.0
// CHECK-DAG:     %[[MINUS:.*]] = arith.constant -1.0
// CHECK:         arith.select %{{.*}}, %[[MINUS]], %[[ZERO]] : bf16
func.func @bool(%x: i1) -> bf16 {
  %0 = arith.sitofp %x : i1 to bf16
  return %0 : bf16
}

// A conversion to f64 and then to bf16 rounds twice, and both roundings are kept.
// CHECK-LABEL: func @twice(
// CHECK:         %[[WIDE:.*]] = arith.sitofp
// CHECK:         %[[KEPT:.*]] = math.copysign %[[WIDE]], %[[WIDE]]
// CHECK:         arith.truncf %[[KEPT]] : f64 to bf16
func.func @twice(%x: i64) -> bf16 {
  %0 = arith.sitofp %x : i64 to f64
  %1 = arith.truncf %0 : f64 to bf16
  return %1 : bf16
}

// CHECK-LABEL: func @bits(
// CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK:         %[[NAN:.*]] = arith.constant 2147483647 : i32
// CHECK:         %[[INF:.*]] = arith.constant 2139095040 : i32
// CHECK:         %[[MAGNITUDE:.*]] = arith.andi %[[BITS]], %[[NAN]]
// CHECK:         %[[IS:.*]] = arith.cmpi ugt, %[[MAGNITUDE]], %[[INF]]
// CHECK:         arith.select %[[IS]], %[[NAN]], %[[BITS]]
// A bitcast from an integer to a float is not rewritten.
// CHECK-NEXT:    arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT:    return
func.func @bits(%x: f32, %y: i32) -> (i32, f32) {
  %0 = arith.bitcast %x : f32 to i32
  %1 = arith.bitcast %y : i32 to f32
  return %0, %1 : i32, f32
}

// CHECK-LABEL: func @sign(
// CHECK:         %[[SIGN:.*]] = arith.bitcast %{{.*}} : i16 to bf16
// CHECK:         math.copysign %{{.*}}, %[[SIGN]] : bf16
func.func @sign(%x: bf16, %y: bf16) -> bf16 {
  %0 = math.copysign %x, %y : bf16
  return %0 : bf16
}

// CHECK-LABEL: func @flags(
// CHECK-NOT:     fastmath
// CHECK-NOT:     to_nearest_even
// CHECK:         return
func.func @flags(%x: f32) -> bf16 {
  %0 = arith.addf %x, %x fastmath<fast> : f32
  %1 = math.sqrt %0 fastmath<afn> : f32
  %2 = arith.truncf %1 to_nearest_even fastmath<contract> : f32 to bf16
  return %2 : bf16
}

// -----

func.func @rounding(%x: f32) -> bf16 {
  // expected-error @below {{'arith.truncf' op expected rounding to_nearest_even, which all targets compute, found toward_zero}}
  %0 = arith.truncf %x toward_zero : f32 to bf16
  return %0 : bf16
}
