// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid register operands of matrix instructions.

// -----

// TEMPLATE function
// SET arguments = %q: !in, %s: vector<2x2xf8E8M0FNU>
// SET in = 64x64xf8E4M3FN, #quads
// SET out = 64x64xbf16, #quads
// SET x = f8E4M3FN
// SET y = f16
#quads = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>
#rows = #mxgpu.fragment_layout<threads = [32: 1 row], values = [32: 1 column]>
!in = !mxgpu.fragment<${in}>
!out = !mxgpu.fragment<${out}>
!x = !mxgpu.fragment<32x32x${x}, #rows>
!y = !mxgpu.fragment<32x32x${y}, #rows>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %q: !in, %s: vector<2x2xf16>
// dequantize_fragment C1
// expected-error @below {{'mxgpu.dequantize_fragment' op expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'f16'}}
%x = mxgpu.dequantize_fragment %q by %s block(32) : !in, vector<2x2xf16> -> !out

// SET in = 64x64xi8, #quads
// dequantize_fragment C2
// expected-error @below {{'mxgpu.dequantize_fragment' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN with scales of 'f8E8M0FNU', found 'i8'}}
%x = mxgpu.dequantize_fragment %q by %s block(32) : !in, vector<2x2xf8E8M0FNU> -> !out

// SET arguments = %q: !in, %s: vector<2x4xf8E4M3FN>
// dequantize_fragment C2
// expected-error @below {{'mxgpu.dequantize_fragment' op expected elements of type f4E2M1FN with scales of 'f8E4M3FN', found 'f8E4M3FN'}}
%x = mxgpu.dequantize_fragment %q by %s block(16) : !in, vector<2x4xf8E4M3FN> -> !out

// SET out = 64x64xf16, #quads
// dequantize_fragment C3
// expected-error @below {{'mxgpu.dequantize_fragment' op expected a result of type '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>', or of this type with reordered registers, found '!mxgpu.fragment<64x64xf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>'}}
%x = mxgpu.dequantize_fragment %q by %s block(32) : !in, vector<2x2xf8E8M0FNU> -> !out

// SET out = 64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 8 rows, 2: 1 column, 8: 8 columns]>
// dequantize_fragment C3
// expected-error @below {{'mxgpu.dequantize_fragment' op expected a result of type '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>', or of this type with reordered registers, found '!mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 8 rows, 2: 1 column, 8: 8 columns]>>'}}
%x = mxgpu.dequantize_fragment %q by %s block(32) : !in, vector<2x2xf8E8M0FNU> -> !out

// SET arguments = %q: !in, %s: vector<2x16xf8E8M0FNU>
// dequantize_fragment C4
// expected-error @below {{'mxgpu.dequantize_fragment' op expected a power-of-two block size of at least 8, found 4}}
%x = mxgpu.dequantize_fragment %q by %s block(4) : !in, vector<2x16xf8E8M0FNU> -> !out

// dequantize_fragment C4
// expected-error @below {{'mxgpu.dequantize_fragment' op expected a power-of-two block size of at least 8, found 48}}
%x = mxgpu.dequantize_fragment %q by %s block(48) : !in, vector<2x2xf8E8M0FNU> -> !out

// dequantize_fragment C4
// expected-error @below {{'mxgpu.dequantize_fragment' op expected a power-of-two block size of at least 8, found -32}}
%x = mxgpu.dequantize_fragment %q by %s block(-32) : !in, vector<2x2xf8E8M0FNU> -> !out

// SET arguments = %q: !in, %s: vector<2x4xf8E8M0FNU>
// dequantize_fragment C5
// expected-error @below {{'mxgpu.dequantize_fragment' op expected 'vector<2x2xf8E8M0FNU>', with one scale for each row and block of a thread, found 'vector<2x4xf8E8M0FNU>'}}
%x = mxgpu.dequantize_fragment %q by %s block(32) : !in, vector<2x4xf8E8M0FNU> -> !out

// SET in = 64x64xf4E2M1FN, #quads
// SET arguments = %q: !in, %s: vector<8xf8E4M3FN>
// dequantize_fragment C5
// expected-error @below {{'mxgpu.dequantize_fragment' op expected 'vector<2x4xf8E4M3FN>', with one scale for each row and block of a thread, found 'vector<8xf8E4M3FN>'}}
%x = mxgpu.dequantize_fragment %q by %s block(16) : !in, vector<8xf8E4M3FN> -> !out

// SET in = 64x64xf4E2M1FN, #quads
// SET arguments = %q: !in, %s: vector<2x[4]xf8E4M3FN>
// dequantize_fragment C5
// expected-error @below {{'mxgpu.dequantize_fragment' op expected 'vector<2x4xf8E4M3FN>', with one scale for each row and block of a thread, found 'vector<2x[4]xf8E4M3FN>'}}
%x = mxgpu.dequantize_fragment %q by %s block(16) : !in, vector<2x[4]xf8E4M3FN> -> !out

// SET in = 64x2xf8E5M2, #mxgpu.fragment_layout<threads = [64: 1 row], values = [2: 1 column]>
// SET out = 64x2xbf16, #mxgpu.fragment_layout<threads = [64: 1 row], values = [2: 1 column]>
// SET arguments = %q: !in, %s: vector<1x1xf8E8M0FNU>
// dequantize_fragment C6
// expected-error @below {{'mxgpu.dequantize_fragment' op expected the elements of each thread to fill 32-bit words, found 2 in '!mxgpu.fragment<64x2xf8E5M2, #mxgpu.fragment_layout<threads = [64: 1 row], values = [2: 1 column]>>'}}
%x = mxgpu.dequantize_fragment %q by %s block(32) : !in, vector<1x1xf8E8M0FNU> -> !out

// SET x = f8E5M2
// SET arguments = %x: !x, %s: vector<1x1xf8E8M0FNU>, %r: i32
// dequantize_fragment C7
// expected-error @below {{'mxgpu.dequantize_fragment' op 'reference' requires f8E4M3FN elements and power-of-two scales, found 'f8E5M2' and 'f8E8M0FNU'}}
%y = mxgpu.dequantize_fragment %x by %s block(32) reference(%r) : !x, vector<1x1xf8E8M0FNU> -> !y

// SET y = bf16
// SET arguments = %x: !x, %s: vector<1x1xf8E8M0FNU>
// dequantize_fragment C8
// expected-error @below {{'mxgpu.dequantize_fragment' op 'finite' requires a reference: add 'reference' or omit 'finite'}}
%y = mxgpu.dequantize_fragment %x by %s block(32) finite : !x, vector<1x1xf8E8M0FNU> -> !y

// SET arguments = %x: !x, %s: vector<1x1xf8E8M0FNU>, %r: i32
// dequantize_fragment C3
// expected-error @below {{'mxgpu.dequantize_fragment' op expected a result of type '!mxgpu.fragment<32x32xbf16, #mxgpu.fragment_layout<threads = [32: 1 row], values = [32: 1 column]>>', or of this type with reordered registers, found '!mxgpu.fragment<32x32xf16, #mxgpu.fragment_layout<threads = [32: 1 row], values = [32: 1 column]>>'}}
%y = mxgpu.dequantize_fragment %x by %s block(32) reference(%r) finite : !x, vector<1x1xf8E8M0FNU> -> !y

// SET arguments = %table: memref<4x3xi32>, %i: index
// load_scale_range C1
// expected-error @below {{'mxgpu.load_scale_range' op expected a table with 16-byte rows, found 'memref<4x3xi32>'}}
%r, %f = mxgpu.load_scale_range %table[%i] : memref<4x3xi32>
