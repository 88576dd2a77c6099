// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// Rejects a tile that would contain columns of two values.
!a = memref<128x192xf8E4M3FN>
!s = memref<128x6xf8E8M0FNU>
func.func @main(%x: memref<128x96xbf16>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input to be a multiple of the 128 columns of a tile with concat on the GPU, found 96}}
  mx.fused_quantize ins(%x : memref<128x96xbf16>) outs(%e, %s : !a, !s) concat prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    mx.yield %v, %v : bf16, bf16
  }
  return
}

// -----

// TEMPLATE function
// SET arguments = %x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!x = memref<2x128x64xbf16, strided<[16384, 64, 1]>>
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// Rejects rows unsupported by the copy engine.
// USE function body
// SET arguments = %x: memref<128x60xbf16>, %e: memref<60x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input to be a multiple of 8 with axes [0] on the GPU, found 60: pad it to 64}}
mx.fused_quantize ins(%x : memref<128x60xbf16>) outs(%e, %s : memref<60x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) axes = [0]

// -----

!s = memref<128x2xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E5M2, strided<[128, 1]>>, %s: !s) {
  // expected-error @below {{'mx.fused_quantize' op expected destinations with identity layout on the GPU, found 'memref<128x64xf8E5M2, strided<[128, 1]>>'}}
  mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E5M2, strided<[128, 1]>>, !s)
  return
}

// -----

// CASES function body
// SET arguments = %x: memref<128x64xbf16>, %e: memref<128x64xf4E2M1FN>, %s: memref<128x4xf8E4M3FN>, %g: f32
// expected-error @below {{'mx.fused_quantize' op expected a schedule with vectors of at most 16 elements (one block), found 32}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) global_scale(%g) outs(%e, %s : memref<128x64xf4E2M1FN>, memref<128x4xf8E4M3FN>) block_size = 16 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>}

// expected-error @below {{'mx.fused_quantize' op expected a schedule whose threads cover whole rows of 8 vectors and process a tile of 128 rows in whole passes, found 96 threads}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 96, vector = 16>}

// expected-error @below {{'mx.fused_quantize' op expected a schedule with at most 256 elements of a tile per thread, found 512}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 32, vector = 16>}

// expected-error @below {{'mx.fused_quantize' op expected a schedule along rows with 1 stage and without stage_rows, atomic_counter and input_stages, because it uses no shared memory, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 2>}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 16, stages = 2>}

// SET arguments = %x: memref<4x8xf32, strided<[16, 1]>>, %m: memref<f32>
// expected-error @below {{'mx.amax' op expected an input without gaps on the GPU, found 'memref<4x8xf32, strided<[16, 1]>>'}}
mx.amax ins(%x : memref<4x8xf32, strided<[16, 1]>>) outs(%m : memref<f32>)

// -----

!a = memref<128x384xf8E4M3FN>
func.func @main(%x: memref<128x64xbf16>, %o: memref<2xi32>, %e: !a, %s: memref<1x3x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected ragged = rows on the GPU, found ragged = reduction: transpose the input}}
  mx.fused_quantize ragged = reduction ins(%x : memref<128x64xbf16>) offsets(%o : memref<2xi32>)
      outs(%e, %s : !a, memref<1x3x32x4x4xf8E8M0FNU>)
  return
}

// -----

// CASES function body
// SET arguments = %x: memref<128x64xbf16>, %o: memref<2xi32>, %e: !a, %s: memref<3x1x32x4x4xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a schedule with tiles of [128, 128], stages = 1 and no atomic_counter for ragged rows, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 2>}}
mx.fused_quantize ragged = rows ins(%x : memref<128x64xbf16>) offsets(%o : memref<2xi32>)
    outs(%e, %s : !a, memref<3x1x32x4x4xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 2>}

// SET arguments = %x: memref<128x64xbf16>, %e: memref<64x128xf8E4M3FN>, %s: !s
// expected-error @below {{'mx.fused_quantize' op expected a schedule with a tile of at most 512 rows and 256 columns for axes [0], found [128, 384]}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<64x128xf8E4M3FN>, !s) axes = [0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 384], threads = 128>}

