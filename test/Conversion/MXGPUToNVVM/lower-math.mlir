// RUN: mx-opt %s --mxgpu-lower-math --verify-roundtrip | FileCheck %s

// Lowers arithmetic to cheaper operations than upstream does.

gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // CHECK-LABEL: mxgpu.kernel @reciprocal(
  // CHECK:         %[[X:.*]] = vector.load
  // CHECK:         %[[X0:.*]] = vector.extract %[[X]][0]
  // CHECK-NEXT:    %[[Y0:.*]] = nvvm.rcp.approx.ftz.f %[[X0]] : f32
  // CHECK:         %[[X1:.*]] = vector.extract %[[X]][1]
  // CHECK-NEXT:    %[[Y1:.*]] = nvvm.rcp.approx.ftz.f %[[X1]] : f32
  // CHECK:         %[[Y:.*]] = vector.from_elements %[[Y0]], %[[Y1]]
  // CHECK-NEXT:    %[[MINUS:.*]] = llvm.fneg %[[X]]
  // CHECK-NEXT:    %[[ERROR:.*]] = llvm.intr.fma(%[[MINUS]], %[[Y]], %{{.*}})
  // CHECK-NEXT:    %[[R:.*]] = llvm.intr.fma(%[[Y]], %[[ERROR]], %[[Y]])
  // CHECK-NEXT:    vector.store %[[R]]
  // A division is unchanged if its dividend is not 1, or if the division lacks the
  // attribute that mx-expand-math sets.
  // CHECK:         arith.divf %{{.*}}, %[[X]] : vector<2xf32>
  // CHECK:         arith.divf %[[X]], %{{.*}} {mx.normal_reciprocal} : vector<2xf32>
  mxgpu.kernel @reciprocal(%m: memref<8xf32>) {
    mxgpu.role @only warps(1) {
      %c0 = arith.constant 0 : index
      %one = arith.constant dense<1.0> : vector<2xf32>
      %x = vector.load %m[%c0] : memref<8xf32>, vector<2xf32>
      %y = arith.divf %one, %x {mx.normal_reciprocal} : vector<2xf32>
      vector.store %y, %m[%c0] : memref<8xf32>, vector<2xf32>
      %z = arith.divf %one, %x : vector<2xf32>
      vector.store %z, %m[%c0] : memref<8xf32>, vector<2xf32>
      %w = arith.divf %x, %z {mx.normal_reciprocal} : vector<2xf32>
      vector.store %w, %m[%c0] : memref<8xf32>, vector<2xf32>
    }
  }

  // CHECK-LABEL: mxgpu.kernel @clamp(
  // CHECK:         %[[X:.*]] = memref.load
  // CHECK:         %[[LIMIT:.*]] = arith.constant 8.700000e+01 : f32
  // CHECK-NEXT:    %[[C:.*]] = llvm.call_intrinsic "llvm.nvvm.fmin.nan.xorsign.abs.f"(%[[X]], %[[LIMIT]])
  // CHECK:         memref.store %[[C]]
  // A clamp is unchanged if its limits differ in magnitude or are applied in reverse order.
  // CHECK:         %[[A:.*]] = arith.maximumf %[[X]],
  // CHECK:         arith.minimumf %[[A]],
  // CHECK:         %[[B:.*]] = arith.minimumf %[[X]],
  // CHECK:         arith.maximumf %[[B]],
  // CHECK-NOT:     xorsign
  mxgpu.kernel @clamp(%m: memref<8xf32>) {
    mxgpu.role @only warps(1) {
      %c0 = arith.constant 0 : index
      %low = arith.constant -87.0 : f32
      %lower = arith.constant -88.0 : f32
      %high = arith.constant 87.0 : f32
      %x = memref.load %m[%c0] : memref<8xf32>
      %0 = arith.maximumf %x, %low : f32
      %1 = arith.minimumf %0, %high : f32
      memref.store %1, %m[%c0] : memref<8xf32>
      %2 = arith.maximumf %x, %lower : f32
      %3 = arith.minimumf %2, %high : f32
      memref.store %3, %m[%c0] : memref<8xf32>
      %4 = arith.minimumf %x, %low : f32
      %5 = arith.maximumf %4, %high : f32
      memref.store %5, %m[%c0] : memref<8xf32>
    }
  }

  // A separate instruction widens each half of a word.
  // CHECK-LABEL: mxgpu.kernel @widen(
  // CHECK:         %[[X:.*]] = vector.load %{{.*}} vector<4xbf16>
  // CHECK-DAG:     %[[BY:.*]] = arith.constant dense<16> : vector<2xi32>
  // CHECK-DAG:     %[[UPPER:.*]] = arith.constant dense<-65536> : vector<2xi32>
  // CHECK:         %[[WORDS:.*]] = vector.bitcast %[[X]] : vector<4xbf16> to vector<2xi32>
  // CHECK-NEXT:    %[[LOW:.*]] = arith.shli %[[WORDS]], %[[BY]]
  // CHECK-NEXT:    %[[HIGH:.*]] = arith.andi %[[WORDS]], %[[UPPER]]
  // CHECK-NEXT:    %[[ALL:.*]] = vector.interleave %[[LOW]], %[[HIGH]]
  // CHECK-NEXT:    arith.bitcast %[[ALL]] : vector<4xi32> to vector<4xf32>
  // Vectors of odd length and of other types are unchanged.
  // CHECK:         arith.extf %{{.*}} : vector<3xbf16> to vector<3xf32>
  // CHECK:         arith.extf %{{.*}} : vector<4xf16> to vector<4xf32>
  mxgpu.kernel @widen(%m: memref<8xbf16>, %h: memref<8xf16>, %to: memref<8xf32>) {
    mxgpu.role @only warps(1) {
      %c0 = arith.constant 0 : index
      %x = vector.load %m[%c0] : memref<8xbf16>, vector<4xbf16>
      %0 = arith.extf %x : vector<4xbf16> to vector<4xf32>
      vector.store %0, %to[%c0] : memref<8xf32>, vector<4xf32>
      %y = vector.load %m[%c0] : memref<8xbf16>, vector<3xbf16>
      %1 = arith.extf %y : vector<3xbf16> to vector<3xf32>
      vector.store %1, %to[%c0] : memref<8xf32>, vector<3xf32>
      %z = vector.load %h[%c0] : memref<8xf16>, vector<4xf16>
      %2 = arith.extf %z : vector<4xf16> to vector<4xf32>
      vector.store %2, %to[%c0] : memref<8xf32>, vector<4xf32>
    }
  }
}
