// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -allow-unregistered-dialect -split-input-file -verify-diagnostics

// Invalid loads of operands and scales, relabeled fragments, row slices, split accumulators,
// and stores of fragments to buffers.

// -----

// TEMPLATE load
// SET a = 32x16xi8
// SET q = 32x16xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>
// SET producer = bulk_copy
// SET consumer = threads(32)
// SET role = warps(1)
// SET wait = consumer_wait
!in = !mxgpu.ring<1 x (a: smem<${a}>), producer = ${producer}, consumer = ${consumer}>
!a = !mxgpu.buffer<smem<${a}>>
!q = !mxgpu.fragment<${q}>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %in = mxgpu.ring "in" : !in
    %c8 = arith.constant 8 : index
    mxgpu.role @read ${role} {
      %s, %a = mxgpu.${wait} %in : !in
      // BLOCK error
      // END
      // BLOCK load
      %q = mxgpu.load_fragment %a at [%i, %i] : !a -> !q
      // END
    }
  }
}

// -----

// CASES load error
// SET producer = threads(32)
// SET consumer = bulk_store
// SET wait = producer_acquire
// shared C2
// expected-error @below {{'mxgpu.load_fragment' op expected a buffer of mxgpu.consumer_wait, found a buffer of mxgpu.producer_acquire}}

// SET consumer = threads(64)
// SET role = warps(2)
// shared C26
// expected-error @below {{'mxgpu.load_fragment' op expected a role with 32 threads, as in the layout of the fragment, found 64}}

// SET a = 512xi8
// shared C20
// expected-error @below {{'mxgpu.load_fragment' op expected a matrix, or the panels of a matrix, in shared memory, found}}

// SET a = 32x16xi8, sw32
// shared C22
// expected-error @below {{'mxgpu.load_fragment' op expected rows to be as long as the swizzle, found}}

// SET a = 32x16xbf16
// SET q = 32x16xf16, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>
// load_fragment C1
// expected-error @below {{'mxgpu.load_fragment' op expected fragment elements of type 'bf16' with 4, 8, 16 or 32 bits, or 4-bit or 6-bit elements in a buffer of bytes (i8), found 'f16'}}

// SET a = 32x16xf64
// SET q = 32x16xf64, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>
// load_fragment C1
// expected-error @below {{'mxgpu.load_fragment' op expected fragment elements of type 'f64' with 4, 8, 16 or 32 bits, or 4-bit or 6-bit elements in a buffer of bytes (i8), found 'f64'}}

// SET a = 32x16xf6E3M2FN
// SET q = 32x16xf6E3M2FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>
// load_fragment C1
// expected-error @below {{'mxgpu.load_fragment' op expected fragment elements of type 'f6E3M2FN' with 4, 8, 16 or 32 bits, or 4-bit or 6-bit elements in a buffer of bytes (i8), found 'f6E3M2FN'}}

// SET a = 48x16xi8
// load_fragment C2
// expected-error @below {{'mxgpu.load_fragment' op expected a fragment whose rows divide the rows of the buffer, and whose columns divide a panel or span whole panels, found}}

// SET a = 3x32x16xi8
// SET q = 32x32xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [32: 1 column]>
// load_fragment C2
// expected-error @below {{'mxgpu.load_fragment' op expected a fragment whose rows divide the rows of the buffer, and whose columns divide a panel or span whole panels, found}}

// SET a = 2x32x48xi8
// SET q = 32x96xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [96: 1 column]>
// load_fragment C3
// expected-error @below {{'mxgpu.load_fragment' op expected panel rows whose length is a power of two, because the fragment spans several panels, found}}

// SET a = 32x6xi8
// SET q = 32x6xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [6: 1 column]>
// load_fragment C4
// expected-error @below {{'mxgpu.load_fragment' op expected the registers of a thread to fill 32-bit words, found 6 of 'i8'}}

// SET a = 64x8xi8
// SET q = 64x16xf4E2M1FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [2: 32 rows, 16: 1 column]>
// load_fragment C5
// expected-error @below {{'mxgpu.load_fragment' op expected registers whose lowest mode counts an even number of adjacent columns, because a byte holds two 4-bit elements, found}}

// SET a = 64x16xi8
// BLOCK load
// load_fragment C6
// expected-error @below {{'mxgpu.load_fragment' op expected a row that is a multiple of 32 below 64, found 8}}
%q = mxgpu.load_fragment %a at [%c8, %i] : !a -> !q