// SET arguments = %x: memref<128x64xbf16>, %e: memref<64x128xf8E4M3FN>, %s: !s
// expected-error @below {{'mx.fused_quantize' op expected a schedule whose threads per axis are a multiple of 32 and a divisor of the 256 fragments of a stage, found 96}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<64x128xf8E4M3FN>, !s) axes = [0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 96>}

// Rejects rows of NVFP4 elements that the copy engine cannot store.
// SET arguments = %x: memref<48x64xbf16>, %e: memref<64x48xf4E2M1FN>, %s: memref<64x3xf8E4M3FN>, %g: f32
// expected-error @below {{'mx.fused_quantize' op expected dimension 1 of elements to be a multiple of 32 with axes [0] on the GPU, found 48: pad it to 64}}
mx.fused_quantize ins(%x : memref<48x64xbf16>) global_scale(%g) outs(%e, %s : memref<64x48xf4E2M1FN>, memref<64x3xf8E4M3FN>) axes = [0] block_size = 16

// Rejects blocks of 512 elements in more than a warp.
// SET arguments = %x: memref<128x512xbf16>, %e: memref<128x512xf8E4M3FN>, %s: memref<128x1xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a schedule with vectors of at least 16 elements, because a warp holds a block of 512, found 8}}
mx.fused_quantize ins(%x : memref<128x512xbf16>) outs(%e, %s : memref<128x512xf8E4M3FN>, memref<128x1xf8E8M0FNU>) block_size = 512 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 8>}

// Rejects blocks of 512 through shared memory.
// SET arguments = %x: memref<512x128xbf16>, %e: memref<128x512xf8E4M3FN>, %s: memref<128x1xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected blocks that divide the 128 rows of a stage along axis 0 on the GPU, found blocks of 512: choose shorter blocks, or quantize on the host}}
mx.fused_quantize ins(%x : memref<512x128xbf16>) outs(%e, %s : memref<128x512xf8E4M3FN>, memref<128x1xf8E8M0FNU>) axes = [0] block_size = 512 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>}

// Rejects a narrow tile whose scales fill scale tiles.
// SET arguments = %x: memref<512x128xbf16>, %e: memref<128x512xf8E4M3FN>, %s: memref<128x4xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a schedule with a tile of a multiple of 128 columns, or of fewer than 512 rows for axes [0], found [512, 64]}}
mx.fused_quantize ins(%x : memref<512x128xbf16>) outs(%e, %s : memref<128x512xf8E4M3FN>, memref<128x4xf8E8M0FNU>) axes = [0] block_size = 128 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [512, 64], threads = 128, vector = 32>}

// Rejects a narrow tile along rows.
// SET arguments = %x: memref<128x512xbf16>, %e: memref<128x512xf8E4M3FN>, %s: memref<128x16xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a schedule with a tile of a multiple of 128 columns along rows, found 64}}
mx.fused_quantize ins(%x : memref<128x512xbf16>) outs(%e, %s : memref<128x512xf8E4M3FN>, memref<128x16xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 64], threads = 128, vector = 16>}

// SET arguments = %x: memref<2x64x256xbf16>, %e: memref<2x64x256xf8E4M3FN>, %s: memref<2x64x1xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected blocks that divide the 128 columns of a tile along axis 1 on the GPU, found blocks of 256: choose shorter blocks, or quantize on the host}}
mx.fused_quantize ins(%x : memref<2x64x256xbf16>) outs(%e, %s : memref<2x64x256xf8E4M3FN>, memref<2x64x1xf8E8M0FNU>) block_size = 256 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>}

// Rejects whole columns, and rows that vectors do not divide.
// SET arguments = %x: memref<512x128xbf16>, %e: memref<128x512xf8E4M3FN>, %s: memref<128x1xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a matrix with blocks along rows, without expert groups, for a scale for a whole row on the GPU: quantize on the host}}
mx.fused_quantize ins(%x : memref<512x128xbf16>) outs(%e, %s : memref<128x512xf8E4M3FN>, memref<128x1xf8E8M0FNU>) axes = [0] block_size = row

