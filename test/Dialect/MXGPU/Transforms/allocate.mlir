// RUN: mx-opt %s --mxgpu-allocate | FileCheck %s
// RUN: mx-opt %s --mxgpu-allocate | mx-opt --mxgpu-allocate | FileCheck %s

// Buffers lie in the order of the rings, stage by stage: the fields of a stage in
// their order, then its full and its empty barrier. Swizzled buffers start at
// multiples of 1024 bytes, others of 128. Barriers of stages in tensor memory
// follow, then 4 bytes for the address of tensor memory, whose columns are rounded
// up to a power of two.

!in = !mxgpu.ring<3 x (sf: smem<512xf8E8M0FNU>, a: smem<128x128xf8E4M3FN, sw128>, pad: smem<144xi8>, b: smem<32x32xi8, sw32>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x48xf32>, e: tmem<128x16xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x48xf32>>

gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // sf 0, a 1024 (512 rounded up), pad 17408, b 17664 (17552 rounded up to 256
  // bytes, 8 rows of swizzle sw32), barriers 18688 (17664 + 1024), the next stage
  // 19456 (18704 rounded up to 1024); barriers of acc 58368 (3 * 19456), address
  // 58400. Columns: 2 * 48 + 2 * 16 + 4 for scales = 132.
  // CHECK-LABEL: mxgpu.kernel @all(
  // CHECK-SAME:    min_ctas(1) smem(58404) tmem(256 at 58400 warp 0) {
  // CHECK:         mxgpu.ring "in" offsets [0, 1024, 17408, 17664] barriers(18688) stride(19456)
  // CHECK:         mxgpu.ring "acc" offsets [0, 96] barriers(58368) stride(16)
  // CHECK:         mxgpu.role @epilogue warps(4) first_warp(0)
  // CHECK:         mxgpu.role @load warps(1) elected first_warp(4)
  // CHECK:         mxgpu.role @mma warps(1) elected first_warp(5)
  // CHECK:           mxgpu.copy_scales %{{.*}} column(128)
  // Copies of one field share their columns.
  // CHECK:           mxgpu.copy_scales %{{.*}} column(128)
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

  // Without tensor memory there is no address of it.
  // CHECK-LABEL: mxgpu.kernel @none()
  // CHECK-SAME:    smem(0) {
  // CHECK-NEXT:    mxgpu.role @only warps(3) first_warp(0)
  mxgpu.kernel @none() {
    mxgpu.role @only warps(3) {
    }
  }
}

// The least that can be allocated is 32 columns.
// CHECK: gpu.module @other
gpu.module @other [#nvvm.target<chip = "sm_103a">] {
  // CHECK: mxgpu.kernel @few(
  // CHECK-SAME: tmem(32 at 16 warp 0) {
  mxgpu.kernel @few() {
    %acc = mxgpu.ring "acc" : !mxgpu.ring<1 x (d: tmem<128x16xf32>), producer = mma_commit, consumer = threads(32)>
    mxgpu.role @only warps(1) {
    }
  }
}

// Roles whose threads wait for each other have a named barrier each; the warp
// that allocates tensor memory is that of the role that fills it; and threads are
// launched with what the warpgroups have on average: (152 + 56) / 2.
!out = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(64), consumer = bulk_store>
!own = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(32), consumer = bulk_store, scope = warp>
!accumulator = !mxgpu.ring<1 x (d: tmem<128x16xf32>), producer = mma_commit, consumer = threads(128)>
// CHECK: gpu.module @roles
gpu.module @roles [#nvvm.target<chip = "sm_100a">] {
  // CHECK: mxgpu.kernel @waiting() registers(104) smem({{[0-9]+}}) tmem(32 at {{[0-9]+}} warp 6) {
  mxgpu.kernel @waiting() {
    %first = mxgpu.ring "first" : !out
    %second = mxgpu.ring "second" : !out
    %own = mxgpu.ring "own" : !own
    %accumulator = mxgpu.ring "sums" : !accumulator
    // CHECK: mxgpu.role @alone warps(2) registers(152) first_warp(0) {
    mxgpu.role @alone warps(2) registers(152) {
      %s, %s_f = mxgpu.producer_acquire %own : !own
    }
    // CHECK: mxgpu.role @first warps(2) registers(152) first_warp(2) barrier(2) {
    mxgpu.role @first warps(2) registers(152) {
      %s, %s_f = mxgpu.producer_acquire %first : !out
    }
    // CHECK: mxgpu.role @second warps(2) registers(56) first_warp(4) barrier(3) {
    mxgpu.role @second warps(2) registers(56) {
      %s, %s_f = mxgpu.producer_acquire %second : !out
    }
    // CHECK: mxgpu.role @mma warps(1) registers(56) first_warp(6) {
    mxgpu.role @mma warps(1) registers(56) {
      %s, %s_d = mxgpu.producer_acquire %accumulator : !accumulator
    }
  }

  // What the builder asks for stands.
  // CHECK: mxgpu.kernel @bounded() min_ctas(2) smem(0) {
  mxgpu.kernel @bounded() min_ctas(2) {
    mxgpu.role @only warps(32) {
    }
  }
}

// A role that multiplies together begins where a warpgroup does.
!hopper_in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!hopper_a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!hopper_b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!hopper_sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
// CHECK-LABEL: gpu.module @hopper
gpu.module @hopper [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @warpgroup() {
    %in = mxgpu.ring "in" : !hopper_in
    mxgpu.role @store warps(4) {
    }
    // CHECK: mxgpu.role @multiply warps(4) first_warp(4) {
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !hopper_sums
      %stage, %a, %b = mxgpu.consumer_wait %in : !hopper_in
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !hopper_a, !hopper_b, !hopper_sums -> !hopper_sums
    }
  }
}