// SET a = 32x32xi8
// BLOCK load
// load_fragment C6
// expected-error @below {{'mxgpu.load_fragment' op expected a column that is a multiple of 16 below 32, found 8}}
%q = mxgpu.load_fragment %a at [%i, %c8] : !a -> !q

// SET a = 12x128xi8, sw128
// SET q = 12x128xi8, #mxgpu.fragment_layout<threads = [32: 4 columns], values = [4: 1 column, 12: 1 row]>
// load_fragment C7
// expected-error @below {{'mxgpu.load_fragment' op expected a row count that is a power of two or a multiple of 8 with a swizzle, and a row count per panel that is a multiple of 8, found}}

// SET a = 2x4x128xi8, sw128
// SET q = 4x256xi8, #mxgpu.fragment_layout<threads = [32: 8 columns], values = [8: 1 column, 4: 1 row]>
// load_fragment C7
// expected-error @below {{'mxgpu.load_fragment' op expected a row count that is a power of two or a multiple of 8 with a swizzle, and a row count per panel that is a multiple of 8, found}}

// SET a = 32x64xi8, sw64
// SET q = 32x64xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [64: 1 column]>
// BLOCK load
// load_fragment C8
// expected-error @below {{'mxgpu.load_fragment' op expected a row size that is a multiple of 16 bytes and a layout in which lane t of a warp holds word t % 4 of row t / 4 of every 8 rows, found}}
%q = mxgpu.load_fragment %a at [%i, %i] matrices : !a -> !q

// SET a = 2x8x8xi8
// SET q = 8x16xi8, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column]>
// BLOCK load
// load_fragment C8
// expected-error @below {{'mxgpu.load_fragment' op expected a row size that is a multiple of 16 bytes and a layout in which lane t of a warp holds word t % 4 of row t / 4 of every 8 rows, found}}
%q = mxgpu.load_fragment %a at [%i, %i] matrices : !a -> !q

// SET a = 8x16xi8
// SET q = 8x16xi8, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column]>
// SET role = warps(1) elected
// BLOCK load
// load_fragment C9
// expected-error @below {{'mxgpu.load_fragment' op 'matrices' requires all lanes of a warp, found an elected role}}
%q = mxgpu.load_fragment %a at [%i, %i] matrices : !a -> !q

// -----

// TEMPLATE role
// SET x = f32
// SET s = f8E8M0FNU
// SET arguments = 
// SET attributes = 
!x = !mxgpu.fragment<32x2x${x}, #mxgpu.fragment_layout<threads = [32: 1 row], values = [2: 1 column]>>
!in = !mxgpu.ring<1 x (sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = threads(32)>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!s = !mxgpu.fragment<16x4x${s}, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 8 rows]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments})${attributes} {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
// SET attributes = cluster_splits(2)
%x = mxgpu.zero_fragment : !x
%thread = mxgpu.thread_id
// add_partials C3
// expected-error @below {{'mxgpu.add_partials' op 'distributed' requires a multiple of 4 registers per thread, found 2 in}}
%y = mxgpu.add_partials %x thread(%thread) distributed : !x

// SET attributes = cluster_splits(2)
// SET x = bf16
%x = mxgpu.zero_fragment : !x
%thread = mxgpu.thread_id
// add_partials C1
// expected-error @below {{'mxgpu.add_partials' op expected an f32 accumulator, found}}
%y = mxgpu.add_partials %x thread(%thread) : !x

// end_partials C1
// expected-error @below {{'mxgpu.end_partials' op expected to be inside a kernel with cluster_splits(n)}}
mxgpu.end_partials

%x = mxgpu.zero_fragment : !x
%thread = mxgpu.thread_id
// add_partials C2
// expected-error @below {{'mxgpu.add_partials' op expected to be inside a kernel with cluster_splits(n)}}
%y = mxgpu.add_partials %x thread(%thread) : !x

// Rejects a fragment of scales with a block size other than 1.
// SET arguments = %i: index
%stage, %sf = mxgpu.consumer_wait %in : !in
// load_fragment_scales C5
// expected-error @below {{'mxgpu.load_fragment_scales' op expected block(1), and a result and a fragment of the same type with elements of type 'f8E8M0FNU', found block(32) for}}
%s = mxgpu.load_fragment_scales %sf at [%i, %i] block(32) for !s : !sf -> !s

// Rejects a fragment of scales whose element type differs from the buffer's.
// SET arguments = %i: index
// SET s = f8E4M3FN
%stage, %sf = mxgpu.consumer_wait %in : !in
// load_fragment_scales C5
// expected-error @below {{'mxgpu.load_fragment_scales' op expected block(1), and a result and a fragment of the same type with elements of type 'f8E8M0FNU', found block(1) for '!mxgpu.fragment<16x4xf8E4M3FN}}
%s = mxgpu.load_fragment_scales %sf at [%i, %i] block(1) for !s : !sf -> !s

// -----

// TEMPLATE function
// SET arguments = %x: !whole
// SET y = 32x16xf8E4M3FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>
// SET whole = 128x16xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 columns, 2: 8 rows, 2: 64 rows]>
// SET part = bf16
!x = !mxgpu.fragment<32x16xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>>
!y = !mxgpu.fragment<${y}>
!whole = !mxgpu.fragment<${whole}>
!part = !mxgpu.fragment<64x16x${part}, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 columns, 2: 8 rows]>>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %x: !x
// relabel_fragment C1
// expected-error @below {{'mxgpu.relabel_fragment' op expected the element type of}}
%y = mxgpu.relabel_fragment %x : !x -> !y

