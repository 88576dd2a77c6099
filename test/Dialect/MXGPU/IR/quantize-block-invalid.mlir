// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE function
// SET arguments = %v: vector<32xf32>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %v: vector<16xbf16>
// quantize_block C3
// expected-error @below {{'mxgpu.quantize_block' op expected lanes that together contain a block of 32 elements or a square of 32 rows, found 1 lanes with 16 elements each}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU

// SET arguments = %v: vector<32xbf16>, %seed: i64
// quantize_block C6
// expected-error @below {{'mxgpu.quantize_block' op expected both 'seed' and 'first', or neither}}
%e, %s = "mxgpu.quantize_block"(%v, %seed) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>, scale_rounding = #mxgpu<scale_rounding ceil>}>
    : (vector<32xbf16>, i64) -> (vector<32xf8E4M3FN>, f8E8M0FNU)

// SET arguments = %v: vector<16xbf16>
// quantize_block C3
// expected-error @below {{'mxgpu.quantize_block' op expected lanes that together contain a block of 32 elements or a square of 32 rows, found 4 lanes with 16 elements each}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil lanes(4) : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU

// Rejects 4-bit elements in blocks of 128.
// SET arguments = %v: vector<16xbf16>
// shared C15
// expected-error @below {{'mxgpu.quantize_block' op expected elements of type f8E4M3FN or f8E5M2, found 'f4E2M1FN'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil lanes(8) : vector<16xbf16> -> vector<16xf4E2M1FN>, f8E8M0FNU

// SET arguments = %v: vector<16xbf16>, %g: f32
// quantize_block C3
// expected-error @below {{'mxgpu.quantize_block' op expected lanes that together contain a block of 16 elements or a square of 16 rows, found 2 lanes with 16 elements each}}
%e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil lanes(2) : vector<16xbf16> -> vector<16xf4E2M1FN>, f8E4M3FN

// SET arguments = %v: vector<32xi32>
// quantize_block C1
// expected-error @below {{'mxgpu.quantize_block' op expected bf16, f16 or f32 elements, found 'i32'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xi32> -> vector<32xf8E4M3FN>, f8E8M0FNU

// SET arguments = %v: vector<[32]xf32>
// shared C12
// expected-error @below {{'mxgpu.quantize_block' op expected a 1-D vector of whole 32-bit words, found 'vector<[32]xf32>'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<[32]xf32> -> vector<32xf8E4M3FN>, f8E8M0FNU

// shared C15
// expected-error @below {{'mxgpu.quantize_block' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'f16'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xf32> -> vector<32xf16>, f8E8M0FNU

// SET arguments = %v: vector<16xf32>, %g: f32
// shared C15
// expected-error @below {{'mxgpu.quantize_block' op expected elements of type f4E2M1FN, found 'f8E4M3FN'}}
%e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil : vector<16xf32> -> vector<16xf8E4M3FN>, f8E4M3FN

// quantize_block C4
// expected-error @below {{'mxgpu.quantize_block' op expected 32 results, found 'vector<16xf8E4M3FN>'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xf32> -> vector<16xf8E4M3FN>, f8E8M0FNU

// quantize_block C2
// expected-error @below {{'mxgpu.quantize_block' op expected a scale of type f8E8M0FNU, f8E4M3FN or f32, found 'f16'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xf32> -> vector<32xf8E4M3FN>, f16

// SET arguments = %v: vector<16xf32>
// quantize_block C5
// expected-error @below {{'mxgpu.quantize_block' op expected 'encode' if and only if the scales are f8E4M3FN, found scales of type 'f8E4M3FN'}}
%e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<16xf32> -> vector<16xf4E2M1FN>, f8E4M3FN

// SET arguments = %v: vector<32xf32>, %g: f32
// quantize_block C5
// expected-error @below {{'mxgpu.quantize_block' op expected 'encode' if and only if the scales are f8E4M3FN, found scales of type 'f8E8M0FNU'}}
%e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil : vector<32xf32> -> vector<32xf4E2M1FN>, f8E8M0FNU

