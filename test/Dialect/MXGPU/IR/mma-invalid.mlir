// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid matrix instructions and operands of matrix instructions.

// -----

// CASES
// Rejects syntax errors and nonexistent instructions.
// expected-error @below {{expected k = number}}
#mma = #mxgpu.wgmma<n = 128>

// expected-error @below {{expected one of m, n, k, warpgroups, found rows}}
#mma = #mxgpu.wgmma<rows = 64, n = 128, k = 16>

// expected-error @below {{expected n once}}
#mma = #mxgpu.wgmma<n = 128, n = 128>

// expected-error @below {{expected a number as n}}
#mma = #mxgpu.wgmma<n = many, k = 16>

// expected-error @below {{integer value too large}}
#mma = #mxgpu.wgmma<n = 99999999999999999999, k = 16>

// wgmma C1
// expected-error @below {{expected n from 8 to 256 in steps of 8, found 0}}
#mma = #mxgpu.wgmma<n = 0, k = 16>

// wgmma C1
// expected-error @below {{expected n from 8 to 256 in steps of 8, found 12}}
#mma = #mxgpu.wgmma<n = 12, k = 16>

// wgmma C1
// expected-error @below {{expected n from 8 to 256 in steps of 8, found 264}}
#mma = #mxgpu.wgmma<n = 264, k = 16>

// wgmma C1
// expected-error @below {{expected n from 8 to 256 in steps of 8, found -8}}
#mma = #mxgpu.wgmma<n = -8, k = 16>

// wgmma C1
// expected-error @below {{expected n from 8 to 256 in steps of 8, found 4294967304}}
#mma = #mxgpu.wgmma<n = 4294967304, k = 16>

// wgmma C2
// expected-error @below {{expected k = 8, 16 or 32, found 64}}
#mma = #mxgpu.wgmma<n = 128, k = 64>

// wgmma C11
// expected-error @below {{expected 1 to 8 warpgroups, found 0}}
#mma = #mxgpu.wgmma<n = 128, k = 16, warpgroups = 0>

// wgmma C11
// expected-error @below {{expected 1 to 8 warpgroups, found 9}}
#mma = #mxgpu.wgmma<m = 576, n = 128, k = 16, warpgroups = 9>

// wgmma C12
// expected-error @below {{expected m to be 64 times a power of two, because each warpgroup multiplies 64 rows at a time, found 32}}
#mma = #mxgpu.wgmma<m = 32, n = 128, k = 16>

// wgmma C12
// expected-error @below {{expected m to be 128 times a power of two, because each warpgroup multiplies 64 rows at a time, found 192}}
#mma = #mxgpu.wgmma<m = 192, n = 128, k = 16, warpgroups = 2>

// wgmma C12
// expected-error @below {{expected m to be 64 times a power of two, because each warpgroup multiplies 64 rows at a time, found 192}}
#mma = #mxgpu.wgmma<m = 192, n = 64, k = 16>

// wgmma C12
// expected-error @below {{expected m to be 64 times a power of two, because each warpgroup multiplies 64 rows at a time, found -64}}
#mma = #mxgpu.wgmma<m = -64, n = 64, k = 16>

// wgmma C13
// expected-error @below {{expected an accumulator with at most 255 registers per thread, found 256: divide m among more warpgroups}}
#mma = #mxgpu.wgmma<m = 256, n = 256, k = 16, warpgroups = 2>

// expected-error @below {{expected one of [f16, mxf8f6f4, mxf4, mxf4nvf4] for kinds of tcgen05.mma and mma.sync (PTX ISA, .kind), got: tf32}}
#mma = #mxgpu.tcgen05_mma<tf32, m = 128, n = 128>

// tcgen05_mma C1
// expected-error @below {{expected 1 or 2 CTAs, found 3}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128, ctas = 3>

// tcgen05_mma C2
// expected-error @below {{expected m and n from 1 to 1024, found 0 and 128}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 0, n = 128>

// tcgen05_mma C2
// expected-error @below {{expected m and n from 1 to 1024, found 128 and 4294967424}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 4294967424>

// tcgen05_mma C3
// expected-error @below {{expected M = 128 with kind::mxf8f6f4 and cta_group::1, found 192}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 192, n = 128>

// tcgen05_mma C3
// expected-error @below {{expected N = 8 to 256 in steps of 8 with kind::mxf8f6f4 and cta_group::1 and M = 128, found 12}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 12>