// SET arguments = %x: memref<128x72xbf16>, %e: memref<128x72xf8E4M3FN>, %s: memref<128x1xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected whole rows of a multiple of 32 elements on the GPU, found 72: pad them to 96}}
mx.fused_quantize ins(%x : memref<128x72xbf16>) outs(%e, %s : memref<128x72xf8E4M3FN>, memref<128x1xf8E8M0FNU>) block_size = row

// Rejects batches in several dimensions.
// SET arguments = %p: memref<2x3x64x4xi8>, %o: memref<2x3x2xi32>
// expected-error @below {{expected matrices, or a batch in one dimension, on the GPU, found 'memref<2x3x64x4xi8>'}}
mx.row_classes ins(%p : memref<2x3x64x4xi8>) outs(%o : memref<2x3x2xi32>) axes = [1] limit = 8

// Rejects tiles unlike blocks of several rows, and a seed for such blocks along columns.
// SET arguments = %x: memref<256x512xbf16>, %e: memref<512x256xf8E4M3FN>, %s: memref<4x2xf32>
// expected-error @below {{expected a schedule with tiles and stages of one block, 128 x 128, found}}
mx.fused_quantize ins(%x : memref<256x512xbf16>) outs(%e, %s : memref<512x256xf8E4M3FN>, memref<4x2xf32>) axes = [0] block_size = 128x128 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 256, vector = 32>}

// SET arguments = %x: memref<256x512xbf16>, %e: memref<512x256xf8E4M3FN>, %s: memref<4x2xf32>, %seed: i64
// expected-error @below {{expected no seed along axis 0 with blocks of 128 x 128 elements on the GPU: quantize the transposed input}}
mx.fused_quantize ins(%x : memref<256x512xbf16>) seed(%seed) outs(%e, %s : memref<512x256xf8E4M3FN>, memref<4x2xf32>) axes = [0] block_size = 128x128

// Rejects squares of 128 x 128.
// SET arguments = %x: memref<128x128xbf16>, %e: memref<128x128xf8E4M3FN>, %s: memref<128x1xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected squares of at most 32 x 32 elements on the GPU, found 128 x 128: quantize on the host}}
mx.fused_quantize ins(%x : memref<128x128xbf16>) outs(%e, %s : memref<128x128xf8E4M3FN>, memref<128x1xf8E8M0FNU>) block_size = 128 square

// SET arguments = %x: !x, %e: memref<2x128x64xf8E4M3FN>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a matrix with contiguous rows on the GPU (identity layout for batches and for 4- and 6-bit elements), found 'memref<2x128x64xbf16, strided<[16384, 64, 1]>>'}}
mx.fused_quantize ins(%x : !x) outs(%e, %s : memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>)

// -----

// Rejects a batch with a prologue, because the region has no argument for the matrix.
!x = memref<2x128x64xbf16>
func.func @main(%x: !x, %e: memref<2x128x64xf8E4M3FN>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected a matrix with a prologue on the GPU, found 'memref<2x128x64xbf16>'}}
  mx.fused_quantize ins(%x : !x) outs(%e, %s : memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>) prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    %n = arith.negf %v : bf16
    mx.yield %n : bf16
  }
  return
}

// -----

// CASES function body
// SET arguments = %x: memref<2x64x40xbf16>, %e: memref<2x40x64xf4E2M1FN>, %s: memref<2x40x2xf8E8M0FNU>, %y: memref<2x64x36xbf16>, %f: memref<2x36x64xf4E2M1FN>, %t: memref<2x36x2xf8E8M0FNU>
mx.fused_quantize ins(%x : memref<2x64x40xbf16>) outs(%e, %s : memref<2x40x64xf4E2M1FN>, memref<2x40x2xf8E8M0FNU>) axes = [0]
// expected-error @below {{'mx.fused_quantize' op expected dimension 2 of input to be a multiple of 8 with axes [0] on the GPU, found 36: pad it to 40}}
mx.fused_quantize ins(%y : memref<2x64x36xbf16>) outs(%f, %t : memref<2x36x64xf4E2M1FN>, memref<2x36x2xf8E8M0FNU>) axes = [0]

