// RUN: mx-opt %s --mxgpu-verify-resources --mxgpu-assign-warps --mxgpu-lower-rings --verify-roundtrip | FileCheck %s
// RUN: mx-opt %s --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels | FileCheck %s --check-prefix=LAUNCH

// Buffers are placed in the order of the rings, stage by stage. A stage contains its fields in
// order, followed by its full and its empty barrier. A swizzled buffer is aligned to 8 swizzle
// rows (1024 bytes for sw128), and any other buffer to 128 bytes. The barriers of stages in tensor
// memory follow, and then 4 bytes for the address of tensor memory. The number of tensor memory
// columns is rounded up to a power of two.

!in = !mxgpu.ring<3 x (sf: smem<512xf8E8M0FNU>, a: smem<128x128xf8E4M3FN, sw128>, pad: smem<144xi8>, b: smem<32x32xi8, sw32>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x48xf32>, e: tmem<128x16xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x48xf32>>

gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // The offsets of the stage are sf = 0, a = 1024 (512 rounded up), pad = 17408, b = 17664 (17552
  // rounded up to 256, which is 8 rows of sw32), and 18688 (17664 + 1024) for the barriers. The
  // next stage is at 19456 (18704 rounded up to 1024). The barriers of acc are at 58368 (3 *
  // 19456), and the address is stored at 58400. Tensor memory needs 2 * 48 + 2 * 16 + 4 (scales) =
  // 132 columns.
  // CHECK-LABEL: mxgpu.kernel @all(
  // CHECK-NEXT:    mxbar.tensor_memory columns(256) slot(58400) warp(0)
  // CHECK:         mxbar.placed_ring "in" offsets [0, 1024, 17408, 17664] stride(19456) barriers(18688)
  // CHECK:         mxbar.placed_ring "acc" offsets [0, 96] stride(16) barriers(58368)
  // CHECK:           mxbar.copy_to_columns %{{.*}} column(128)
  // Both copies of a field use the same columns.
  // CHECK:           mxbar.copy_to_columns %{{.*}} column(128)
  mxgpu.kernel @all(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %s, %s_d, %s_e = mxgpu.consumer_wait %acc : !acc
      %f_fragment = mxgpu.load_accumulator %s_d column(%n) : !d -> !mxgpu.fragment<128x16xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [16: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x16xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [16: 1 column]>> -> vector<16xf32>
    }
    mxgpu.role @load warps(1) elected {
    }
    mxgpu.role @mma warps(1) elected {
      %s, %s_sf, %s_a, %s_pad, %s_b = mxgpu.consumer_wait %in : !in
      %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
      %again = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
    }
  }

  // A kernel without tensor memory stores no address of tensor memory.
  // CHECK-LABEL: mxgpu.kernel @none()
  // CHECK-NEXT:    mxgpu.role @only warps(3)
  mxgpu.kernel @none() {
    mxgpu.role @only warps(3) {
    }
  }
}

// The smallest allocation is 32 columns.
!few = !mxgpu.ring<1 x (d: tmem<128x16xf32>), producer = mma_commit, consumer = threads(32)>
// CHECK: gpu.module @other
gpu.module @other [#nvvm.target<chip = "sm_100a">] {
  // CHECK: mxgpu.kernel @few(
  // CHECK-NEXT: mxbar.tensor_memory columns(32) slot(16) warp(0)
  mxgpu.kernel @few() {
    %acc = mxgpu.ring "acc" : !few
    mxgpu.role @only warps(1) {
      %s, %d = mxgpu.consumer_wait %acc : !few
    }
  }
}

// Each role with synchronizing threads gets a named barrier. The first warp of the role that fills
// tensor memory allocates it. The launch uses the average register count of the warpgroups, (152 +
// 56) / 2.
!out = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = bulk_store>
!own = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(32), consumer = bulk_store, scope = warp>
!accumulator = !mxgpu.ring<1 x (d: tmem<128x16xf32>), producer = mma_commit, consumer = threads(128)>
// CHECK: gpu.module @roles
gpu.module @roles [#nvvm.target<chip = "sm_100a">] {
  // CHECK: mxgpu.kernel @waiting()
  // CHECK: mxbar.tensor_memory columns(32) slot({{[0-9]+}}) warp(6)
  // LAUNCH: llvm.func @waiting() attributes {{.*}}nvvm.maxnreg = 104
  mxgpu.kernel @waiting() {
    %first = mxgpu.ring "first" : !out
    %second = mxgpu.ring "second" : !out
    %own = mxgpu.ring "own" : !own
    %accumulator = mxgpu.ring "sums" : !accumulator
    mxgpu.role @alone warps(2) {
      %s, %s_f = mxgpu.producer_acquire %own : !own
      %t, %t_d = mxgpu.consumer_wait %accumulator : !accumulator
    }
    // CHECK: mxgpu.role @first
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%c2_i32, %c64_i32{{.*}})
    mxgpu.role @first warps(2) {
      %s, %s_f = mxgpu.producer_acquire %first : !out
    }
    // CHECK: mxgpu.role @second
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%c3_i32, %c64_i32{{.*}})
    mxgpu.role @second warps(2) {
      %s, %s_f = mxgpu.producer_acquire %second : !out
    }
    mxgpu.role @mma warps(1) {
      %s, %s_d = mxgpu.producer_acquire %accumulator : !accumulator
    }
    mxgpu.assign_warps @alone from 0 registers(152)
    mxgpu.assign_warps @first from 2 registers(152)
    mxgpu.assign_warps @second from 4 registers(56)
    mxgpu.assign_warps @mma from 6 registers(56)
  }
}