// tcgen05_mma C4
// expected-error @below {{expected a block size that kind::mxf8f6f4 supports, found 16}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128, block = 16>

// tcgen05_mma C4
// expected-error @below {{expected a block size that kind::mxf8f6f4 supports, found 0}}
#mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128, block = 0>

// tcgen05_mma C17
// expected-error @below {{expected block = 0 with kind::f16, which has no scales, found 32}}
#mma = #mxgpu.tcgen05_mma<f16, m = 128, n = 128, block = 32>

// -----

// TEMPLATE scaled
// SET mma = #mxgpu.wgmma<n = 128, k = 16>
!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>, sa: smem<512xf8E8M0FNU>, sb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = async_threads(128)>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index, %yes: i1) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b, %sa, %sb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %sa : !mxgpu.buffer<smem<512xf8E8M0FNU>> -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %sb : !mxgpu.buffer<smem<512xf8E8M0FNU>> -> !mxgpu.scales<128>
      // BLOCK error
      // END
      %new = mxgpu.mma ${mma} %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %zero : !a, !b, !accumulator -> !accumulator
    }
  }
}

// -----

// CASES scaled error
// Rejects scales for wgmma, and an accumulator in registers for tcgen05.mma.
// mma C1
// expected-error @below {{'mxgpu.mma' op expected no scales of 'a', because #mxgpu.wgmma<n = 128, k = 16> supports none, found '!mxgpu.scales<128>'}}

// SET mma = #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128>
// mma C1
// expected-error @below {{'mxgpu.mma' op expected the accumulator in tensor memory, because #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> requires it there, found '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>'}}

// -----

// TEMPLATE mma
// SET a = 64x64xbf16, sw128
// SET b = 128x64xbf16, sw128
// SET producer = bulk_copy
// SET consumer = async_threads(128)
// SET accumulator = 64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// SET warps = 4
// SET mma = n = 128, k = 16
!in = !mxgpu.ring<4 x (a: smem<${a}>, b: smem<${b}>), producer = ${producer}, consumer = ${consumer}>
!a = !mxgpu.buffer<smem<${a}>>
!b = !mxgpu.buffer<smem<${b}>>
!accumulator = !mxgpu.fragment<${accumulator}>
// BLOCK type
// END
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index, %yes: i1) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(${warps}) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      // BLOCK error
      // END
      // BLOCK use
      %new = mxgpu.mma #mxgpu.wgmma<${mma}> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
      // END
    }
  }
}

// -----

// USE mma use
// mma C1
// expected-error @below {{'mxgpu.mma' op expected scales of 'a' in tensor memory, because #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> requires them there, found none}}
%new = mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// -----

// CASES
!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(4) {
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      // mma C1
      // expected-error @below {{'mxgpu.mma' op expected the accumulator in registers, because #mxgpu.wgmma<n = 128, k = 16> requires it there, found '!mxgpu.buffer<tmem<128x128xf32>>'}}
      mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %d : !a, !b, !d
    }
  }
}

// -----

// CASES mma use
// Rejects an accumulator in registers without a result of the same type.
// mma C3
// expected-error @below {{'mxgpu.mma' op expected a result of the accumulator's type if and only if the accumulator is in registers}}
mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator

// mma C3
// expected-error @below {{'mxgpu.mma' op expected a result of the accumulator's type if and only if the accumulator is in registers}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>

// -----

// Rejects operands with different reduction sizes.
// USE mma error
// SET b = 128x32xbf16, sw64
// mma C6
// expected-error @below {{'mxgpu.mma' op expected 'a' and 'b' with the same number of reduction elements, found 64 and 32}}

// -----

// CASES mma use
// SET a = 64x16xbf16, sw32
// SET b = 128x16xbf16, sw32
// mma C7
// expected-error @below {{'mxgpu.mma' op expected the number of reduction elements to be a multiple of 32, found 16}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 32> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// Rejects a mismatch between K and the element types.
// wgmma C5
// expected-error @below {{'mxgpu.mma' op expected K of wgmma with bf16 to be 16, found 32 in '!mxgpu.buffer<smem<64x64xbf16, sw128>>' and '!mxgpu.buffer<smem<128x64xbf16, sw128>>'}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 32> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// wgmma C5
// expected-error @below {{'mxgpu.mma' op expected K of wgmma with bf16 to be 16, found 8 in '!mxgpu.buffer<smem<64x64xbf16, sw128>>' and '!mxgpu.buffer<smem<128x64xbf16, sw128>>'}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 8> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// -----

