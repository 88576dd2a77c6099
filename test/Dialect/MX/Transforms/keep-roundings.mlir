// RUN: mx-opt %s --arith-emulate-unsupported-floats="source-types=bf16,f16 target-type=f32" --canonicalize | FileCheck %s --check-prefix=LOST
// RUN: mx-opt %s --arith-emulate-unsupported-floats="source-types=bf16,f16 target-type=f32" --mx-keep-roundings --canonicalize | FileCheck %s

// A sum of two bf16 values is rounded before the next addition, both in kernels
// and on the CPU. The upstream emulation may skip this rounding.
// LOST-LABEL: func @twice
// LOST-COUNT-1: arith.truncf
// LOST-NOT:     arith.truncf
// CHECK-LABEL: func @twice
// CHECK:         %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : vector<8xf32> to vector<8xbf16>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[ROUNDED]] : vector<8xbf16> to vector<8xf32>
// CHECK:         arith.addf %[[WIDE]], %{{.*}} : vector<8xf32>
func.func @twice(%a: vector<8xbf16>, %b: vector<8xbf16>, %c: vector<8xbf16>) -> vector<8xbf16> {
  %0 = arith.addf %a, %b : vector<8xbf16>
  %1 = arith.addf %0, %c : vector<8xbf16>
  return %1 : vector<8xbf16>
}
