// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// -----

// CASES
// mma_sync C1
// expected-error @below {{expected block = 0 and first_scale = 0 with kind::f16, which has no scales, found 32 and 0}}
#kind = #mxgpu.mma_sync<f16, m = 16, n = 32, block = 32>

// mma_sync C1
// expected-error @below {{expected block = 0 and first_scale = 0 with kind::f16, which has no scales, found 0 and 4}}
#kind = #mxgpu.mma_sync<f16, m = 16, n = 32, first_scale = 4>

// mma_sync C2
// expected-error @below {{expected a block size that kind::mxf4 supports, found 16}}
#kind = #mxgpu.mma_sync<mxf4, m = 16, n = 32, block = 16>

// mma_sync C3
// expected-error @below {{expected 1 to 32 warps, found 8 row warps and 8 column warps}}
#kind = #mxgpu.mma_sync<mxf8f6f4, m = 128, n = 256, warps = 8, column_warps = 8>

// mma_sync C3
// expected-error @below {{expected 1 to 32 warps, found 0 row warps and 1 column warps}}
#kind = #mxgpu.mma_sync<mxf8f6f4, m = 128, n = 256, warps = 0>

// mma_sync C4
// expected-error @below {{expected 16 rows and 32 columns per warp, or a power of two times these counts, found m = 24 with 1 warps and n = 32 with 1 warps}}
#kind = #mxgpu.mma_sync<mxf8f6f4, m = 24, n = 32>

// mma_sync C4
// expected-error @below {{expected 16 rows and 32 columns per warp, or a power of two times these counts, found m = 16 with 1 warps and n = 96 with 1 warps}}
#kind = #mxgpu.mma_sync<mxf8f6f4, m = 16, n = 96>

// mma_sync C5
// expected-error @below {{expected an accumulator with at most 255 registers per thread, found 256: divide m or n among more warps}}
#kind = #mxgpu.mma_sync<mxf8f6f4, m = 32, n = 256>

// mma_sync C6
// expected-error @below {{expected first_scale from 0 to 4096 in steps of 2, found 3}}
#kind = #mxgpu.mma_sync<mxf4, m = 16, n = 32, first_scale = 3>

// mma_sync C6
// expected-error @below {{expected first_scale from 0 to 4096 in steps of 1, found -1}}
#kind = #mxgpu.mma_sync<mxf8f6f4, m = 16, n = 32, first_scale = -1>

// -----

// TEMPLATE mma
// SET scale = f8E8M0FNU
// SET thread = 2
// SET value = 8
// SET warps = 1
// SET n = n = 32
// SET into = %zero
!a = !mxgpu.fragment<16x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns]>>
!b = !mxgpu.fragment<32x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 16 columns, 4: 8 rows]>>
!as = !mxgpu.fragment<16x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [2: 8 rows, 2: 0 columns, 8: 1 row], values = [4: 1 column]>>
!bs = !mxgpu.fragment<32x4x${scale}, #mxgpu.fragment_layout<threads = [4: 8 rows, 8: 1 row], values = [4: 1 column]>>
!d = !mxgpu.fragment<16x32xf32, #mxgpu.fragment_layout<threads = [4: ${thread} columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 4: ${value} columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_120a">] {
mxgpu.kernel @kernel(%i: index, %yes: i1) {
  mxgpu.role @multiply warps(${warps}) {
    %a = mxgpu.zero_fragment : !a
    %b = mxgpu.zero_fragment : !b
    %as = mxgpu.zero_fragment : !as
    %bs = mxgpu.zero_fragment : !bs
    %zero = mxgpu.zero_fragment : !d
    // BLOCK error
    // END
    %d = mxgpu.mma #mxgpu.mma_sync<mxf8f6f4, m = 16, ${n}> %a, %b scales(%as, %bs : !as, !bs) into ${into} : !a, !b, !d -> !d
  }
}
}

// -----

// CASES mma error
// SET into = %zero accumulate(%yes)
// mma_sync C7
// expected-error @below {{expected neither 'accumulate' nor 'b_offset': begin with mxgpu.zero_fragment}}

// SET thread = 8
// SET value = 2
// mma_sync C8
// expected-error @below {{expected an accumulator of type}}

// SET scale = f8E4M3FN
// mma_sync C9
// expected-error @below {{expected the scales of 'a' and 'b' to have the same type, which kind::mxf8f6f4 supports for a block size of 32, found}}

// SET n = n = 32, first_scale = 4
// mma_sync C10
// expected-error @below {{expected scales for at least 5 blocks of 'a', found 4}}

// SET warps = 2
// mma_sync C11
// expected-error @below {{expected a role with}}

// -----

// CASES
// mma_sync_block_scaled C1
// expected-error @below {{expected 1, 2, 4 or 8 column warps, found 3}}
#strategy = #mxgpu.mma_sync_block_scaled<column_warps = 3>

// mma_sync_upcast_b C1
// expected-error @below {{expected 1 to 1024 CTAs per SM, found 0}}
#strategy = #mxgpu.mma_sync_upcast_b<ctas_per_sm = 0>
