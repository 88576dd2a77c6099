// RUN: mx-opt %s --mxgpu-unroll-fragments --verify-roundtrip | FileCheck %s

// Unrolls loops over the columns of a tile so that columns are constants.

!acc = !mxgpu.ring<1 x (d: tmem<128x64xf32>), producer = mma_commit, consumer = threads(128)>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x64xf32>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // CHECK-LABEL: mxgpu.kernel @columns(
  // CHECK:         mxgpu.load_accumulator %{{.*}} column(%c0)
  // CHECK-NEXT:    mxgpu.to_rows
  // CHECK-NEXT:    mxgpu.store_fragment {{.*}}%c0] when(%{{.*}}) aligned(32)
  // CHECK:         mxgpu.load_accumulator %{{.*}} column(%c32)
  // CHECK-NEXT:    mxgpu.to_rows
  // CHECK-NEXT:    mxgpu.store_fragment {{.*}}%c32] when(%{{.*}}) aligned(32)
  // Loops for edge tiles are not unrolled, because their code is already long. Loops with unknown
  // trip counts are not unrolled either.
  // CHECK:         scf.for %[[I:.*]] = %c0 to %c64 step %c32
  // CHECK-NEXT:      mxgpu.load_accumulator %{{.*}} column(%[[I]])
  // CHECK-NEXT:      mxgpu.to_rows
  // CHECK-NEXT:      mxgpu.store_fragment {{.*}}%[[I]]] when(%{{[^ ]*}}) :
  // CHECK:         scf.for %[[I:.*]] = %c0 to %[[N:.*]] step %c32
  // CHECK-NEXT:      mxgpu.load_accumulator %{{.*}} column(%[[I]])
  // CHECK-NEXT:      mxgpu.to_rows
  // CHECK-NEXT:      mxgpu.store_fragment
  // CHECK-NOT:     mxgpu.store_fragment
  mxgpu.kernel @columns(%out: memref<?x?xf32>, %n: index, %some: i1) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      scf.for %i = %c0 to %c64 step %c32 {
        %f_fragment = mxgpu.load_accumulator %d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        mxgpu.store_fragment %f, %out[%n, %i] when(%some) aligned(32) : vector<32xf32>, memref<?x?xf32>
      }
      scf.for %i = %c0 to %c64 step %c32 {
        %f_fragment = mxgpu.load_accumulator %d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        mxgpu.store_fragment %f, %out[%n, %i] when(%some) : vector<32xf32>, memref<?x?xf32>
      }
      scf.for %i = %c0 to %n step %c32 {
        %f_fragment = mxgpu.load_accumulator %d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        mxgpu.store_fragment %f, %out[%n, %i] when(%some) aligned(32) : vector<32xf32>, memref<?x?xf32>
      }
      mxgpu.consumer_release %stage : !stage
    }
  }
}
