// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// A matmul without a kernel is reported at the operation, and the error names the supported cases.

// -----

// TEMPLATE function
// SET arguments = %a: memref<300x64xf8E4M3FN>, %as: memref<6x1x32x4x4xf8E8M0FNU>, %b: memref<4x48x64xf8E4M3FN>, %bs: memref<4x1x1x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x48xbf16>
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %a: !a, %s: !s, %y: !y
// expected-error @below {{'mx.matmul' op expected a schedule: run mx-select-schedule first}}
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)

// SET arguments = %a: !a, %s: !s, %y: !y, %b: memref<128x64xf4E2M1FN>
// expected-error @below {{'mx.matmul' op expected a reduction of a multiple of 128 elements for kind::mxf8f6f4 of e4m3 and e2m1 on the GPU, found 64}}
// expected-note @below {{the nearest are 0 and 128}}
// expected-note @below {{the copy engine loads rows of e2m1 in multiples of 128 elements}}
mx.matmul ins(%a, %s, %b, %s : !a, !s, memref<128x64xf4E2M1FN>, !s) outs(%y : !y)

// SET arguments = %a: !a, %s: !s, %y: !y, %b: memref<128x64xf8E4M3FN, strided<[1, 128]>>
// expected-error @below {{'mx.matmul' op expected a to be a matrix with identity layout on the GPU, found 'memref<128x64xf8E4M3FN, strided<[1, 128]>>'}}
mx.matmul ins(%b, %s, %a, %s : memref<128x64xf8E4M3FN, strided<[1, 128]>>, !s, !a, !s) outs(%y : !y)

// SET arguments = %a: memref<512x512xf8E4M3FN>, %as: memref<4x128x4xf32>, %bs: memref<4x4xf32>, %y: memref<512x512xbf16>
// expected-error @below {{'mx.matmul' op expected no promote with f32 scales on sm_100a, found promote = 128: leave out promote, or compile for sm_90a}}
mx.matmul ins(%a, %as, %a, %bs : memref<512x512xf8E4M3FN>, memref<4x128x4xf32>, memref<512x512xf8E4M3FN>, memref<4x4xf32>) outs(%y : memref<512x512xbf16>) block_size = 128 b_block_size = 128x128 promote = 128

// Rejects a row stride misaligned for the copy engine.
// SET arguments = %a: !a, %s: !s, %y: !y, %b: memref<128x64xf8E4M3FN, strided<[136, 1]>>
// expected-error @below {{'mx.matmul' op expected the row stride of b to be a multiple of 16 elements and at least 64 on the GPU, found 136}}
// expected-note @below {{the nearest are 128 and 144}}
mx.matmul ins(%a, %s, %b, %s : !a, !s, memref<128x64xf8E4M3FN, strided<[136, 1]>>, !s) outs(%y : !y)

// Rejects overlapping rows.
// SET arguments = %a: !a, %s: !s, %y: !y, %b: memref<128x64xf8E4M3FN, strided<[32, 1]>>
// expected-error @below {{'mx.matmul' op expected the row stride of a to be a multiple of 16 elements and at least 64 on the GPU, found 32}}
// expected-note @below {{the nearest is 64}}
mx.matmul ins(%b, %s, %a, %s : memref<128x64xf8E4M3FN, strided<[32, 1]>>, !s, !a, !s) outs(%y : !y)

// Rejects strided rows of 6-bit elements, which must be packed first.
// SET arguments = %a: !a, %s: !s, %y: !y, %b: memref<128x64xf6E2M3FN, strided<[128, 1]>>
// expected-error @below {{'mx.matmul' op expected a to be a matrix with identity layout on the GPU, found 'memref<128x64xf6E2M3FN, strided<[128, 1]>>'}}
mx.matmul ins(%b, %s, %a, %s : memref<128x64xf6E2M3FN, strided<[128, 1]>>, !s, !a, !s) outs(%y : !y)

// SET arguments = %a: !a, %s: !s, %y: !y, %l: memref<128x2xf8E8M0FNU>
// expected-error @below {{'mx.matmul' op expected scales of b in layout sf_128x4 on the GPU, found 'memref<128x2xf8E8M0FNU>'}}
mx.matmul ins(%a, %s, %a, %l : !a, !s, !a, memref<128x2xf8E8M0FNU>) outs(%y : !y)

// SET arguments = %a: !a, %s: !s, %z: memref<128x128xf16, strided<[256, 1]>>
// expected-error @below {{'mx.matmul' op expected a result with identity layout on the GPU, found 'memref<128x128xf16, strided<[256, 1]>>'}}
mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%z : memref<128x128xf16, strided<[256, 1]>>)

