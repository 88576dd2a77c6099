// RUN: mx-test-opt %s --test-mxgpu-break="kind=drop-release" | FileCheck %s
// RUN: not mx-test-opt %s --test-mxgpu-break="kind=drop-release n=1" 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not mx-test-opt %s --test-mxgpu-break="kind=nothing" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Breaks the selected operation, and rejects an index out of range and an unknown kind.

// CHECK:     mxgpu.consumer_wait
// CHECK-NOT: mxgpu.consumer_release
// BEYOND: error: expected a place below 1 of drop-release, found 1
// UNKNOWN: error: unknown kind of breakage 'nothing'
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @mma warps(1) elected {
      %s, %a = mxgpu.consumer_wait %ring : !ring
      mxgpu.consumer_release %s : !mxgpu.stage<!ring>
    }
  }
}