// CASES mma error
// SET a = 64x128xf8E4M3FN, sw128
// SET b = 128x128xf8E5M2, sw128
// wgmma C5
// expected-error @below {{'mxgpu.mma' op expected K of wgmma with e4m3 to be 32, found 16 in '!mxgpu.buffer<smem<64x128xf8E4M3FN, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E5M2, sw128>>'}}

// Rejects element types without wgmma support.
// SET b = 128x64xf16, sw128
// wgmma C5
// expected-error @below {{'mxgpu.mma' op expected operands of wgmma to be both f16, both bf16, both tf32, or each e4m3 or e5m2, found bf16 and f16 in '!mxgpu.buffer<smem<64x64xbf16, sw128>>' and '!mxgpu.buffer<smem<128x64xf16, sw128>>'}}

// SET a = 64x32xf32, sw128
// SET b = 128x32xf32, sw128
// wgmma C4
// expected-error @below {{'mxgpu.mma' op expected bf16, f16, f8E4M3FN or f8E5M2 elements, found '!mxgpu.buffer<smem<64x32xf32, sw128>>' and '!mxgpu.buffer<smem<128x32xf32, sw128>>'}}

// -----

// Rejects rows longer than their swizzle.
// shared C35
// expected-error @below {{expected rows of at most 64 bytes with swizzle sw64, found 128}}
// USE mma
// SET a = 64x64xbf16, sw64

// -----

// USE mma error
// SET a = 64x64xbf16
// mma C8
// expected-error @below {{'mxgpu.mma' op expected operand rows to be as long as the swizzle, found '!mxgpu.buffer<smem<64x64xbf16>>'}}

// -----

// CASES mma use
// Rejects operands supported only by tcgen05.mma.
// wgmma C3
// expected-error @below {{'mxgpu.mma' op expected no 'extent' or 'b_offset', and no 'accumulate' other than a constant false: let the copy engine fill elements beyond the reduction with 0}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero accumulate(%yes) : !a, !b, !accumulator -> !accumulator

// wgmma C3
// expected-error @below {{'mxgpu.mma' op expected no 'extent' or 'b_offset', and no 'accumulate' other than a constant false: let the copy engine fill elements beyond the reduction with 0}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero extent(%i) : !a, !b, !accumulator -> !accumulator

// wgmma C3
// expected-error @below {{'mxgpu.mma' op expected no 'extent' or 'b_offset', and no 'accumulate' other than a constant false: let the copy engine fill elements beyond the reduction with 0}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b b_offset(%i) into %zero : !a, !b, !accumulator -> !accumulator

// Rejects rows beyond the end of B.
// wgmma C6
// expected-error @below {{'mxgpu.mma' op expected a row of 'b' from 0 to 0 in steps of 8, found 8}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b row(8) into %zero : !a, !b, !accumulator -> !accumulator

// -----

// CASES mma error
// Rejects operands and accumulators whose shape or type does not match the instruction.
// SET b = 64x64xbf16, sw128
// wgmma C6
// expected-error @below {{'mxgpu.mma' op expected 128 rows of 'b', found 64}}

// SET a = 128x64xbf16, sw128
// wgmma C7
// expected-error @below {{'mxgpu.mma' op expected 64 rows of 'a', found 128}}

// SET accumulator = 64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>
// wgmma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of type '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', found '!mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>'}}

// SET accumulator = 64x128xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// wgmma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of type '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', found '!mxgpu.fragment<64x128xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>'}}

// Rejects an accumulator with one row per thread.
// SET accumulator = 128x64xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>
// wgmma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of type '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', found '!mxgpu.fragment<128x64xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>>'}}

// Rejects roles of two and six warps instead of one warpgroup.
// SET warps = 2
// wgmma C9
// expected-error @below {{'mxgpu.mma' op expected a role with 4 warps (1 warpgroup), found 2}}

// SET warps = 6
// wgmma C9
// expected-error @below {{'mxgpu.mma' op expected a role with 4 warps (1 warpgroup), found 6}}

// -----

