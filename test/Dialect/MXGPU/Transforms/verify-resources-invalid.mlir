// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-resources

// CASES
!in = !mxgpu.ring<7 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected at most 232448 bytes of shared memory on sm_100a, found 236580}}
  // expected-note @below {{in.a: 16384}}
  // expected-note @below {{in.b: 16384}}
  // expected-note @below {{in.sf: 512}}
  // expected-note @below {{barriers of in: 16}}
  // expected-note @below {{6 more stages of in: 202752}}
  // expected-note @below {{barriers of acc: 32}}
  // expected-note @below {{address of tensor memory: 4}}
  mxgpu.kernel @smem() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) {
    }
  }
}

!in = !mxgpu.ring<2 x (sfa: smem<512xf8E8M0FNU>, sfb: smem<1024xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<1024xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected at most 512 columns of tensor memory on sm_100a, found 524}}
  // expected-note @below {{2 stages of acc.d: 512}}
  // expected-note @below {{scales sfa: 4}}
  // expected-note @below {{scales sfb: 8}}
  mxgpu.kernel @tmem() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) {
      %s, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<256>
    }
  }
}

// Sums of the largest buffer sizes do not overflow.
!in = !mxgpu.ring<1024 x (a: smem<1073741824xi8>, b: smem<1073741824xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected at most 232448 bytes of shared memory on sm_100a, found 2199023386624}}
  // expected-note @below {{in.a: 1073741824}}
  // expected-note @below {{in.b: 1073741824}}
  // expected-note @below {{barriers of in: 16}}
  // expected-note @below {{1023 more stages of in: 2196875902848}}
  mxgpu.kernel @huge() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) {
    }
  }
}

gpu.module @kernels {
  // expected-error @below {{'mxgpu.kernel' op expected a gpu.module with a target, found none}}
  mxgpu.kernel @untargeted() {
    mxgpu.role @only warps(1) {
    }
  }
}

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // expected-error @below {{'mxgpu.kernel' op expected a target #nvvm.target, found #rocdl.target<chip = "gfx942">}}
  mxgpu.kernel @other_vendor() {
    mxgpu.role @only warps(1) {
    }
  }
}

gpu.module @kernels [#nvvm.target<chip = "sm_101x">] {
  // expected-error @below {{'mxgpu.kernel' op unknown chip 'sm_101x': expected one of 'sm_100a', 'sm_100f', 'sm_103a', 'sm_90a'}}
  mxgpu.kernel @unknown_chip() {
    mxgpu.role @only warps(1) {
    }
  }
}

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{'mxgpu.kernel' op chip 'sm_90a' has no tcgen05 instructions: expected one of 'sm_100a', 'sm_100f', 'sm_103a'}}
  mxgpu.kernel @no_tensor_memory() {
    %acc = mxgpu.ring "acc" : !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
    mxgpu.role @only warps(1) {
    }
  }
}

gpu.module @kernels [#nvvm.target<chip = "sm_120">] {
  // expected-error @below {{'mxgpu.kernel' op unknown chip 'sm_120': expected one of 'sm_100a',}}
  mxgpu.kernel @no_tensor_memory() {
    mxgpu.role @only warps(1) {
    }
  }
}