// SET arguments = %x: memref<128x64xbf16, strided<[1, 128]>>, %e: !a, %s: !s
// expected-error @below {{'mx.fused_quantize' op expected a matrix with contiguous rows on the GPU (identity layout for batches and for 4- and 6-bit elements), found 'memref<128x64xbf16, strided<[1, 128]>>'}}
mx.fused_quantize ins(%x : memref<128x64xbf16, strided<[1, 128]>>) outs(%e, %s : !a, !s)

// SET arguments = %x: memref<128x64xf32, strided<[66, 1]>>, %e: !a, %s: !s
// expected-error @below {{'mx.fused_quantize' op expected the row stride of an input to be a multiple of 4 elements and at least 64 on the GPU, found 66}}
// expected-note @below {{the nearest are 64 and 68}}
mx.fused_quantize ins(%x : memref<128x64xf32, strided<[66, 1]>>) outs(%e, %s : !a, !s)

// Rejects overlapping rows.
// SET arguments = %x: memref<128x64xbf16, strided<[0, 1]>>, %e: !a, %s: !s
// expected-error @below {{'mx.fused_quantize' op expected the row stride of an input to be a multiple of 8 elements and at least 64 on the GPU, found 0}}
// expected-note @below {{the nearest is 64}}
mx.fused_quantize ins(%x : memref<128x64xbf16, strided<[0, 1]>>) outs(%e, %s : !a, !s)

// -----

// CASES
// Rejects strided rows of elements that share bytes.
!x = memref<128x64xf4E2M1FN, strided<[128, 1]>>
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %f: memref<128x2xf8E8M0FNU>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.fused_quantize' op expected a matrix with contiguous rows on the GPU (identity layout for batches and for 4- and 6-bit elements), found 'memref<128x64xf4E2M1FN, strided<[128, 1]>>'}}
  mx.fused_quantize ins(%x : !x) input_scales(%f : memref<128x2xf8E8M0FNU>) outs(%e, %s : !a, !s)
      prologue {
      ^bb0(%v: bf16, %row: index, %column: index):
        mx.yield %v : bf16
      }
  return
}

// The thread limit includes the threads of the prologue.
!x = memref<128x128xf32>
!q = memref<128x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %q: !q, %s: !s) {
  // expected-error @below {{'mx.fused_quantize' op expected a schedule with at most 320 threads, because the prologue needs twice as many more, found 512}}
  mx.fused_quantize ins(%x : !x) outs(%q, %s : !q, !s) axes = [0]
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 32>} prologue {
  ^bb0(%a: f32, %row: index, %col: index):
    %b = arith.negf %a : f32
    mx.yield %b : f32
  }
  return
}

// Gathered rows are read 8 columns at a time, whereas a copy only needs a multiple of 16 bytes.
!x = memref<128x12xf32>
!q = memref<12x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %n: memref<128xi32>, %q: !q, %s: !s) {
  // expected-error @below {{'mx.fused_quantize' op expected dimension 1 of input to be a multiple of 8 with axes [0] on the GPU, found 12: pad it to 16}}
  mx.fused_quantize ins(%x : !x) gather(%n : memref<128xi32>) outs(%q, %s : !q, !s) axes = [0]
  return
}

// A prologue supports the same operations as an epilogue.
!x = memref<128x128xbf16>
!q = memref<128x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func private @f(bf16) -> bf16
func.func @main(%x: !x, %q: !q, %s: !s) {
  mx.fused_quantize ins(%x : !x) outs(%q, %s : !q, !s) prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    // expected-error @below {{'func.call' op in a prologue on the GPU: expected elementwise arith and math operations, or memref.load indexed by row and column, found an operation that cannot be inlined}}
    %b = func.call @f(%a) : (bf16) -> bf16
    mx.yield %b : bf16
  }
  return
}