// TEMPLATE held
// SET b = 128x64xbf16, sw128
// SET producer = bulk_copy
// SET consumer = async_threads(128)
// SET held = 64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>
!in = !mxgpu.ring<4 x (b: smem<${b}>), producer = ${producer}, consumer = ${consumer}>
!b = !mxgpu.buffer<smem<${b}>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
!held = !mxgpu.fragment<${held}>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index, %yes: i1) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %held = mxgpu.zero_fragment : !held
      %stage, %b = mxgpu.consumer_wait %in : !in
      // BLOCK error
      // END
      // BLOCK use
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %held, %b into %zero : !held, !b, !accumulator -> !accumulator
      // END
    }
  }
}

// -----

// CASES held error
// Rejects A in registers without the layout of the instruction.
// SET held = 128x64xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>
// mma C10
// expected-error @below {{'mxgpu.mma' op expected 'a' of type '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>', found '!mxgpu.fragment<128x64xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>>'}}

// SET held = 64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>
// mma C10
// expected-error @below {{'mxgpu.mma' op expected 'a' of type '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>', found '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>'}}

// Rejects A in registers with an unsupported element type.
// SET held = 64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>
// mma C9
// expected-error @below {{'mxgpu.mma' op expected 'a' with an element count and type that #mxgpu.wgmma<n = 128, k = 16> supports in registers, found '!mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>'}}

// Rejects A in registers with fewer columns than the instruction's K.
// SET held = 64x8xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows]>
// mma C9
// expected-error @below {{'mxgpu.mma' op expected 'a' with an element count and type that #mxgpu.wgmma<n = 128, k = 16> supports in registers, found '!mxgpu.fragment<64x8xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows]>>'}}

// Rejects A in registers with a smaller reduction than B.
// SET held = 64x32xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 2: 16 columns]>
// mma C6
// expected-error @below {{'mxgpu.mma' op expected 'a' and 'b' with the same number of reduction elements, found 32 and 64}}

// Rejects A in registers with a different type than B.
// SET held = 64x64xf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>
// wgmma C5
// expected-error @below {{'mxgpu.mma' op expected operands of wgmma to be both f16, both bf16, both tf32, or each e4m3 or e5m2, found f16 and bf16 in '!mxgpu.fragment<64x64xf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>' and '!mxgpu.buffer<smem<128x64xbf16, sw128>>'}}

// Rejects a ring with threads instead of an instruction as its consumer.
// SET consumer = threads(128)
// mma C11
// expected-error @below {{'mxgpu.mma' op expected 'b' in a ring with consumer async_threads(n), found threads}}

// SET producer = threads(128)
// SET consumer = threads(128)
// mma C11
// expected-error @below {{'mxgpu.mma' op expected 'b' in a ring with consumer async_threads(n), found threads}}

// BLOCK use
// Rejects a thread number if A is in registers.
%thread = mxgpu.thread_id
// wgmma C10
// expected-error @below {{'mxgpu.mma' op expected 'thread' only if several warpgroups read 'a' from shared memory}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %held, %b into %zero thread(%thread) : !held, !b, !accumulator -> !accumulator

// -----

// CASES mma type
// Rejects a partial reduction with A in shared memory.
// SET b = 2x128x64xbf16, sw128
!held = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
// BLOCK use
%held = mxgpu.zero_fragment : !held
// mma C2
// expected-error @below {{'mxgpu.mma' op 'column' requires 'a' in registers and 'b' in shared memory, found '!mxgpu.buffer<smem<64x64xbf16, sw128>>' and '!mxgpu.buffer<smem<2x128x64xbf16, sw128>>'}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b column(0) into %zero : !a, !b, !accumulator -> !accumulator

// Rejects a start column with too few columns of B after it.
// SET b = 2x128x64xbf16, sw128
!held = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
// BLOCK use
%held = mxgpu.zero_fragment : !held
// mma C12
// expected-error @below {{'mxgpu.mma' op expected a column of 'b' from 0 to 64 in steps of 16, found 80}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %held, %b column(80) into %zero : !held, !b, !accumulator -> !accumulator

// Rejects a negative column.
// SET b = 2x128x64xbf16, sw128
!held = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
// BLOCK use
%held = mxgpu.zero_fragment : !held
// mma C12
// expected-error @below {{'mxgpu.mma' op expected a column of 'b' from 0 to 64 in steps of 16, found -16}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %held, %b column(-16) into %zero : !held, !b, !accumulator -> !accumulator