// SET arguments = %x: !x
// SET y = 32x16xi8, #mxgpu.fragment_layout<threads = [32: 1 row, 2: 8 columns], values = [8: 1 column]>
// relabel_fragment C2
// expected-error @below {{'mxgpu.relabel_fragment' op expected 32 threads with 16 registers each, found 64 with 8}}
%y = mxgpu.relabel_fragment %x : !x -> !y

// SET part = f16
// extract_rows C1
// expected-error @below {{'mxgpu.extract_rows' op expected the layout of '!mxgpu.fragment<128x16xbf16}}
%y = mxgpu.extract_rows %x[0] : !whole -> !part

// extract_rows C2
// expected-error @below {{'mxgpu.extract_rows' op expected a slice index from 0 to 1, found 2}}
%y = mxgpu.extract_rows %x[2] : !whole -> !part

// SET whole = 128x16xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 64 rows, 2: 8 columns, 2: 8 rows]>
// SET part = f4E2M1FN
// extract_rows C3
// expected-error @below {{'mxgpu.extract_rows' op expected a register mode that counts rows with a stride divisible by 8, the element count of a register, found stride 2}}
%y = mxgpu.extract_rows %x[0] : !whole -> !part

// concat_rows C1
// expected-error @below {{'mxgpu.concat_rows' op expected at least one slice, found none}}
%y = "mxgpu.concat_rows"() : () -> !whole

// SET arguments = %x: !whole, %p: !part
// concat_rows C2
// expected-error @below {{'mxgpu.concat_rows' op expected slices of the same type, found}}
%y = mxgpu.concat_rows %x, %p : !whole, !part -> !whole

// SET arguments = %p: !part
// concat_rows C3
// expected-error @below {{'mxgpu.concat_rows' op expected 2 slices, found 1}}
%y = mxgpu.concat_rows %p : !part -> !whole

// -----

// TEMPLATE scales
// SET sf = 512xf8E8M0FNU
// SET q = 32x64xf8E4M3FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [64: 1 column]>
// SET threads = 32
// SET warps = 1
// SET at = %i, %i
// SET block = 32
// SET scales = 1x2xf8E8M0FNU
!in = !mxgpu.ring<1 x (sf: smem<${sf}>), producer = bulk_copy, consumer = threads(${threads})>
!sf = !mxgpu.buffer<smem<${sf}>>
!q = !mxgpu.fragment<${q}>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %in = mxgpu.ring "in" : !in
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    mxgpu.role @read warps(${warps}) {
      %stage, %sf = mxgpu.consumer_wait %in : !in
      // BLOCK error
      // END
      %s = mxgpu.load_fragment_scales %sf at [${at}] block(${block}) for !q : !sf -> vector<${scales}>
    }
  }
}

// -----

// CASES scales error
// SET sf = 1x2x128xf8E8M0FNU
// load_fragment_scales C1
// expected-error @below {{'mxgpu.load_fragment_scales' op expected a tile of 512 scales of type f8E8M0FNU, f8E4M3FN or f32, or a matrix of tiles, found}}

// SET sf = 512xi8
// load_fragment_scales C1
// expected-error @below {{'mxgpu.load_fragment_scales' op expected a tile of 512 scales of type f8E8M0FNU, f8E4M3FN or f32, or a matrix of tiles, found}}