// -----

// USE function body
// expected-error @below {{'mx.fused_quantize' op expected a schedule along rows with 1 stage and without stage_rows, atomic_counter and input_stages, because it uses no shared memory, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, atomic_counter = true>}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, atomic_counter = true>}

// -----

!a = memref<128x256xf8E4M3FN>
func.func @main(%x: memref<128x256xbf16>, %o: memref<2xi32>, %e: !a, %s: memref<3x2x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected a schedule with tiles of [128, 128], stages = 1 and no atomic_counter for ragged rows, found #mxgpu.quantize_schedule<tile = [128, 256], threads = 128>}}
  mx.fused_quantize ragged = rows ins(%x : memref<128x256xbf16>) offsets(%o : memref<2xi32>)
      outs(%e, %s : !a, memref<3x2x32x4x4xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 128>}
  return
}

// -----

// CASES function body
// Rejects a schedule in which one warp would process both axes.
// SET arguments = %x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>, %et: memref<64x128xf8E4M3FN>, %st: memref<64x4xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a schedule whose threads per axis are a multiple of 32 and a divisor of the 512 fragments of a stage, found 16}}
mx.fused_quantize ins(%x : memref<128x64xbf16>) outs(%e, %s, %et, %st : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>, memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 32, vector = 32>}

// Rejects vectors that would span two scales.
// SET arguments = %x: memref<128x64xf4E2M1FN>, %n: memref<128x4xf8E4M3FN>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a schedule with vectors of at most 16 elements (one block), found 32}}
mx.fused_quantize ins(%x : memref<128x64xf4E2M1FN>) input_scales(%n : memref<128x4xf8E4M3FN>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>)
    {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>} prologue {
^bb0(%a: bf16, %row: index, %col: index):
  mx.yield %a : bf16
}

// SET arguments = %x: memref<128x64xi8>, %n: memref<128x2xf8E8M0FNU, strided<[4, 1]>>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected input_scales with identity layout on the GPU, found 'memref<128x2xf8E8M0FNU, strided<[4, 1]>>'}}
mx.fused_quantize ins(%x : memref<128x64xi8>) input_scales(%n : memref<128x2xf8E8M0FNU, strided<[4, 1]>>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) prologue {
^bb0(%a: bf16, %row: index, %col: index):
  mx.yield %a : bf16
}

// -----

!e = memref<256x128xf8E4M3FN>
!s = memref<256x4xf8E8M0FNU>
func.func @main(%x: memref<256x128xbf16>, %e: !e, %s: !s, %t: memref<128x256xf8E4M3FN>, %u: memref<128x8xf8E8M0FNU>) {
  // expected-error @below {{'mx.fused_quantize' op expected a schedule without input_stages, which require a prologue and exclude input scales, gather and ragged rows, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, input_stages = 2>}}
  mx.fused_quantize ins(%x : memref<256x128xbf16>) outs(%e, %s, %t, %u : !e, !s, memref<128x256xf8E4M3FN>, memref<128x8xf8E8M0FNU>)
      axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, input_stages = 2>}
  return
}

// -----

// USE function body
// SET arguments = %x: memref<2x128x64xf8E4M3FN>, %n: memref<2x128x2xf8E8M0FNU>, %e: memref<2x64x128xf8E4M3FN>, %s: memref<2x64x4xf8E8M0FNU>
// expected-error @below {{'mx.fused_quantize' op expected a matrix with input_scales on the GPU, found 'memref<2x128x64xf8E4M3FN>'}}
mx.fused_quantize ins(%x : memref<2x128x64xf8E4M3FN>) input_scales(%n : memref<2x128x2xf8E8M0FNU>) outs(%e, %s : memref<2x64x128xf8E4M3FN>, memref<2x64x4xf8E8M0FNU>) axes = [0]
