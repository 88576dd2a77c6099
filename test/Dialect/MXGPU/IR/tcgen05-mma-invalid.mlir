// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid uses of tcgen05.mma, its scales and its accumulator.

// -----

// TEMPLATE mma
// SET a = 128x128xf8E4M3FN, sw128
// SET b = 128x128xf8E4M3FN, sw128
// SET sfa = 512xf8E8M0FNU
// SET sfb = 512xf8E8M0FNU
// SET d = 128x128xf32
// SET scales_a = 128
// SET scales_b = 128
// SET mn = m = 128, n = 128
!in = !mxgpu.ring<2 x (a: smem<${a}>, b: smem<${b}>, sfa: smem<${sfa}>, sfb: smem<${sfb}>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<${a}>>
!b = !mxgpu.buffer<smem<${b}>>
!sfa = !mxgpu.buffer<smem<${sfa}>>
!sfb = !mxgpu.buffer<smem<${sfb}>>
!acc = !mxgpu.ring<1 x (d: tmem<${d}>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<${d}>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      // BLOCK body
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<${scales_a}>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<${scales_b}>
      // END
      // BLOCK error
      // END
      // BLOCK mma
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, ${mn}> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<${scales_a}>, !mxgpu.scales<${scales_b}>) into %d_d : !a, !b, !d
      // END
    }
  }
}

// -----

// CASES mma error
// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
// shared C2
// expected-error @below {{'mxgpu.copy_scales' op expected a buffer of mxgpu.consumer_wait, found a buffer of mxgpu.producer_acquire}}
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>

// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
// scales C1
// expected-error @below {{expected a multiple of 128 rows, found 64}}
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<64>

// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
// scales C1
// expected-error @below {{expected a multiple of 128 rows, found 0}}
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<0>

// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
// copy_scales C1
// expected-error @below {{'mxgpu.copy_scales' op expected 1024 bytes of scales in shared memory, found 512 in smem}}
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<256>

// BLOCK mma
// BLOCK body
%stage, %d = mxgpu.consumer_wait %acc : !acc
// copy_scales C1
// expected-error @below {{'mxgpu.copy_scales' op expected 512 bytes of scales in shared memory, found 65536 in tmem}}
%sfa = mxgpu.copy_scales %d : !d -> !mxgpu.scales<128>

// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
// copy_scales C2
// expected-error @below {{'mxgpu.copy_scales' op expected scales of type 'f8E8M0FNU', found 'f8E4M3FN'}}
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128, f8E4M3FN>

// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
// copy_scales C3
// expected-error @below {{'mxgpu.copy_scales' op expected 1 to 2 stages, at most the stage count of the ring, found 3}}
%sfa = mxgpu.copy_scales %s_sfa stages(3) : !sfa -> !mxgpu.scales<128>

// BLOCK mma
// BLOCK body
%stage, %d = mxgpu.producer_acquire %acc : !acc
// shared C2
// expected-error @below {{'mxgpu.load_accumulator' op expected a buffer of mxgpu.consumer_wait, found a buffer of mxgpu.producer_acquire}}
%f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>

// BLOCK mma
// BLOCK body
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
// load_accumulator C1
// expected-error @below {{'mxgpu.load_accumulator' op expected a buffer in tensor memory, found '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
%f = mxgpu.load_accumulator %s_a column(%n) : !a -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>

// BLOCK mma
// BLOCK body
%stage, %d = mxgpu.consumer_wait %acc : !acc
// load_accumulator C2
// expected-error @below {{'mxgpu.load_accumulator' op expected elements of type 'f32', found 'bf16'}}
%f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>

// BLOCK mma
// BLOCK body
%stage, %d = mxgpu.consumer_wait %acc : !acc
// load_accumulator C3
// expected-error @below {{'mxgpu.load_accumulator' op expected a power-of-two column count of at most 128, found 48}}
%f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x48xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [48: 1 column]>>

// SET d = 128x48xf32
// BLOCK mma
// BLOCK body
%stage, %d = mxgpu.consumer_wait %acc : !acc
// load_accumulator C4
// expected-error @below {{'mxgpu.load_accumulator' op expected a column count that divides 48 columns, found 32}}
%f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>

// SET d = 128x64xf32
// BLOCK mma
// BLOCK body
%stage, %d = mxgpu.consumer_wait %acc : !acc
// load_accumulator C5
// expected-error @below {{'mxgpu.load_accumulator' op expected the layout of tcgen05.ld.32x32b, }}
%f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [32: 1 column, 4: 1 row], values = [32: 4 rows]>>

// BLOCK body
%d, %d_d = mxgpu.consumer_wait %acc : !acc
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
// BLOCK error
// shared C2
// expected-error @below {{'mxgpu.mma' op expected a buffer of mxgpu.producer_acquire, found a buffer of mxgpu.consumer_wait}}

