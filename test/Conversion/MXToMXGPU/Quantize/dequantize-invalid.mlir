// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// TEMPLATE function
// SET arguments = %q: memref<2x128x64xf8E4M3FN, strided<[16384, 128, 1]>>, %s: memref<2x128x2xf8E8M0FNU>, %x: memref<2x128x64xbf16>
!s = memref<2x1x32x4x4xf8E8M0FNU, strided<[1024, 512, 16, 4, 1]>>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// expected-error @below {{'mx.dequantize' op expected a matrix with contiguous rows on the GPU (identity layout for batches and for 4- and 6-bit elements), found 'memref<2x128x64xf8E4M3FN, strided<[16384, 128, 1]>>'}}
mx.dequantize ins(%q, %s : memref<2x128x64xf8E4M3FN, strided<[16384, 128, 1]>>, memref<2x128x2xf8E8M0FNU>) outs(%x : memref<2x128x64xbf16>)

// SET arguments = %q: memref<128x64xf8E4M3FN, strided<[68, 1]>>, %s: memref<128x2xf8E8M0FNU>, %x: memref<128x64xbf16>
// expected-error @below {{'mx.dequantize' op expected the row stride of the input to be a multiple of 8 elements and at least 64 on the GPU, found 68}}
// expected-note @below {{the nearest are 64 and 72}}
mx.dequantize ins(%q, %s : memref<128x64xf8E4M3FN, strided<[68, 1]>>, memref<128x2xf8E8M0FNU>) outs(%x : memref<128x64xbf16>)

// SET arguments = %q: memref<256x64xf8E4M3FN>, %s: !s, %x: memref<256x64xbf16>
// expected-error @below {{'mx.dequantize' op expected scales with identity layout on the GPU, found 'memref<2x1x32x4x4xf8E8M0FNU, strided<[1024, 512, 16, 4, 1]>>'}}
mx.dequantize ins(%q, %s : memref<256x64xf8E4M3FN>, !s) outs(%x : memref<256x64xbf16>)

// SET arguments = %q: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>, %x: memref<128x64xbf16, strided<[128, 1]>>
// expected-error @below {{'mx.dequantize' op expected the result with identity layout on the GPU, found 'memref<128x64xbf16, strided<[128, 1]>>'}}
mx.dequantize ins(%q, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) outs(%x : memref<128x64xbf16, strided<[128, 1]>>)

// SET arguments = %q: memref<128x384xf8E4M3FN>, %s: memref<1x3x32x4x4xf8E8M0FNU>, %o: memref<2xi32>, %x: memref<128x128xbf16>
// expected-error @below {{'mx.dequantize' op expected 'padded' with ragged = reduction on the GPU: keep the segments at their positions, in a result with the same number of columns}}
mx.dequantize ragged = reduction ins(%q, %s : memref<128x384xf8E4M3FN>, memref<1x3x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<2xi32>) outs(%x : memref<128x128xbf16>)

// SET arguments = %q: memref<128x384xf8E4M3FN>, %s: memref<1x3x32x4x4xf8E8M0FNU>, %o: memref<2xi32>, %x: memref<128x384xbf16>
// expected-error @below {{'mx.dequantize' op expected a tile of 128 columns with ragged = reduction, whose segments begin at multiples of this number, found 256}}
mx.dequantize ragged = reduction padded ins(%q, %s : memref<128x384xf8E4M3FN>, memref<1x3x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<2xi32>) outs(%x : memref<128x384xbf16>)
    {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 512, vector = 8>}

// SET arguments = %q: memref<128x64xf8E4M3FN>, %s: memref<3x1x32x4x4xf8E8M0FNU>, %o: memref<2xi32>, %x: memref<128x64xbf16>
// expected-error @below {{'mx.dequantize' op expected a tile of 128 rows with expert groups, each of which has whole tiles of scales, found 256}}
mx.dequantize ragged = rows ins(%q, %s : memref<128x64xf8E4M3FN>, memref<3x1x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<2xi32>) outs(%x : memref<128x64xbf16>)
    {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 512, vector = 8>}

// SET arguments = %q: memref<128x64xf4E2M1FN>, %s: memref<128x4xf8E4M3FN>, %x: memref<128x64xbf16>
// expected-error @below {{'mx.dequantize' op expected a schedule with vectors of at most 16 elements (one block), found 32}}
mx.dequantize ins(%q, %s : memref<128x64xf4E2M1FN>, memref<128x4xf8E4M3FN>) outs(%x : memref<128x64xbf16>) block_size = 16
    {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>}

// SET arguments = %s: memref<128x2xf8E8M0FNU>, %t: memref<3x1x32x4x4xf8E8M0FNU>, %o: memref<2xi32>
// expected-error @below {{'mx.relayout' op expected no offsets on the GPU, found offsets}}
mx.relayout ragged = rows ins(%s : memref<128x2xf8E8M0FNU>) offsets(%o : memref<2xi32>)
    outs(%t : memref<3x1x32x4x4xf8E8M0FNU>)

// SET arguments = %s: memref<2x128x2xf8E8M0FNU, strided<[512, 4, 1]>>, %t: memref<2x1x1x32x4x4xf8E8M0FNU>
// expected-error @below {{'mx.relayout' op expected contiguous scales on the GPU, except for row-major input scales of a single matrix, found 'memref<2x128x2xf8E8M0FNU, strided<[512, 4, 1]>>'}}
mx.relayout ins(%s : memref<2x128x2xf8E8M0FNU, strided<[512, 4, 1]>>) outs(%t : memref<2x1x1x32x4x4xf8E8M0FNU>)
