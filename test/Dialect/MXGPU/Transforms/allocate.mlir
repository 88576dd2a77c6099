// RUN: mx-opt %s --mxgpu-allocate | FileCheck %s
// RUN: mx-opt %s --mxgpu-allocate | mx-opt --mxgpu-allocate | FileCheck %s

// Buffers lie in the order of the rings and their fields, stages of a field side
// by side. Swizzled buffers start at multiples of 1024 bytes, others of 128.
// Barriers follow, a full and an empty one for each slot, then 4 bytes for the
// address of tensor memory, whose columns are rounded up to a power of two.

!in = !mxgpu.ring<3 x (sf: smem<512xf8E8M0FNU>, a: smem<128x128xf8E4M3FN, sw128>, pad: smem<144xi8>, b: smem<32x32xi8, sw32>), producer = tma, consumer = mma>
!acc = !mxgpu.ring<2 x (d: tmem<128x48xf32>, e: tmem<128x16xf32>), producer = mma, consumer = threads(128)>
!slot = !mxgpu.slot<!in>

gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // sf 0, a 2048 (1536 rounded up), pad 51200, b 51712 (51632 rounded up to
  // 256 bytes, 8 rows of swizzle sw32), barriers 54784 (51712 + 3 * 1024) and
  // 54832, address 54864. Columns: 2 * 48 + 2 * 16 + 4 for scales = 132.
  // CHECK-LABEL: mxgpu.kernel @all(
  // CHECK-SAME:    smem(54868) tmem(256 at 54864) {
  // CHECK:         mxgpu.ring "in" offsets [0, 2048, 51200, 51712] barriers(54784)
  // CHECK:         mxgpu.ring "acc" offsets [0, 96] barriers(54832)
  // CHECK:         mxgpu.role @epilogue warps(4) first_warp(0)
  // CHECK:         mxgpu.role @load warps(1) elected first_warp(4)
  // CHECK:         mxgpu.role @mma warps(1) elected first_warp(5)
  // CHECK:           mxgpu.copy_scales %{{.*}}["sf"] column(128)
  // Copies of one field share their columns.
  // CHECK:           mxgpu.copy_scales %{{.*}}["sf"] column(128)
  mxgpu.kernel @all(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %s = mxgpu.consume %acc : !acc
      %f = mxgpu.load_accumulator %s["d"] column(%n) : !mxgpu.slot<!acc> -> vector<16xf32>
    }
    mxgpu.role @load warps(1) elected {
    }
    mxgpu.role @mma warps(1) elected {
      %s = mxgpu.consume %in : !in
      %sf = mxgpu.copy_scales %s["sf"] : !slot -> !mxgpu.scales<128>
      %again = mxgpu.copy_scales %s["sf"] : !slot -> !mxgpu.scales<128>
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
  // CHECK-SAME: tmem(32 at 16) {
  mxgpu.kernel @few() {
    %acc = mxgpu.ring "acc" : !mxgpu.ring<1 x (d: tmem<128x16xf32>), producer = mma, consumer = threads(32)>
    mxgpu.role @only warps(1) {
    }
  }
}
