// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE role
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      // BLOCK body
      // END
    }
  }
}

// -----

// USE role body
%stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.producer_acquire %in : !in
// shared C2
// expected-error @below {{'mxgpu.copy_scales' op expected a buffer of mxgpu.consumer_wait, found one of mxgpu.producer_acquire}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<128>

// -----

// TEMPLATE copy_scales
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.consumer_wait %in : !in
      // BLOCK copy
      // END
    }
  }
}

// -----

// CASES copy_scales copy
// scales C1
// expected-error @below {{expected a multiple of 128 rows, found 64}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<64>

// scales C1
// expected-error @below {{expected a multiple of 128 rows, found 0}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<0>

// copy_scales C1
// expected-error @below {{'mxgpu.copy_scales' op expected 1024 bytes of scales in shared memory, found 512 in smem}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<256>

// -----

// USE role body
%stage, %d = mxgpu.consumer_wait %acc : !acc
// copy_scales C1
// expected-error @below {{'mxgpu.copy_scales' op expected 512 bytes of scales in shared memory, found 65536 in tmem}}
%sfa = mxgpu.copy_scales %d : !d -> !mxgpu.scales<128>

// -----

// USE copy_scales copy
// copy_scales C4
// expected-error @below {{'mxgpu.copy_scales' op expected a column that is a multiple of 4, found 2}}
%sfa = mxgpu.copy_scales %stage_sfa column(2) : !sfa -> !mxgpu.scales<128>

// -----

// CASES
!in = !mxgpu.ring<2 x (sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %s, %s_sf = mxgpu.consumer_wait %in : !in
      // copy_scales C2
      // expected-error @below {{'mxgpu.copy_scales' op expected scales of 'f8E8M0FNU', found 'f8E4M3FN'}}
      %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128, f8E4M3FN>
    }
  }
}

!in = !mxgpu.ring<2 x (sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %s, %s_sf = mxgpu.consumer_wait %in : !in
      // copy_scales C3
      // expected-error @below {{'mxgpu.copy_scales' op expected 1 to 2 stages, as many as the ring has at most, found 3}}
      %sf = mxgpu.copy_scales %s_sf stages(3) : !sf -> !mxgpu.scales<128>
    }
  }
}

// -----

// USE role body
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
// shared C2
// expected-error @below {{'mxgpu.mma' op expected a buffer of mxgpu.producer_acquire, found one of mxgpu.consumer_wait}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

// TEMPLATE mma
// SET stages = 4
// SET a = 128x128xf8E4M3FN
// SET b = 128x128xf8E4M3FN
// SET sf = 512xf8E8M0FNU
// SET acc_stages = 2
// SET d = 128x128xf32
!in = !mxgpu.ring<${stages} x (a: smem<${a}, sw128>, b: smem<${b}, sw128>, sfa: smem<${sf}>, sfb: smem<${sf}>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<${sf}>>
!sfb = !mxgpu.buffer<smem<${sf}>>
!a = !mxgpu.buffer<smem<${a}, sw128>>
!b = !mxgpu.buffer<smem<${b}, sw128>>
!acc = !mxgpu.ring<${acc_stages} x (d: tmem<${d}>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<${d}>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      // BLOCK wait
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // END
      // BLOCK mma
      // END
    }
  }
}

// -----

// CASES mma wait
%s0, %s0_a, %s0_b, %s0_sfa, %s0_sfb = mxgpu.consumer_wait %in : !in
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
%sfa = mxgpu.copy_scales %s0_sfa : !sfa -> !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s0_sfb : !sfb -> !mxgpu.scales<128>
// shared C2
// expected-error @below {{'mxgpu.mma' op expected a buffer of mxgpu.consumer_wait, found one of mxgpu.producer_acquire}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
%s2, %s2_a, %s2_b, %s2_sfa, %s2_sfb = mxgpu.consumer_wait %in : !in
%sfb = mxgpu.copy_scales %s2_sfb : !sfb -> !mxgpu.scales<128>
// mma C4
// expected-error @below {{'mxgpu.mma' op expected scales of b copied from the stage that holds b}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = ub.poison : !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
// mma C4
// expected-error @below {{'mxgpu.mma' op expected scales of a copied from the stage that holds a}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

// USE role body
%d, %d_d = mxgpu.producer_acquire %acc : !acc
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
// mma C5
// expected-error @below {{'mxgpu.mma' op expected a to be a matrix or panels of one, found '!mxgpu.buffer<smem<512xf8E8M0FNU>>'}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_sfa, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !sfa, !b, !d

// -----

// CASES mma mma
// SET stages = 1
// SET b = 128x64xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// mma C6
// expected-error @below {{'mxgpu.mma' op expected a and b with the same reduction, found 128 and 64}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// SET stages = 1
// SET b = 256x128xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// tcgen05_mma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of 128x256, found 128x128}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1024xi8>, sfb: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<1024xi8>>
!sfb = !mxgpu.buffer<smem<512xi8>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<256>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // tcgen05_mma C14
      // expected-error @below {{'mxgpu.mma' op expected scales of 128 rows for a, found 256}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<256>, !mxgpu.scales<128>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET b = 256x128xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// SET d = 128x256xf32