// BLOCK body
%d, %d_d = mxgpu.producer_acquire %acc : !acc
%s0, %s0_a, %s0_b, %s0_sfa, %s0_sfb = mxgpu.consumer_wait %in : !in
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
%sfa = mxgpu.copy_scales %s0_sfa : !sfa -> !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s0_sfb : !sfb -> !mxgpu.scales<128>
// BLOCK error
// shared C2
// expected-error @below {{'mxgpu.mma' op expected a buffer of mxgpu.consumer_wait, found a buffer of mxgpu.producer_acquire}}

// BLOCK body
%d, %d_d = mxgpu.producer_acquire %acc : !acc
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
%s2, %s2_a, %s2_b, %s2_sfa, %s2_sfb = mxgpu.consumer_wait %in : !in
%sfb = mxgpu.copy_scales %s2_sfb : !sfb -> !mxgpu.scales<128>
// BLOCK error
// mma C4
// expected-error @below {{'mxgpu.mma' op expected scales of 'b' copied from the stage that contains 'b'}}

// BLOCK body
%d, %d_d = mxgpu.producer_acquire %acc : !acc
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = ub.poison : !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
// BLOCK error
// mma C4
// expected-error @below {{'mxgpu.mma' op expected scales of 'a' copied from the stage that contains 'a'}}

// BLOCK mma
// mma C5
// expected-error @below {{'mxgpu.mma' op expected 'a' to be a matrix or the panels of a matrix, found '!mxgpu.buffer<smem<512xf8E8M0FNU>>'}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_sfa, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !sfa, !b, !d

// SET b = 128x64xf8E4M3FN, sw128
// mma C6
// expected-error @below {{'mxgpu.mma' op expected 'a' and 'b' with the same number of reduction elements, found 128 and 64}}

// SET b = 256x128xf8E4M3FN, sw128
// SET mn = m = 128, n = 256
// tcgen05_mma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of shape 128x256, found 128x128}}

// SET sfa = 1024xf8E8M0FNU
// SET scales_a = 256
// tcgen05_mma C14
// expected-error @below {{'mxgpu.mma' op expected scales for 128 rows of 'a', found 256}}

// SET b = 256x128xf8E4M3FN, sw128
// SET d = 128x256xf32
// SET mn = m = 128, n = 256
// tcgen05_mma C14
// expected-error @below {{'mxgpu.mma' op expected scales for 256 rows of 'b', found 128}}

// SET b = 384x128xf8E4M3FN, sw128
// SET sfb = 1536xf8E8M0FNU
// SET scales_b = 384
// SET d = 128x384xf32
// SET mn = m = 128, n = 384
// tcgen05_mma C3
// expected-error @below {{expected N = 8 to 256 in steps of 8 with kind::mxf8f6f4 and cta_group::1 and M = 128, found 384}}

// SET a = 128x128xi8, sw128
// tcgen05_mma C10
// expected-error @below {{'mxgpu.mma' op expected element types that the tensor core supports with scales in '!mxgpu.buffer<smem<128x128xi8, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}

// SET a = 128x128xf8E4M3FN
// mma C8
// expected-error @below {{'mxgpu.mma' op expected operand rows to be as long as the swizzle, found '!mxgpu.buffer<smem<128x128xf8E4M3FN>>'}}

// SET a = 128x64xf8E4M3FN, sw128
// SET b = 128x64xf8E4M3FN, sw128
// mma C8
// expected-error @below {{'mxgpu.mma' op expected operand rows to be as long as the swizzle, found '!mxgpu.buffer<smem<128x64xf8E4M3FN, sw128>>'}}

// SET sfa = 512xf8E4M3FN
// SET sfb = 512xf8E4M3FN
// SET scales_a = 128, f8E4M3FN
// SET scales_b = 128, f8E4M3FN
// tcgen05_mma C11
// expected-error @below {{'mxgpu.mma' op expected scales of kind::mxf8f6f4 to be one of 32 x ue8m0, found 32 x ue4m3 in '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}

// BLOCK mma
// tcgen05_mma C12
// expected-error @below {{'mxgpu.mma' op 'b_offset' requires the rows of 'b' to end in the middle of a 128-row tile, found 128 rows}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) b_offset(%n) into %d_d : !a, !b, !d

// SET b = 192x128xf8E4M3FN, sw128
// SET sfb = 1024xf8E8M0FNU
// SET scales_b = 256
// SET d = 128x192xf32
// BLOCK mma
%c32 = arith.constant 32 : index
// tcgen05_mma C13
// expected-error @below {{'mxgpu.mma' op expected a 'b_offset' of 0 or 64 rows, found 32}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 192> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<256>) b_offset(%c32) into %d_d : !a, !b, !d

// SET sfb = 512xf8E4M3FN
// SET scales_b = 128, f8E4M3FN
// tcgen05_mma C15
// expected-error @below {{'mxgpu.mma' op expected the scales of 'a' and 'b' to have the same type, found 'f8E8M0FNU' and 'f8E4M3FN'}}

// SET sfa = 1024xf8E8M0FNU
// SET scales_a = 128x2
// tcgen05_mma C16
// expected-error @below {{'mxgpu.mma' op expected scales for 128 reduction elements of 'a', found scales for 256}}