// Rejects a column that is not a multiple of the instruction's K.
// SET b = 2x128x64xbf16, sw128
!held = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
// BLOCK use
%held = mxgpu.zero_fragment : !held
// mma C12
// expected-error @below {{'mxgpu.mma' op expected a column of 'b' from 0 to 64 in steps of 16, found 8}}
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %held, %b column(8) into %zero : !held, !b, !accumulator -> !accumulator

// Rejects roles with a different number of warpgroups than the instruction.
// SET a = 128x64xbf16, sw128
// SET consumer = async_threads(256)
// SET accumulator = 128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// BLOCK use
// wgmma C9
// expected-error @below {{'mxgpu.mma' op expected a role with 8 warps (2 warpgroups), found 4}}
%new = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// SET a = 128x64xbf16, sw128
// SET consumer = async_threads(256)
// SET accumulator = 128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// SET warps = 12
// BLOCK use
// wgmma C9
// expected-error @below {{'mxgpu.mma' op expected a role with 8 warps (2 warpgroups), found 12}}
%new = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// Rejects several warpgroups without a thread number.
// SET a = 128x64xbf16, sw128
// SET consumer = async_threads(256)
// SET accumulator = 128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// SET warps = 8
// BLOCK use
// wgmma C10
// expected-error @below {{'mxgpu.mma' op expected 'thread', because several warpgroups read 'a' from shared memory}}
%new = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// Rejects an accumulator held by only one of two warpgroups.
// SET a = 128x64xbf16, sw128
// SET consumer = async_threads(256)
// SET accumulator = 128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 64 rows, 16: 8 columns]>
// SET warps = 8
// BLOCK use
// wgmma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of type '!mxgpu.fragment<128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', found '!mxgpu.fragment<128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 64 rows, 16: 8 columns]>>'}}
%new = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// Rejects A with the rows of only one of two warpgroups.
// SET consumer = async_threads(256)
// SET accumulator = 128x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 64 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// SET warps = 8
// BLOCK use
// wgmma C7
// expected-error @below {{'mxgpu.mma' op expected 128 rows of 'a', found 64}}
%new = mxgpu.mma #mxgpu.wgmma<m = 128, n = 128, k = 16, warpgroups = 2> %a, %b into %zero : !a, !b, !accumulator -> !accumulator

// -----

// CASES
// Rejects scales with kind::f16.
!in = !mxgpu.ring<4 x (a: smem<128x64xbf16, sw128>, b: smem<128x64xbf16, sw128>, sa: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(1) elected {
      %stage, %a, %b, %sa = mxgpu.consumer_wait %in : !in
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      %sfa = mxgpu.copy_scales %sa : !sf -> !mxgpu.scales<128>
      // mma C1
      // expected-error @below {{'mxgpu.mma' op expected no scales of 'a', because #mxgpu.tcgen05_mma<f16, m = 128, n = 128> supports none, found '!mxgpu.scales<128>'}}
      mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 128> %a, %b scales(%sfa, %sfa : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d : !a, !a, !d
    }
  }
}

// Rejects a start row of B with kind::f16.
!in = !mxgpu.ring<4 x (a: smem<128x64xbf16, sw128>, b: smem<64x64xbf16, sw128>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x64xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x64xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(1) elected {
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      // tcgen05_mma C6
      // expected-error @below {{'mxgpu.mma' op 'b_offset' requires scales}}
      mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 64> %a, %b b_offset(%i) into %d : !a, !b, !d
    }
  }
}

// -----

// TEMPLATE f16
// SET a = 128x128xf8E4M3FN, sw128
// SET producer = bulk_copy
// SET consumer = mma_commit
!in = !mxgpu.ring<4 x (a: smem<${a}>), producer = ${producer}, consumer = ${consumer}>
!a = !mxgpu.buffer<smem<${a}>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(1) elected {
      %stage, %a = mxgpu.consumer_wait %in : !in
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      // BLOCK error
      // END
      mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 128> %a, %a into %d : !a, !a, !d
    }
  }
}

// -----

// CASES f16 error
// Rejects elements other than f16 and bf16 with kind::f16.
// tcgen05_mma C11
// expected-error @below {{'mxgpu.mma' op expected A of kind::f16 to be one of f16, bf16, found e4m3 in '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}