// tcgen05_mma C14
// expected-error @below {{'mxgpu.mma' op expected scales of 256 rows for b, found 128}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<384x128xf8E4M3FN, sw128>, sfa: smem<512xi8>, sfb: smem<1536xi8>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xi8>>
!sfb = !mxgpu.buffer<smem<1536xi8>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<384x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x384xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x384xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<384>
      // tcgen05_mma C3
      // expected-error @below {{expected N = 8 to 256 in steps of 8 with kind::mxf8f6f4 and cta_group::1 and M = 128, found 384}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 384> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<384>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET a = 128x128xi8
// SET sf = 512xi8
// SET acc_stages = 1
// tcgen05_mma C10
// expected-error @below {{'mxgpu.mma' op expected elements that the tensor core scales in '!mxgpu.buffer<smem<128x128xi8, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xi8>, sfb: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xi8>>
!sfb = !mxgpu.buffer<smem<512xi8>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // mma C8
      // expected-error @below {{'mxgpu.mma' op expected rows of operands to be as long as their swizzle, found '!mxgpu.buffer<smem<128x128xf8E4M3FN>>'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET a = 128x64xf8E4M3FN
// SET b = 128x64xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// mma C8
// expected-error @below {{'mxgpu.mma' op expected rows of operands to be as long as their swizzle, found '!mxgpu.buffer<smem<128x64xf8E4M3FN, sw128>>'}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

// CASES
!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E4M3FN>, sfb: smem<512xf8E4M3FN>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E4M3FN>>
!sfb = !mxgpu.buffer<smem<512xf8E4M3FN>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128, f8E4M3FN>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128, f8E4M3FN>
      // tcgen05_mma C11
      // expected-error @below {{'mxgpu.mma' op expected scales of kind::mxf8f6f4 to be one of 32 x ue8m0, found 32 x ue4m3 in '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128, f8E4M3FN>, !mxgpu.scales<128, f8E4M3FN>) into %d : !a, !b, !d
    }
  }
}

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // tcgen05_mma C12
      // expected-error @below {{'mxgpu.mma' op expected an offset only where rows of b fill a tile of 128 by half, found 128 rows}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) b_offset(%n) into %d : !a, !b, !d
    }
  }
}

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<192x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<1024xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<192x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<1024xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x192xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x192xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %c32 = arith.constant 32 : index
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<256>
      // tcgen05_mma C13
      // expected-error @below {{'mxgpu.mma' op expected an offset of 0 or 64 rows, found 32}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 192> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<256>) b_offset(%c32) into %d : !a, !b, !d
    }
  }
}

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E4M3FN>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E4M3FN>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128, f8E4M3FN>
      // tcgen05_mma C15
      // expected-error @below {{'mxgpu.mma' op expected scales of a and b of one type, found 'f8E8M0FNU' and 'f8E4M3FN'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128, f8E4M3FN>) into %d : !a, !b, !d
    }
  }
}

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1024xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<1024xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128x2>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // tcgen05_mma C16
      // expected-error @below {{'mxgpu.mma' op expected scales for 128 elements of the reduction of a, found those of 256}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128x2>, !mxgpu.scales<128>) into %d : !a, !b, !d
    }
  }
}

// -----

// CASES role body
%stage, %d = mxgpu.producer_acquire %acc : !acc
// shared C2
// expected-error @below {{'mxgpu.load_accumulator' op expected a buffer of mxgpu.consumer_wait, found one of mxgpu.producer_acquire}}
%f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>

%stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
// load_accumulator C1
// expected-error @below {{'mxgpu.load_accumulator' op expected a buffer in tensor memory, found '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
%f_fragment = mxgpu.load_accumulator %a column(%n) : !a -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>

%stage, %d = mxgpu.consumer_wait %acc : !acc
// load_accumulator C2
// expected-error @below {{'mxgpu.load_accumulator' op expected elements of 'f32', found 'bf16'}}
%f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xbf16>

%stage, %d = mxgpu.consumer_wait %acc : !acc
// load_accumulator C3
// expected-error @below {{'mxgpu.load_accumulator' op expected a power of two up to 128 of columns, found 48}}
%f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x48xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [48: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x48xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [48: 1 column]>> -> vector<48xf32>

// -----

// CASES
!acc48 = !mxgpu.ring<1 x (d: tmem<128x48xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x48xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc48
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.consumer_wait %acc : !acc48
      // load_accumulator C4
      // expected-error @below {{'mxgpu.load_accumulator' op expected a divisor of 48 columns, found 32}}
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
    }
  }
}

!acc = !mxgpu.ring<2 x (d: tmem<128x64xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x64xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %s, %d = mxgpu.consumer_wait %acc : !acc
      // load_accumulator C5
      // expected-error @below {{'mxgpu.load_accumulator' op expected the layout of tcgen05.ld.32x32b, }}
      %f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [32: 1 column, 4: 1 row], values = [32: 4 rows]>>
    }
  }
}