// SET arguments = %v: vector<16xf32>, %g: f32
// quantize_block C7
// expected-error @below {{'mxgpu.quantize_block' op f8E4M3FN scales require scale_rounding = ceil, found even}}
%e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = even : vector<16xf32> -> vector<16xf4E2M1FN>, f8E4M3FN

// SET arguments = %q: vector<2xf8E5M2>, %s: f8E8M0FNU
// shared C12
// expected-error @below {{'mxgpu.dequantize_block' op expected a 1-D vector of whole 32-bit words, found 'vector<2xf8E5M2>'}}
%x = mxgpu.dequantize_block %q by %s : vector<2xf8E5M2>, f8E8M0FNU -> vector<2xbf16>

// SET arguments = %q: vector<8xf8E5M2>, %s: f8E5M2
// dequantize_block C1
// expected-error @below {{'mxgpu.dequantize_block' op expected a scale of type f8E8M0FNU, f8E4M3FN or f32, found 'f8E5M2'}}
%x = mxgpu.dequantize_block %q by %s : vector<8xf8E5M2>, f8E5M2 -> vector<8xbf16>

// SET arguments = %q: vector<8xbf16>, %s: f8E8M0FNU
// shared C15
// expected-error @below {{'mxgpu.dequantize_block' op expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'bf16'}}
%x = mxgpu.dequantize_block %q by %s : vector<8xbf16>, f8E8M0FNU -> vector<8xbf16>

// SET arguments = %q: vector<8xf8E4M3FN>, %s: f8E4M3FN
// shared C15
// expected-error @below {{'mxgpu.dequantize_block' op expected elements of type f4E2M1FN, found 'f8E4M3FN'}}
%x = mxgpu.dequantize_block %q by %s : vector<8xf8E4M3FN>, f8E4M3FN -> vector<8xbf16>

// SET arguments = %q: vector<32xf4E2M1FN>, %s: f8E4M3FN
// dequantize_block C2
// expected-error @below {{'mxgpu.dequantize_block' op expected at most 16 elements (one block), found 32}}
%x = mxgpu.dequantize_block %q by %s : vector<32xf4E2M1FN>, f8E4M3FN -> vector<32xbf16>

// SET arguments = %q: vector<2x32xf8E4M3FN>, %s: f8E8M0FNU
// dequantize_block C5
// expected-error @below {{'mxgpu.dequantize_block' op expected one scale for each row, of type 'vector<2xf8E8M0FNU>', found 'f8E8M0FNU'}}
%x = mxgpu.dequantize_block %q by %s : vector<2x32xf8E4M3FN>, f8E8M0FNU -> vector<2x32xbf16>

// SET arguments = %q: vector<8xf8E5M2>, %s: f8E8M0FNU
// dequantize_block C3
// expected-error @below {{'mxgpu.dequantize_block' op expected 8 results of type bf16, f16, f32 or f8E4M3FN, found 'vector<4xbf16>'}}
%x = mxgpu.dequantize_block %q by %s : vector<8xf8E5M2>, f8E8M0FNU -> vector<4xbf16>

// SET arguments = %q: vector<8xf8E5M2>, %s: f8E8M0FNU
// dequantize_block C3
// expected-error @below {{'mxgpu.dequantize_block' op expected 8 results of type bf16, f16, f32 or f8E4M3FN, found 'vector<8xi8>'}}
%x = mxgpu.dequantize_block %q by %s : vector<8xf8E5M2>, f8E8M0FNU -> vector<8xi8>

// SET arguments = %q: vector<8xf8E5M2>, %s: f8E8M0FNU, %g: f32
// dequantize_block C4
// expected-error @below {{'mxgpu.dequantize_block' op 'decode' requires f8E4M3FN scales, found scales of type 'f8E8M0FNU'}}
%x = mxgpu.dequantize_block %q by %s decode(%g) : vector<8xf8E5M2>, f8E8M0FNU -> vector<8xbf16>

