// RUN: mx-opt %s -split-input-file --mxgpu-lower-work --mxgpu-assign-warps --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// Without a cvt from 4 bits on sm_90a, the bits of an element are shifted to the fields of an f16. The
// exact result is rounded once, by the conversion to bf16.

// CHECK-LABEL: llvm.func @on_bits(
// CHECK-DAG:     %[[BIAS:.*]] = llvm.mlir.constant(dense<1.638400e+04> : vector<2xf16>)
// CHECK:         llvm.load %{{.*}} invariant {alignment = 1 : i64} : !llvm.ptr<1> -> vector<1xi8>
// CHECK:         llvm.fmul %{{.*}}, %[[BIAS]] : vector<2xf16>
// CHECK:         %[[PRODUCT0:.*]] = arith.mulf %{{.*}}, %{{.*}}
// CHECK:         %[[PRODUCT1:.*]] = arith.mulf %{{.*}}, %{{.*}}
// CHECK:         nvvm.convert.f32x2.to.bf16x2 %[[PRODUCT1]], %[[PRODUCT0]]
// CHECK-COUNT-3: nvvm.convert.f32x2.to.bf16x2
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @on_bits(%q: memref<?x?xi8>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %x: memref<?x?xbf16>, %n: index) {
    mxgpu.role @dequantize warps(4) {
      %v = mxgpu.load_block %q[%n, %n] : memref<?x?xi8> -> vector<8xf4E2M1FN>
      %f = mxgpu.load_scale %s[%n, %n] : memref<?x?x32x4x4xf8E8M0FNU> -> f8E8M0FNU
      %e = mxgpu.dequantize_block %v by %f : vector<8xf4E2M1FN>, f8E8M0FNU -> vector<8xbf16>
      mxgpu.store_block %e, %x[%n, %n] : vector<8xbf16>, memref<?x?xbf16>
    }
  }
}

// -----

// sm_100a converts from 4 bits with cvt. The tensor's scale is applied before the result is rounded to the
// result type. For an f16 result, the f32 multiplication by this scale rounds to odd.

// CHECK-LABEL: llvm.func @nvfp4(
// CHECK-SAME:    %[[G:[a-z0-9]*]]: f32
// CHECK:         nvvm.convert.f8x2.to.f16x2
// CHECK:         nvvm.convert.f4x2.to.f16x2
// CHECK:         %[[EXACT:.*]] = arith.mulf
// CHECK-DAG:     llvm.call_intrinsic "llvm.nvvm.mul.rm.f"(%[[EXACT]], %[[G]])
// CHECK-DAG:     llvm.call_intrinsic "llvm.nvvm.mul.rp.f"(%[[EXACT]], %[[G]])
// CHECK-DAG:     llvm.call_intrinsic "llvm.nvvm.mul.rz.f"(%[[EXACT]], %[[G]])
// CHECK:         nvvm.convert.f32x2.to.f16x2
// CHECK-LABEL: llvm.func @nvfp4_f32(
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         llvm.store
// CHECK-LABEL: llvm.func @int8(
// CHECK:         nvvm.prmt
// CHECK:         arith.addf
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @nvfp4(%q: memref<?x?xi8>, %s: memref<?x?xf8E4M3FN>, %x: memref<?x?xf16>, %g: f32, %n: index) {
    mxgpu.role @dequantize warps(4) {
      %v = mxgpu.load_block %q[%n, %n] : memref<?x?xi8> -> vector<8xf4E2M1FN>
      %f = mxgpu.load_scale %s[%n, %n] : memref<?x?xf8E4M3FN> -> f8E4M3FN
      %e = mxgpu.dequantize_block %v by %f decode(%g) : vector<8xf4E2M1FN>, f8E4M3FN -> vector<8xf16>
      mxgpu.store_block %e, %x[%n, %n] : vector<8xf16>, memref<?x?xf16>
    }
  }
  mxgpu.kernel @nvfp4_f32(%q: memref<?x?xi8>, %s: memref<?x?xf8E4M3FN>, %x: memref<?x?xf32>, %g: f32, %n: index) {
    mxgpu.role @dequantize warps(4) {
      %v = mxgpu.load_block %q[%n, %n] : memref<?x?xi8> -> vector<8xf4E2M1FN>
      %f = mxgpu.load_scale %s[%n, %n] : memref<?x?xf8E4M3FN> -> f8E4M3FN
      %e = mxgpu.dequantize_block %v by %f decode(%g) : vector<8xf4E2M1FN>, f8E4M3FN -> vector<8xf32>
      mxgpu.store_block %e, %x[%n, %n] : vector<8xf32>, memref<?x?xf32>
    }
  }
  mxgpu.kernel @int8(%q: memref<?x?xi8>, %s: memref<?x?xf8E8M0FNU>, %x: memref<?x?xf32>, %n: index) {
    mxgpu.role @dequantize warps(4) {
      %v = mxgpu.load_block %q[%n, %n] : memref<?x?xi8> -> vector<8xi8>
      %f = mxgpu.load_scale %s[%n, %n] : memref<?x?xf8E8M0FNU> -> f8E8M0FNU
      %e = mxgpu.dequantize_block %v by %f : vector<8xi8>, f8E8M0FNU -> vector<8xf32>
      mxgpu.store_block %e, %x[%n, %n] : vector<8xf32>, memref<?x?xf32>
    }
  }
}
