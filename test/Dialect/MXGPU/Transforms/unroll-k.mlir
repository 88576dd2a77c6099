// RUN: mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k | FileCheck %s
// RUN: mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k=factor=1 | FileCheck %s --check-prefix=ONE
// RUN: not mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k=factor=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not mx-opt %s --allow-unregistered-dialect --mxgpu-unroll-k=factor=65 2>&1 | FileCheck %s --check-prefix=MOST

// ZERO: error: expected a factor from 1 to 64, found 0
// MOST: error: expected a factor from 1 to 64, found 65

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: mxgpu.kernel @loop(
  // CHECK:         "use"
  // CHECK-NEXT:  } {unroll = 2 : i64}
  // CHECK:         "use"
  // CHECK-NEXT:  } {unroll = 2 : i64}
  // ONE-LABEL:   mxgpu.kernel @loop(
  // ONE-NOT:       unroll
  mxgpu.kernel @loop(%k0: index, %k1: index) {
    mxgpu.role @only warps(4) {
      mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 64 {
        "use"(%k, %extent, %first) : (index, index, i1) -> ()
      }
      mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 128 {
        "use"(%k, %extent, %first) : (index, index, i1) -> ()
      } {unroll = 4 : i64}
    }
  }
}