// SET arguments = %t: memref<4xf8E8M0FNU>, %n: index
// shared C16
// expected-error @below {{'mxgpu.load_scale' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<4xf8E8M0FNU>'}}
%s = mxgpu.load_scale %t[%n, %n] : memref<4xf8E8M0FNU> -> f8E8M0FNU

// SET arguments = %t: memref<4x4xf8E8M0FNU>, %n: index
// shared C18
// expected-error @below {{'mxgpu.load_scale' op expected a scale of type 'f8E8M0FNU', found 'f8E4M3FN'}}
%s = mxgpu.load_scale %t[%n, %n] : memref<4x4xf8E8M0FNU> -> f8E4M3FN

// SET arguments = %t: memref<4x4xf8E5M2>, %n: index
// shared C17
// expected-error @below {{'mxgpu.load_scale' op expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'f8E5M2'}}
%s = mxgpu.load_scale %t[%n, %n] : memref<4x4xf8E5M2> -> f8E5M2

// SET arguments = %s: f8E8M0FNU, %t: memref<1x1x4x32x4xf8E8M0FNU>, %n: index
// shared C16
// expected-error @below {{'mxgpu.store_scales' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<1x1x4x32x4xf8E8M0FNU>'}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E8M0FNU into memref<1x1x4x32x4xf8E8M0FNU>

// SET arguments = %x: vector<8xbf16>, %m: f32
// quantize_block C8
// expected-error @below {{'mxgpu.quantize_block' op 'amax' requires a single lane whose element count divides 32 elements, found 2 lanes with 8 elements each}}
%q, %s = mxgpu.quantize_block %x amax(%m) scale_rounding = ceil lanes(2) : vector<8xbf16> -> vector<8xf8E4M3FN>, f8E8M0FNU

// SET arguments = %s: f8E8M0FNU, %t: memref<4xf8E8M0FNU>, %n: index
// shared C16
// expected-error @below {{'mxgpu.store_scales' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<4xf8E8M0FNU>'}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E8M0FNU into memref<4xf8E8M0FNU>

// SET arguments = %s: f8E8M0FNU, %t: memref<4x4xf8E8M0FNU, strided<[8, 1]>>, %n: index
// shared C16
// expected-error @below {{'mxgpu.store_scales' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<4x4xf8E8M0FNU, strided<[8, 1]>>'}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E8M0FNU into memref<4x4xf8E8M0FNU, strided<[8, 1]>>

// SET arguments = %s: f16, %t: memref<1x1x32x4x4xf16>, %n: index
// shared C17
// expected-error @below {{'mxgpu.store_scales' op expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'f16'}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f16 into memref<1x1x32x4x4xf16>

// SET arguments = %s: f8E4M3FN, %t: memref<1x1x32x4x4xf8E8M0FNU>, %n: index
// shared C18
// expected-error @below {{'mxgpu.store_scales' op expected a scale of type 'f8E8M0FNU', found 'f8E4M3FN'}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E4M3FN into memref<1x1x32x4x4xf8E8M0FNU>

// SET arguments = %s: f8E8M0FNU, %t: memref<4x4xf8E8M0FNU>, %n: index
// store_scales C1
// expected-error @below {{'mxgpu.store_scales' op expected a power of two of at most 32 lanes, found 3}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) lanes(3) : f8E8M0FNU into memref<4x4xf8E8M0FNU>

// SET arguments = %s: f8E8M0FNU, %t: memref<4x4xf8E8M0FNU>, %n: index
// store_scales C1
// expected-error @below {{'mxgpu.store_scales' op expected a power of two of at most 32 lanes, found 64}}
mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) lanes(64) : f8E8M0FNU into memref<4x4xf8E8M0FNU>