// SET block = 8
// load_fragment_scales C2
// expected-error @below {{'mxgpu.load_fragment_scales' op expected a power-of-two block size of at least 16 that divides or covers the fragment's columns, 64, found 8}}

// SET q = 96x16xf8E4M3FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column, 3: 32 rows]>
// SET block = 16
// load_fragment_scales C3
// expected-error @below {{'mxgpu.load_fragment_scales' op expected the rows and blocks of the fragment to divide a tile of 128x4 or to span whole tiles, and to divide the buffer's 128x4, found 96x1}}

// SET sf = 2x256xf8E8M0FNU
// SET q = 32x256xf8E4M3FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [256: 1 column]>
// load_fragment_scales C3
// expected-error @below {{'mxgpu.load_fragment_scales' op expected the rows and blocks of the fragment to divide a tile of 128x4 or to span whole tiles, and to divide the buffer's 128x4, found 32x8}}

// Rejects 192 rows, which may start in the middle of a 128-row tile, if a thread holds rows at least 64 apart.
// SET sf = 2x1x2x256xf8E8M0FNU
// SET q = 192x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [32: 1 column, 6: 32 rows]>
// SET scales = 6x1xf8E8M0FNU
// load_fragment_scales C3
// expected-error @below {{'mxgpu.load_fragment_scales' op expected the rows and blocks of the fragment to divide a tile of 128x4 or to span whole tiles, and to divide the buffer's 256x4, found 192x1}}

// SET sf = 3x1x2x256xf8E8M0FNU
// SET q = 256x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [256: 1 row], values = [32: 1 column]>
// SET threads = 256
// SET warps = 8
// SET scales = 1x1xf8E8M0FNU
// load_fragment_scales C3
// expected-error @below {{'mxgpu.load_fragment_scales' op expected the rows and blocks of the fragment to divide a tile of 128x4 or to span whole tiles, and to divide the buffer's 384x4, found 256x1}}

// SET sf = 2x1x2x256xf8E8M0FNU
// SET q = 192x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [64: 1 row, 3: 64 rows], values = [32: 1 column]>
// SET threads = 192
// SET warps = 6
// SET at = %c32, %i
// SET scales = 1x1xf8E8M0FNU
// expected-error @below {{'mxgpu.load_fragment_scales' op expected a row that is a multiple of 64 below 256, found 32}}

// SET scales = 2x1xf8E8M0FNU
// load_fragment_scales C4
// expected-error @below {{'mxgpu.load_fragment_scales' op expected one scale for each row and block of a thread, of type 'vector<1x2xf8E8M0FNU>', found 'vector<2x1xf8E8M0FNU>'}}

// SET sf = 1x1x2x256xf8E8M0FNU
// SET at = %i, %c8
// load_fragment C6
// expected-error @below {{'mxgpu.load_fragment_scales' op expected a block that is a multiple of 2 below 4, found 8}}

// -----

// TEMPLATE store
// SET y = 32x16xi8
// SET scope = cta
// SET q = !mxgpu.fragment<32x16xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [16: 1 column]>>
// SET at = 
!out = !mxgpu.ring<1 x (y: smem<${y}>), producer = threads(32), consumer = bulk_store, scope = ${scope}>
!y = !mxgpu.buffer<smem<${y}>>
!q = ${q}
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index) {
    %out = mxgpu.ring "out" : !out
    mxgpu.role @write warps(1) {
      %q = "some"() : () -> !q
      %s, %y = mxgpu.producer_acquire %out : !out
      // BLOCK error
      // END
      mxgpu.store_shared %q, %y ${at} : !q, !y
    }
  }
}

// -----

// CASES store error
// SET y = 64x16xi8
// store_shared C7
// expected-error @below {{'mxgpu.store_shared' op expected a buffer with the 32x16 elements of}}

// SET y = 32x6xi8
// SET q = !mxgpu.fragment<32x6xi8, #mxgpu.fragment_layout<threads = [32: 1 row], values = [6: 1 column]>>
// load_fragment C4
// expected-error @below {{'mxgpu.store_shared' op expected the registers of a thread to fill 32-bit words, found 6 of 'i8'}}

// SET scope = warp
// SET q = vector<16xi8>
// SET at = at [%i, %i]
// store_shared C2
// expected-error @below {{'mxgpu.store_shared' op expected a ring with scope = cta or pair, found}}
