// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid stores of fragments to shared memory.

// -----

// TEMPLATE store
// SET c = 16x32xf32, sw128
// SET producer = threads(32)
// SET scope = warp
// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
// SET warps = 4
!out = !mxgpu.ring<2 x (c: smem<${c}>), producer = ${producer}, consumer = bulk_store, scope = ${scope}>
!c = !mxgpu.buffer<smem<${c}>>
!accumulator = !mxgpu.fragment<${accumulator}>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %out = mxgpu.ring "out" : !out
    mxgpu.role @store warps(${warps}) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %c = mxgpu.producer_acquire %out : !out
      // BLOCK error
      // END
      // BLOCK use
      mxgpu.store_shared %zero, %c : !accumulator, !c
      // END
    }
  }
}

// -----

// Rejects coordinates for a fragment, because the fragment fills the buffer of its warp.
// USE store use
// store_shared C1
// expected-error @below {{'mxgpu.store_shared' op expected no coordinates for a fragment, found 2}}
mxgpu.store_shared %zero, %c at [%i, %i] : !accumulator, !c

// -----

!out = !mxgpu.ring<2 x (c: smem<16x32xf32, sw128>), producer = threads(128), consumer = bulk_store>
!c = !mxgpu.buffer<smem<16x32xf32, sw128>>
!accumulator = !mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %out = mxgpu.ring "out" : !out
    mxgpu.role @store warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %c = mxgpu.producer_acquire %out : !out
      // load_fragment C2
      // expected-error @below {{'mxgpu.store_shared' op expected a fragment whose rows divide the rows of the buffer, and whose columns divide a panel or span whole panels, found}}
      mxgpu.store_shared %zero, %c : !accumulator, !c
    }
  }
}

// -----

// CASES store error
// SET c = 32x32xf32, sw128
// store_shared C4
// expected-error @below {{'mxgpu.store_shared' op expected a buffer with the 16 rows per warp, the columns and the element type of '!mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>', found '!mxgpu.buffer<smem<32x32xf32, sw128>>'}}

// SET c = 16x16xf32, sw64
// store_shared C4
// expected-error @below {{'mxgpu.store_shared' op expected a buffer with the 16 rows per warp, the columns and the element type of '!mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>', found '!mxgpu.buffer<smem<16x16xf32, sw64>>'}}

// SET c = 16x32xi32, sw128
// store_shared C4
// expected-error @below {{'mxgpu.store_shared' op expected a buffer with the 16 rows per warp, the columns and the element type of '!mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>', found '!mxgpu.buffer<smem<16x32xi32, sw128>>'}}

// SET c = 16x16xf32, sw128
// SET accumulator = 64x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>
// store_shared C6
// expected-error @below {{'mxgpu.store_shared' op expected a row size that is a power of two, at least 16 bytes, and equal to the swizzle, found '!mxgpu.buffer<smem<16x16xf32, sw128>>'}}

// SET c = 16x24xf32
// SET accumulator = 64x24xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 3: 8 columns]>
// store_shared C6
// expected-error @below {{'mxgpu.store_shared' op expected a row size that is a power of two, at least 16 bytes, and equal to the swizzle, found '!mxgpu.buffer<smem<16x24xf32>>'}}

// Rejects runs of less than 4 bytes.
// SET c = 16x32xi8, sw32
// SET accumulator = 64x32xi8, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
// store_shared C5
// expected-error @below {{'mxgpu.store_shared' op expected a run size of 4, 8 or a multiple of 16 bytes in a thread's rows, found '!mxgpu.fragment<64x32xi8, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>'}}

// SET c = 16x64xf4E2M1FN, sw32
// SET accumulator = 64x64xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>
// store_shared C5
// expected-error @below {{'mxgpu.store_shared' op expected a run size of 4, 8 or a multiple of 16 bytes in a thread's rows, found '!mxgpu.fragment<64x64xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>'}}

// Rejects a warp whose rows are not adjacent or do not follow the rows of the previous warp.
// SET c = 64x4xf32
// SET accumulator = 256x4xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column, 2: 128 rows]>
// store_shared C3
// expected-error @below {{'mxgpu.store_shared' op expected a fragment with adjacent rows in each warp, found '!mxgpu.fragment<256x4xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column, 2: 128 rows]>>'}}

// SET c = 32x4xf32
// SET accumulator = 128x4xf32, #mxgpu.fragment_layout<threads = [32: 1 row, 2: 64 rows, 2: 32 rows], values = [4: 1 column]>
// store_shared C3
// expected-error @below {{'mxgpu.store_shared' op expected a fragment with adjacent rows in each warp, found '!mxgpu.fragment<128x4xf32, #mxgpu.fragment_layout<threads = [32: 1 row, 2: 64 rows, 2: 32 rows], values = [4: 1 column]>>'}}

// SET c = 1x512xf32
// SET accumulator = 2x512xf32, #mxgpu.fragment_layout<threads = [128: 4 columns], values = [4: 1 column, 2: 1 row]>
// store_shared C3
// expected-error @below {{'mxgpu.store_shared' op expected a fragment with adjacent rows in each warp, found '!mxgpu.fragment<2x512xf32, #mxgpu.fragment_layout<threads = [128: 4 columns], values = [4: 1 column, 2: 1 row]>>'}}

// SET c = 16x4xf32
// SET accumulator = 16x4xf32, #mxgpu.fragment_layout<threads = [16: 1 row], values = [4: 1 column]>
// store_shared C3
// expected-error @below {{'mxgpu.store_shared' op expected a fragment with adjacent rows in each warp, found '!mxgpu.fragment<16x4xf32, #mxgpu.fragment_layout<threads = [16: 1 row], values = [4: 1 column]>>'}}
