// RUN: mx-opt %s --mxgpu-unroll-fragments | FileCheck %s

// A thread quantizes at most 128 elements in straight-line code. Short loops are
// unrolled fully, and longer loops by a divisor of their trip count.

!in = !mxgpu.ring<1 x (x: smem<128x256xbf16>), producer = bulk_copy, consumer = threads(128)>
!rows = !mxgpu.ring<1 x (e: smem<128x256xf8E4M3FN>), producer = threads(128), consumer = bulk_store>
!x = !mxgpu.buffer<smem<128x256xbf16>>
!e = !mxgpu.buffer<smem<128x256xf8E4M3FN>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: mxgpu.kernel @blocks(
  // Four blocks of 32 elements are unrolled fully.
  // CHECK-NOT:     scf.for
  // CHECK-COUNT-4: mxgpu.quantize_block
  // Eight blocks become two iterations of four blocks.
  // CHECK:         scf.for %{{.*}} = %c0 to %c8 step %c4
  // CHECK-COUNT-4:   mxgpu.quantize_block
  // CHECK-NOT:       mxgpu.quantize_block
  // CHECK:         }
  // Six iterations become two iterations of three, because four does not divide six.
  // CHECK:         scf.for %{{.*}} = %c0 to %c6 step %c3
  // CHECK-COUNT-3:   mxgpu.quantize_block
  // CHECK-NOT:       mxgpu.quantize_block
  // CHECK:         }
  // CHECK-NOT:     mxgpu.quantize_block
  mxgpu.kernel @blocks() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %in = mxgpu.ring "in" : !in
    %rows = mxgpu.ring "rows" : !rows
    mxgpu.role @quantize warps(4) {
      %stage, %x = mxgpu.consumer_wait %in : !in
      %out, %e = mxgpu.producer_acquire %rows : !rows
      scf.for %i = %c0 to %c4 step %c1 {
        %c = arith.muli %i, %c32 : index
        %v = mxgpu.load_shared %x at[%c0, %c] : !x -> vector<32xbf16>
        %q, %f = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
        mxgpu.store_shared %q, %e at[%c0, %c] : vector<32xf8E4M3FN>, !e
      }
      scf.for %i = %c0 to %c8 step %c1 {
        %c = arith.muli %i, %c32 : index
        %v = mxgpu.load_shared %x at[%c0, %c] : !x -> vector<32xbf16>
        %q, %f = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
        mxgpu.store_shared %q, %e at[%c0, %c] : vector<32xf8E4M3FN>, !e
      }
      scf.for %i = %c0 to %c6 step %c1 {
        %c = arith.muli %i, %c32 : index
        %v = mxgpu.load_shared %x at[%c0, %c] : !x -> vector<32xbf16>
        %q, %f = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
        mxgpu.store_shared %q, %e at[%c0, %c] : vector<32xf8E4M3FN>, !e
      }
      mxgpu.consumer_release %stage : !mxgpu.stage<!in>
      mxgpu.producer_commit %out : !mxgpu.stage<!rows>
    }
  }
}