!out = !mxgpu.ring<1 x (f: smem<512xf8E8M0FNU>), producer = threads(32), consumer = bulk_store>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @barriers() {
    %r1 = mxgpu.ring "r1" : !out
    %r2 = mxgpu.ring "r2" : !out
    %r3 = mxgpu.ring "r3" : !out
    %r4 = mxgpu.ring "r4" : !out
    %r5 = mxgpu.ring "r5" : !out
    %r6 = mxgpu.ring "r6" : !out
    %r7 = mxgpu.ring "r7" : !out
    %r8 = mxgpu.ring "r8" : !out
    %r9 = mxgpu.ring "r9" : !out
    %r10 = mxgpu.ring "r10" : !out
    %r11 = mxgpu.ring "r11" : !out
    %r12 = mxgpu.ring "r12" : !out
    %r13 = mxgpu.ring "r13" : !out
    %r14 = mxgpu.ring "r14" : !out
    %r15 = mxgpu.ring "r15" : !out
    %r16 = mxgpu.ring "r16" : !out
    mxgpu.role @r1 warps(1) {
      %s, %f = mxgpu.producer_acquire %r1 : !out
    }
    mxgpu.role @r2 warps(1) {
      %s, %f = mxgpu.producer_acquire %r2 : !out
    }
    mxgpu.role @r3 warps(1) {
      %s, %f = mxgpu.producer_acquire %r3 : !out
    }
    mxgpu.role @r4 warps(1) {
      %s, %f = mxgpu.producer_acquire %r4 : !out
    }
    mxgpu.role @r5 warps(1) {
      %s, %f = mxgpu.producer_acquire %r5 : !out
    }
    mxgpu.role @r6 warps(1) {
      %s, %f = mxgpu.producer_acquire %r6 : !out
    }
    mxgpu.role @r7 warps(1) {
      %s, %f = mxgpu.producer_acquire %r7 : !out
    }
    mxgpu.role @r8 warps(1) {
      %s, %f = mxgpu.producer_acquire %r8 : !out
    }
    mxgpu.role @r9 warps(1) {
      %s, %f = mxgpu.producer_acquire %r9 : !out
    }
    mxgpu.role @r10 warps(1) {
      %s, %f = mxgpu.producer_acquire %r10 : !out
    }
    mxgpu.role @r11 warps(1) {
      %s, %f = mxgpu.producer_acquire %r11 : !out
    }
    mxgpu.role @r12 warps(1) {
      %s, %f = mxgpu.producer_acquire %r12 : !out
    }
    mxgpu.role @r13 warps(1) {
      %s, %f = mxgpu.producer_acquire %r13 : !out
    }
    mxgpu.role @r14 warps(1) {
      %s, %f = mxgpu.producer_acquire %r14 : !out
    }
    mxgpu.role @r15 warps(1) {
      %s, %f = mxgpu.producer_acquire %r15 : !out
    }
    // expected-error @below {{'mxgpu.role' op expected a role that synchronizes its threads to be among the first 15 roles, because the others have no named barrier, found role number 16}}
    mxgpu.role @r16 warps(1) {
      %s, %f = mxgpu.producer_acquire %r16 : !out
    }
  }
}

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{'mxgpu.kernel' op expected at most 2 CTAs of 1024 threads on an SM of 'sm_90a', found 3}}
  mxgpu.kernel @resident() min_ctas(3) {
    mxgpu.role @role warps(32) {
    }
  }
}

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{'mxgpu.kernel' op expected at most 255 registers per thread on average, the limit of sm_90a for 128 threads, found 256}}
  mxgpu.kernel @registers() {
    mxgpu.role @role warps(4) {
    }
    mxgpu.assign_warps @role from 0 registers(256)
  }
}

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{'mxgpu.kernel' op expected at most 64 registers per thread on average, the limit of sm_90a for 1024 threads, found 72}}
  mxgpu.kernel @registers() {
    mxgpu.role @role warps(32) {
    }
    mxgpu.assign_warps @role from 0 registers(72)
  }
}

// Rejects matrix instructions not supported by the chip.
!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      // expected-error @below {{'mxgpu.mma' op chip 'sm_100a' has no wgmma.mma_async: it has tcgen05.mma.block_scale}}
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
    }
  }
}

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_103a">] {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      // expected-error @below {{'mxgpu.mma' op chip 'sm_103a' has no wgmma.mma_async: it has tcgen05.mma.block_scale}}
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
    }
  }
}

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sa: smem<512xf8E8M0FNU>, sb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(1) elected {
      %stage, %a, %b, %sa, %sb = mxgpu.consumer_wait %in : !in
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      %sfa = mxgpu.copy_scales %sa : !sf -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %sb : !sf -> !mxgpu.scales<128>
      // expected-error @below {{'mxgpu.mma' op chip 'sm_90a' has no tcgen05 instructions: expected one of 'sm_100a', 'sm_100f', 'sm_103a'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d : !a, !a, !d
    }
  }
}
