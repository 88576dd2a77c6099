// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid splits and constructions of fragments.

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

// CASES mma use
// Rejects parts whose column count does not divide the fragment's, and parts with another type or layout.
// extract_columns C1
// expected-error @below {{'mxgpu.extract_columns' op expected a slice with the element type and layout of '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', and a column count that divides the fragment's, found '!mxgpu.fragment<64x48xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 6: 8 columns]>>'}}
%part = mxgpu.extract_columns %zero at(%i) : !accumulator -> !mxgpu.fragment<64x48xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 6: 8 columns]>>

// extract_columns C1
// expected-error @below {{'mxgpu.extract_columns' op expected a slice with the element type and layout of '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', and a column count that divides the fragment's, found '!mxgpu.fragment<64x256xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 32: 8 columns]>>'}}
%part = mxgpu.extract_columns %zero at(%i) : !accumulator -> !mxgpu.fragment<64x256xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 32: 8 columns]>>

// extract_columns C1
// expected-error @below {{'mxgpu.extract_columns' op expected a slice with the element type and layout of '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', and a column count that divides the fragment's, found '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>'}}
%part = mxgpu.extract_columns %zero at(%i) : !accumulator -> !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>

// extract_columns C1
// expected-error @below {{'mxgpu.extract_columns' op expected a slice with the element type and layout of '!mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>', and a column count that divides the fragment's, found '!mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>'}}
%part = mxgpu.extract_columns %zero at(%i) : !accumulator -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>

%c = arith.constant 32 : index
// extract_columns C2
// expected-error @below {{'mxgpu.extract_columns' op expected a column from 0 to 64 in steps of 64, found 32}}
%part = mxgpu.extract_columns %zero at(%c) : !accumulator -> !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>

%c = arith.constant 128 : index
// extract_columns C2
// expected-error @below {{'mxgpu.extract_columns' op expected a column from 0 to 64 in steps of 64, found 128}}
%part = mxgpu.extract_columns %zero at(%c) : !accumulator -> !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>

%c = arith.constant -64 : index
// extract_columns C2
// expected-error @below {{'mxgpu.extract_columns' op expected a column from 0 to 64 in steps of 64, found -64}}
%part = mxgpu.extract_columns %zero at(%c) : !accumulator -> !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>

// -----

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = threads(128)>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%i: index, %yes: i1) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      %c = arith.constant 128 : index
      // extract_columns C2
      // expected-error @below {{'mxgpu.extract_columns' op expected column 0 for a slice of all columns, found 128}}
      %part = mxgpu.extract_columns %zero at(%c) : !accumulator -> !accumulator
    }
  }
}

// -----

// CASES mma use
// Rejects results other than one vector for each row of the thread.
// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
// shared C27
// expected-error @below {{'mxgpu.to_rows' op expected 2 rows of 'vector<8xf32>', found 'vector<16xf32>'}}
%rows = mxgpu.to_rows %zero : !accumulator -> vector<16xf32>

// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
// shared C27
// expected-error @below {{'mxgpu.to_rows' op expected 2 rows of 'vector<8xf32>', found 'vector<8xf32>', 'vector<4xf32>'}}
%rows:2 = mxgpu.to_rows %zero : !accumulator -> vector<8xf32>, vector<4xf32>

// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
// shared C27
// expected-error @below {{'mxgpu.to_rows' op expected 2 rows of 'vector<8xf32>', found 'vector<8xbf16>', 'vector<8xbf16>'}}
%rows:2 = mxgpu.to_rows %zero : !accumulator -> vector<8xbf16>, vector<8xbf16>

// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
// shared C27
// expected-error @below {{'mxgpu.to_rows' op expected 2 rows of 'vector<8xf32>', found 'vector<8xf32>', 'vector<8xf32>', 'vector<8xf32>'}}
%rows:3 = mxgpu.to_rows %zero : !accumulator -> vector<8xf32>, vector<8xf32>, vector<8xf32>

// -----

// The elements of a thread fill a word, but the elements of one row do not.
!narrow = !mxgpu.fragment<256x4xf4E2M1FN, #mxgpu.fragment_layout<threads = [128: 2 rows], values = [4: 1 column, 2: 1 row]>>
func.func @f(%f: !narrow) {
  // shared C12
  // expected-error @below {{'mxgpu.to_rows' op expected a 1-D vector of whole 32-bit words, found 'vector<4xf4E2M1FN>'}}
  %rows:2 = mxgpu.to_rows %f : !narrow -> vector<4xf4E2M1FN>, vector<4xf4E2M1FN>
  return
}

// -----

// CASES mma use
// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
%v = arith.constant dense<0.0> : vector<8xf32>
// shared C27
// expected-error @below {{'mxgpu.from_rows' op expected 2 rows of 'vector<8xf32>', found 'vector<8xf32>'}}
%f = mxgpu.from_rows %v : vector<8xf32> -> !accumulator

// SET accumulator = 64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
%v = arith.constant dense<0.0> : vector<16xf32>
// shared C27
// expected-error @below {{'mxgpu.from_rows' op expected 2 rows of 'vector<8xf32>', found 'vector<16xf32>', 'vector<16xf32>'}}
%f = mxgpu.from_rows %v, %v : vector<16xf32>, vector<16xf32> -> !accumulator

// SET accumulator = 128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>
%v = arith.constant dense<0.0> : vector<16xf32>
// shared C27
// expected-error @below {{'mxgpu.from_rows' op expected 1 row of 'vector<32xf32>', found 'vector<16xf32>', 'vector<16xf32>'}}
%f = mxgpu.from_rows %v, %v : vector<16xf32>, vector<16xf32> -> !accumulator

// Rejects nonexistent rows and runs, and roles with a different thread count than the fragment.
// shared C25
// expected-error @below {{'mxgpu.fragment_row' op expected the index of a row to be below 2, found 2}}
%row = mxgpu.fragment_row 2 of !accumulator

// shared C25
// expected-error @below {{'mxgpu.fragment_row' op expected the index of a row to be below 2, found -1}}
%row = mxgpu.fragment_row -1 of !accumulator

// SET accumulator = 128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>
// shared C25
// expected-error @below {{'mxgpu.fragment_row' op expected the index of a row to be below 1, found 1}}
%row = mxgpu.fragment_row 1 of !accumulator

// SET warps = 8
// shared C26
// expected-error @below {{'mxgpu.fragment_row' op expected a role with 128 threads, as in the layout of the fragment, found 256}}
%row = mxgpu.fragment_row 0 of !accumulator

// expected-error @below {{'mxgpu.fragment_row' op attribute 'fragment' failed to satisfy constraint: type attribute of a matrix in the registers of a role's threads}}
%row = mxgpu.fragment_row 0 of vector<8xf32>

// shared C25
// expected-error @below {{'mxgpu.fragment_column' op expected the index of a run to be below 16, found 16}}
%column = mxgpu.fragment_column 16 of !accumulator

// shared C25
// expected-error @below {{'mxgpu.fragment_column' op expected the index of a run to be below 16, found -1}}
%column = mxgpu.fragment_column -1 of !accumulator

// shared C25
// expected-error @below {{'mxgpu.fragment_column' op expected the index of a run to be below 16, found 9223372036854775807}}
%column = mxgpu.fragment_column 9223372036854775807 of !accumulator

// SET warps = 1
// shared C26
// expected-error @below {{'mxgpu.fragment_column' op expected a role with 128 threads, as in the layout of the fragment, found 32}}
%column = mxgpu.fragment_column 0 of !accumulator