// SET a = 128x32xf32, sw128
// tcgen05_mma C10
// expected-error @below {{'mxgpu.mma' op expected element types that the tensor core supports without scales in '!mxgpu.buffer<smem<128x32xf32, sw128>>'}}

// Rejects a choice of rows, which only wgmma has.
// SET a = 128x64xbf16, sw128
// mma C13
// expected-error @below {{'mxgpu.mma' op expected a row of 'b' only with #mxgpu.wgmma, found #mxgpu.tcgen05_mma<f16, m = 128, n = 128>}}
mxgpu.mma #mxgpu.tcgen05_mma<f16, m = 128, n = 128> %a, %a row(0) into %d : !a, !a, !d

// Rejects a ring with a consumer other than mma_commit.
// SET a = 128x64xbf16, sw128
// SET producer = threads(128)
// SET consumer = threads(128)
// mma C11
// expected-error @below {{'mxgpu.mma' op expected 'a' in a ring with consumer mma_commit, found threads}}

// -----

// TEMPLATE tcgen05
// SET a = 128x128xf8E4M3FN, sw128
// SET b = 128x128xf8E4M3FN, sw128
// SET d = 128x128xf32
// SET mma = mxf8f6f4, m = 128, n = 128
!in = !mxgpu.ring<4 x (a: smem<${a}>, b: smem<${b}>, sa: smem<512xf8E8M0FNU>, sb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<${a}>>
!b = !mxgpu.buffer<smem<${b}>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<${d}>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<${d}>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @multiply warps(1) elected {
      %stage, %a, %b, %sa, %sb = mxgpu.consumer_wait %in : !in
      %acc_stage, %d = mxgpu.producer_acquire %acc : !acc
      %sfa = mxgpu.copy_scales %sa : !sf -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %sb : !sf -> !mxgpu.scales<128>
      // BLOCK error
      // END
      mxgpu.mma #mxgpu.tcgen05_mma<${mma}> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d : !a, !b, !d
    }
  }
}

// -----

// CASES tcgen05 error
// Rejects an instruction of a CTA pair in a kernel without CTA pairs.
// SET mma = mxf8f6f4, m = 256, n = 256, ctas = 2
// tcgen05_mma C5
// expected-error @below {{'mxgpu.mma' op expected 'ctas' to match the size of the kernel's cluster, found ctas = 2}}

// Rejects dense 4-bit elements with kind::mxf8f6f4, and padded 4-bit elements with kind::mxf4.
// SET a = 128x256xf4E2M1FN, sw128
// SET b = 128x256xf4E2M1FN, sw128
// tcgen05_mma C9
// expected-error @below {{'mxgpu.mma' op expected one-byte or padded elements for kind::mxf8f6f4, found '!mxgpu.buffer<smem<128x256xf4E2M1FN, sw128>>'}}

// SET a = 128x128xf4E2M1FN, sw128, padded
// SET b = 128x128xf4E2M1FN, sw128, padded
// SET mma = mxf4, m = 128, n = 128
// tcgen05_mma C9
// expected-error @below {{'mxgpu.mma' op expected dense 4-bit elements for kind::mxf4, found '!mxgpu.buffer<smem<128x128xf4E2M1FN, sw128, padded>>'}}

// SET mma = mxf4, m = 128, n = 128
// tcgen05_mma C9
// expected-error @below {{'mxgpu.mma' op expected dense 4-bit elements for kind::mxf4, found '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}

// SET a = 64x128xf8E4M3FN, sw128
// tcgen05_mma C7
// expected-error @below {{'mxgpu.mma' op expected 128 rows of 'a' in each CTA, found 64}}

// -----

// CASES mma use
// Rejects a number of pending wait groups outside 0 to 7.
%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
// mma_wait C1
// expected-error @below {{'mxgpu.mma_wait' op expected 'pending' from 0 to 7, found 8}}
%done = mxgpu.mma_wait %new pending(8) : !accumulator

%new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
// mma_wait C1
// expected-error @below {{'mxgpu.mma_wait' op expected 'pending' from 0 to 7, found -1}}
%done = mxgpu.mma_wait %new pending(-1) : !accumulator

// mma_wait C1
// expected-error @below {{'mxgpu.mma_wait' op expected 'pending' from 0 to 7, found 9223372036854775807}}
%done = mxgpu.mma_wait %zero pending(9223372036854775807) : !accumulator