// Rejects a batch.
// SET arguments = %a: memref<2x128x64xf8E4M3FN>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>, %y: memref<2x128x128xf32>
// expected-error @below {{'mx.matmul' op expected a to be a matrix with identity layout on the GPU, found 'memref<2x128x64xf8E4M3FN>'}}
mx.matmul ins(%a, %s, %a, %s : memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>, memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<2x128x128xf32>)

// expected-error @below {{'mx.grouped_matmul' op expected a schedule: run mx-select-schedule first}}
mx.grouped_matmul ragged = rows
    ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)

// expected-error @below {{'mx.grouped_matmul' op expected no split_k with expert groups, found 2}}
mx.grouped_matmul ragged = rows
    ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
    {mxgpu.schedule = #mxgpu.schedule<tile = [128, 48, 128], split_k = 2, stages = 2>}

// expected-error @below {{'mx.grouped_matmul' op expected tile_loop = static with expert groups, found clc}}
mx.grouped_matmul ragged = rows
    ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
    {mxgpu.schedule = #mxgpu.schedule<tile = [128, 48, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc>>}

// SET arguments = %a: memref<300x64xf8E4M3FN>, %as: memref<300x2xf8E8M0FNU>, %b: memref<4x48x64xf8E4M3FN>, %bs: memref<4x1x1x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x48xbf16>
// expected-error @below {{'mx.grouped_matmul' op expected scales of a in layout sf_128x4 on the GPU, found 'memref<300x2xf8E8M0FNU>'}}
mx.grouped_matmul ragged = rows
    ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<300x2xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
    offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
    {mxgpu.schedule = #mxgpu.schedule<tile = [128, 48, 128], stages = 2>}

// -----

// CASES
// Rejects result scales in a layout unsupported by tensor cores.
!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x256x256xf8E4M3FN>
!bs = memref<4x2x2x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: memref<300x256xf8E4M3FN>, %s: memref<300x8xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected scales of the result in layout sf_128x4 on the GPU, found 'memref<300x8xf8E8M0FNU>'}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %s : memref<300x256xf8E4M3FN>, memref<300x8xf8E8M0FNU>) 
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} 
  return
}

// Rejects a quantized result with 96 columns, because the scales of a row do not fill a word.
!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x96x256xf8E4M3FN>
!bs = memref<4x1x2x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: memref<300x96xf8E4M3FN>, %s: memref<6x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a result that is quantized or uses several B matrices to have a multiple of 128 columns on the GPU, found 96}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %s : memref<300x96xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>) 
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} 
  return
}

// Rejects a tile with fewer than 128 columns for each B matrix, because each B matrix needs a
// whole scale tile.
!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x512x256xf8E4M3FN>
!bs = memref<4x4x2x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: memref<300x256xf8E4M3FN>, %s: memref<6x2x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a tile with a multiple of 128 columns for each of 2 B matrices, found 128 columns}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %s : memref<300x256xf8E4M3FN>, memref<6x2x32x4x4xf8E8M0FNU>) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} epilogue {
  ^bb0(%x: f32, %y: f32, %row: index, %col: index):
    mx.yield %x : f32
  }
  return
}

// Rejects a tile of 192 columns, because a third of the tile contains only 64 columns.
!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x384x256xf8E4M3FN>
!bs = memref<4x3x2x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: memref<300x128xf8E4M3FN>, %s: memref<6x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a tile with a multiple of 128 columns for each of 3 B matrices, found 192 columns}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %s : memref<300x128xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>) num_b = 3
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 192, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2>>} epilogue {
  ^bb0(%x: f32, %y: f32, %z: f32, %row: index, %col: index):
    mx.yield %x : f32
  }
  return
}

// Rejects an index list with gaps.
!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x256x256xf8E4M3FN>
!bs = memref<4x2x2x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: memref<100x256xf32>, %s: memref<300xi32, strided<[2]>>) {
  // expected-error @below {{'mx.grouped_matmul' op expected scatter with identity layout on the GPU, found 'memref<300xi32, strided<[2]>>'}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) scatter(%s : memref<300xi32, strided<[2]>>) outs(%e : memref<100x256xf32>) 
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} 
  return
}

// -----

// Rejects scaled elements with bf16 on a chip with block-scaled tensor cores.
!a = memref<256x256xf8E4M3FN>
!s = memref<2x2x32x4x4xf8E8M0FNU>
!b = memref<256x256xbf16>
!y = memref<256x256xf32>
func.func @main(%a: !a, %s: !s, %b: !b, %y: !y) {
  // expected-error @below {{expected operands that the tensor core multiplies, found 'memref<256x256xf8E4M3FN>' and 'memref<256x256xbf16>': quantize 'b', or convert 'a' to bf16 with mx.dequantize}}
  mx.matmul ins(%a, %s, %b : !a, !s, !b) outs(%y : !y)
  return
}
