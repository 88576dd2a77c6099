// RUN: mx-opt %s -split-input-file -verify-diagnostics --convert-mx-to-mxgpu

// What has no kernel is refused at the operation, with what is supported.

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected a schedule: run mx-select-schedule first}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %b: memref<128x64xf4E2M1FN>) {
  // expected-error @below {{'mx.matmul' op expected a reduction of a multiple of 128 elements for kind::mxf8f6f4 of e4m3 and e2m1 on the GPU, found 64}}
  // expected-note @below {{the nearest are 0 and 128}}
  // expected-note @below {{the copy engine takes rows of e2m1 in multiples of 128 elements}}
  mx.matmul ins(%a, %s, %b, %s : !a, !s, memref<128x64xf4E2M1FN>, !s) outs(%y : !y)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %b: memref<128x64xf8E4M3FN, strided<[1, 128]>>) {
  // expected-error @below {{'mx.matmul' op expected a to be a matrix with identity layout on the GPU, found 'memref<128x64xf8E4M3FN, strided<[1, 128]>>'}}
  mx.matmul ins(%b, %s, %a, %s : memref<128x64xf8E4M3FN, strided<[1, 128]>>, !s, !a, !s) outs(%y : !y)
  return
}

// -----

// Rows that lie apart, but not where the copy engine finds them.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %b: memref<128x64xf8E4M3FN, strided<[136, 1]>>) {
  // expected-error @below {{'mx.matmul' op expected rows of b at a stride of a multiple of 16 elements, at least 64, on the GPU, found 136}}
  // expected-note @below {{the nearest are 128 and 144}}
  mx.matmul ins(%a, %s, %b, %s : !a, !s, memref<128x64xf8E4M3FN, strided<[136, 1]>>, !s) outs(%y : !y)
  return
}

// -----

// A tile would have columns of two values.
!a = memref<128x192xf8E4M3FN>
!s = memref<128x6xf8E8M0FNU>
func.func @main(%x: memref<128x96xbf16>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of the 128 columns of a tile with concat on the GPU, found 96}}
  mx.quantize ins(%x : memref<128x96xbf16>) outs(%e, %s : !a, !s) concat prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    mx.yield %v, %v : bf16, bf16
  }
  return
}

// -----

// Rows that overlap.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %b: memref<128x64xf8E4M3FN, strided<[32, 1]>>) {
  // expected-error @below {{'mx.matmul' op expected rows of a at a stride of a multiple of 16 elements, at least 64, on the GPU, found 32}}
  // expected-note @below {{the nearest is 64}}
  mx.matmul ins(%b, %s, %a, %s : memref<128x64xf8E4M3FN, strided<[32, 1]>>, !s, !a, !s) outs(%y : !y)
  return
}

// -----

// Of 6 bits, which are packed first.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %b: memref<128x64xf6E2M3FN, strided<[128, 1]>>) {
  // expected-error @below {{'mx.matmul' op expected a to be a matrix with identity layout on the GPU, found 'memref<128x64xf6E2M3FN, strided<[128, 1]>>'}}
  mx.matmul ins(%b, %s, %a, %s : memref<128x64xf6E2M3FN, strided<[128, 1]>>, !s, !a, !s) outs(%y : !y)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y, %l: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.matmul' op expected scales of b in layout sf_128x4 on the GPU, found 'memref<128x2xf8E8M0FNU>'}}
  mx.matmul ins(%a, %s, %a, %l : !a, !s, !a, memref<128x2xf8E8M0FNU>) outs(%y : !y)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %s: !s, %z: memref<128x128xf16, strided<[256, 1]>>) {
  // expected-error @below {{'mx.matmul' op expected a result with identity layout on the GPU, found 'memref<128x128xf16, strided<[256, 1]>>'}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%z : memref<128x128xf16, strided<[256, 1]>>)
  return
}

// -----

// A batch.
func.func @main(%a: memref<2x128x64xf8E4M3FN>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>, %y: memref<2x128x128xf32>) {
  // expected-error @below {{'mx.matmul' op expected a to be a matrix with identity layout on the GPU, found 'memref<2x128x64xf8E4M3FN>'}}
  mx.matmul ins(%a, %s, %a, %s : memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>, memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<2x128x128xf32>)
  return
}

// -----

// Rows that the copy engine cannot take.
func.func @main(%x: memref<128x60xbf16>, %e: memref<60x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of 8 with axes [0] on the GPU, found 60: pad it to 64}}
  mx.quantize ins(%x : memref<128x60xbf16>) outs(%e, %s : memref<60x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) axes = [0]
  return
}

// -----

!s = memref<128x2xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E5M2, strided<[128, 1]>>, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected destinations with identity layout on the GPU, found 'memref<128x64xf8E5M2, strided<[128, 1]>>'}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E5M2, strided<[128, 1]>>, !s)
  return
}

// -----

func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf4E2M1FN>, %s: memref<128x4xf8E4M3FN>, %g: f32) {
  // expected-error @below {{'mx.quantize' op expected a schedule with vectors of at most 16 elements, a block, found 32}}
  mx.quantize ins(%x : memref<128x64xbf16>) global_scale(%g) outs(%e, %s : memref<128x64xf4E2M1FN>, memref<128x4xf8E4M3FN>) block_size = 16 {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>}
  return
}

// -----

func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule whose threads cover rows of 8 vectors, and a tile of 128 rows in whole passes, found 96 threads}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 96, vector = 16>}
  return
}

// -----

func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with at most 256 elements of a tile for each thread, found 512}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 32, vector = 16>}
  return
}

// -----

func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with 1 stage and neither stage_rows, atomic_counter nor input_stages along rows, which needs no shared memory, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 2>}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 16, stages = 2>}
  return
}

// -----

func.func @main(%x: memref<4x8xf32, strided<[16, 1]>>, %m: memref<f32>) {
  // expected-error @below {{'mx.amax' op expected an input without gaps on the GPU, found 'memref<4x8xf32, strided<[16, 1]>>'}}
  mx.amax ins(%x : memref<4x8xf32, strided<[16, 1]>>) outs(%m : memref<f32>)
  return
}

// -----

!a = memref<128x384xf8E4M3FN>
func.func @main(%x: memref<128x64xbf16>, %o: memref<2xi32>, %e: !a, %s: memref<1x3x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected ragged = rows on the GPU, found ragged = reduction: transpose the input}}
  mx.quantize ragged = reduction ins(%x : memref<128x64xbf16>) offsets(%o : memref<2xi32>)
      outs(%e, %s : !a, memref<1x3x32x4x4xf8E8M0FNU>)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
func.func @main(%x: memref<128x64xbf16>, %o: memref<2xi32>, %e: !a, %s: memref<3x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with tiles of [128, 128], stages = 1 and no atomic_counter for ragged rows, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 2>}}
  mx.quantize ragged = rows ins(%x : memref<128x64xbf16>) offsets(%o : memref<2xi32>)
      outs(%e, %s : !a, memref<3x1x32x4x4xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, stages = 2>}
  return
}

// -----

!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16>, %e: memref<64x128xf8E4M3FN>, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected a schedule with a tile of at most 256 rows and columns for axes [0], found [128, 384]}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<64x128xf8E4M3FN>, !s) axes = [0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 384], threads = 128>}
  return
}

// -----

!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16>, %e: memref<64x128xf8E4M3FN>, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected a schedule whose threads, by axes, are whole warps and divide the 256 fragments of the rows of a stage, found 96 for an axis}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<64x128xf8E4M3FN>, !s) axes = [0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 96>}
  return
}

// -----

// NVFP4's blocks of 16 may leave rows that the copy engine cannot store.
func.func @main(%x: memref<48x64xbf16>, %e: memref<64x48xf4E2M1FN>, %s: memref<64x3xf8E4M3FN>, %g: f32) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of elements to be a multiple of 32 with axes [0] on the GPU, found 48: pad it to 64}}
  mx.quantize ins(%x : memref<48x64xbf16>) global_scale(%g) outs(%e, %s : memref<64x48xf4E2M1FN>, memref<64x3xf8E4M3FN>) axes = [0] block_size = 16
  return
}

// -----

!x = memref<2x128x64xbf16, strided<[16384, 64, 1]>>
func.func @main(%x: !x, %e: memref<2x128x64xf8E4M3FN>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a matrix whose rows are contiguous, those of 4 and 6 bits and batches with identity layout, on the GPU, found 'memref<2x128x64xbf16, strided<[16384, 64, 1]>>'}}
  mx.quantize ins(%x : !x) outs(%e, %s : memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>)
  return
}

// -----

// A region does not know its matrix.
!x = memref<2x128x64xbf16>
func.func @main(%x: !x, %e: memref<2x128x64xf8E4M3FN>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a matrix with a prologue on the GPU, found 'memref<2x128x64xbf16>'}}
  mx.quantize ins(%x : !x) outs(%e, %s : memref<2x128x64xf8E4M3FN>, memref<2x1x1x32x4x4xf8E8M0FNU>) prologue {
  ^bb0(%v: bf16, %row: index, %column: index):
    %n = arith.negf %v : bf16
    mx.yield %n : bf16
  }
  return
}

// -----

func.func @main(%x: memref<2x64x40xbf16>, %e: memref<2x40x64xf4E2M1FN>, %s: memref<2x40x2xf8E8M0FNU>, %y: memref<2x64x36xbf16>, %f: memref<2x36x64xf4E2M1FN>, %t: memref<2x36x2xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<2x64x40xbf16>) outs(%e, %s : memref<2x40x64xf4E2M1FN>, memref<2x40x2xf8E8M0FNU>) axes = [0]
  // expected-error @below {{'mx.quantize' op expected dimension 2 of input to be a multiple of 8 with axes [0] on the GPU, found 36: pad it to 40}}
  mx.quantize ins(%y : memref<2x64x36xbf16>) outs(%f, %t : memref<2x36x64xf4E2M1FN>, memref<2x36x2xf8E8M0FNU>) axes = [0]
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16, strided<[1, 128]>>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected a matrix whose rows are contiguous, those of 4 and 6 bits and batches with identity layout, on the GPU, found 'memref<128x64xbf16, strided<[1, 128]>>'}}
  mx.quantize ins(%x : memref<128x64xbf16, strided<[1, 128]>>) outs(%e, %s : !a, !s)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xf32, strided<[66, 1]>>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected rows of an input at a stride of a multiple of 4 elements, at least 64, on the GPU, found 66}}
  // expected-note @below {{the nearest are 64 and 68}}
  mx.quantize ins(%x : memref<128x64xf32, strided<[66, 1]>>) outs(%e, %s : !a, !s)
  return
}

// -----

// Rows that overlap.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16, strided<[0, 1]>>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected rows of an input at a stride of a multiple of 8 elements, at least 64, on the GPU, found 0}}
  // expected-note @below {{the nearest is 64}}
  mx.quantize ins(%x : memref<128x64xbf16, strided<[0, 1]>>) outs(%e, %s : !a, !s)
  return
}

// -----

// Elements that share bytes.
!x = memref<128x64xf4E2M1FN, strided<[128, 1]>>
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %f: memref<128x2xf8E8M0FNU>, %e: !a, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected a matrix whose rows are contiguous, those of 4 and 6 bits and batches with identity layout, on the GPU, found 'memref<128x64xf4E2M1FN, strided<[128, 1]>>'}}
  mx.quantize ins(%x : !x) input_scales(%f : memref<128x2xf8E8M0FNU>) outs(%e, %s : !a, !s)
      prologue {
      ^bb0(%v: bf16, %row: index, %column: index):
        mx.yield %v : bf16
      }
  return
}

// -----

func.func @main(%a: memref<300x64xf8E4M3FN>, %as: memref<6x1x32x4x4xf8E8M0FNU>, %b: memref<4x48x64xf8E4M3FN>, %bs: memref<4x1x1x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x48xbf16>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a schedule: run mx-select-schedule first}}
  mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
  return
}

// -----

func.func @main(%a: memref<300x64xf8E4M3FN>, %as: memref<6x1x32x4x4xf8E8M0FNU>, %b: memref<4x48x64xf8E4M3FN>, %bs: memref<4x1x1x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x48xbf16>) {
  // expected-error @below {{'mx.grouped_matmul' op expected no split_k with groups, found 2}}
  mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 48, 128], split_k = 2, stages = 2>}
  return
}

// -----

func.func @main(%a: memref<300x64xf8E4M3FN>, %as: memref<6x1x32x4x4xf8E8M0FNU>, %b: memref<4x48x64xf8E4M3FN>, %bs: memref<4x1x1x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x48xbf16>) {
  // expected-error @below {{'mx.grouped_matmul' op expected tile_loop = static with groups, found clc}}
  mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 48, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<tile_loop = clc>>}
  return
}

// -----

func.func @main(%a: memref<300x64xf8E4M3FN>, %as: memref<300x2xf8E8M0FNU>, %b: memref<4x48x64xf8E4M3FN>, %bs: memref<4x1x1x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %y: memref<300x48xbf16>) {
  // expected-error @below {{'mx.grouped_matmul' op expected scales of a in layout sf_128x4 on the GPU, found 'memref<300x2xf8E8M0FNU>'}}
  mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : memref<300x64xf8E4M3FN>, memref<300x2xf8E8M0FNU>, memref<4x48x64xf8E4M3FN>, memref<4x1x1x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%y : memref<300x48xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 48, 128], stages = 2>}
  return
}

// -----

func.func @main(%x: tensor<128x64xbf16>, %e: tensor<128x64xf8E4M3FN>, %s: tensor<1x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected memrefs, found 'tensor<128x64xbf16>': bufferize first}}
  %0:2 = mx.quantize ins(%x : tensor<128x64xbf16>) outs(%e, %s : tensor<128x64xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>) -> tensor<128x64xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>
  return
}

// -----

// The host cannot reach the memory of the device.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16>, %a: !a, %s: !s, %zero: bf16, %i: index) {
  // expected-error @below {{'memref.store' op expected only mx operations on tensors in device memory, found one that the host would run}}
  memref.store %zero, %x[%i, %i] : memref<128x64xbf16>
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: memref<128x64xbf16>, %a: !a, %s: !s, %i: index, %zero: bf16) {
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
  // expected-error @below {{'memref.store' op expected only mx operations on tensors in device memory, found one that the host would run}}
  memref.store %zero, %x[%i, %i] : memref<128x64xbf16>
  return
}

// -----

// The device cannot reach the memory of the host. A constant is copied, but not
// what may change.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
memref.global "private" @variable : memref<128x64xbf16> = dense<1.0>
func.func @main(%a: !a, %s: !s) {
  // expected-error @below {{'memref.get_global' op expected tensors in device memory, found one in the memory of the host}}
  %x = memref.get_global @variable : memref<128x64xbf16>
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %s: !s) {
  // expected-error @below {{'memref.alloca' op expected tensors in device memory, found one in the memory of the host}}
  %x = memref.alloca() : memref<128x64xbf16>
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
  return
}

// -----

// Kernels are launched from functions of the host.
!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
%x = memref.alloc() : memref<128x64xbf16>
%a = memref.alloc() : !a
%s = memref.alloc() : !s
// expected-error @below {{'mx.quantize' op expected to be inside a function of the host}}
mx.quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
gpu.module @kernels {
  gpu.func @kernel(%x: memref<128x64xbf16>, %a: !a, %s: !s) kernel {
    // expected-error @below {{'mx.quantize' op expected to be inside a function of the host}}
    mx.quantize ins(%x : memref<128x64xbf16>) outs(%a, %s : !a, !s)
    gpu.return
  }
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected at least 152 registers for the epilogue and 40 for the other roles, at most 496 together, found registers = [208, 32]}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, registers = [208, 32]>}
  return
}

// -----

!a = memref<128x64xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main(%a: !a, %s: !s, %y: !y) {
  // expected-error @below {{'mx.matmul' op expected at least 152 registers for the epilogue and 40 for the other roles, at most 496 together, found registers = [256, 248]}}
  mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, registers = [256, 248]>}
  return
}


// -----

// The threads that compute what is quantized come on top.
!x = memref<128x128xf32>
!q = memref<128x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %q: !q, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected a schedule with at most 320 threads, beside which twice as many compute what is quantized, found 512}}
  mx.quantize ins(%x : !x) outs(%q, %s : !q, !s) axes = [0]
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 32>} prologue {
  ^bb0(%a: f32, %row: index, %col: index):
    %b = arith.negf %a : f32
    mx.yield %b : f32
  }
  return
}

// -----

// They read 8 columns at a time, where a copy takes 16 bytes.
!x = memref<128x12xf32>
!q = memref<12x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func @main(%x: !x, %n: memref<128xi32>, %q: !q, %s: !s) {
  // expected-error @below {{'mx.quantize' op expected dimension 1 of input to be a multiple of 8 with axes [0] on the GPU, found 12: pad it to 16}}
  mx.quantize ins(%x : !x) gather(%n : memref<128xi32>) outs(%q, %s : !q, !s) axes = [0]
  return
}

// -----

// What a prologue may hold is what an epilogue may.
!x = memref<128x128xbf16>
!q = memref<128x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
func.func private @f(bf16) -> bf16
func.func @main(%x: !x, %q: !q, %s: !s) {
  mx.quantize ins(%x : !x) outs(%q, %s : !q, !s) prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    // expected-error @below {{'func.call' op in a prologue on the GPU: expected elementwise operations of arith and math and memref.load with rows and columns as indices, found an operation that cannot be inlined}}
    %b = func.call @f(%a) : (bf16) -> bf16
    mx.yield %b : bf16
  }
  return
}

// -----

func.func @main(%q: memref<2x128x64xf8E4M3FN, strided<[16384, 128, 1]>>, %s: memref<2x128x2xf8E8M0FNU>, %x: memref<2x128x64xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected the input to be a matrix whose rows are contiguous, with 4 and 6 bits and in batches with identity layout, on the GPU, found 'memref<2x128x64xf8E4M3FN, strided<[16384, 128, 1]>>'}}
  mx.dequantize ins(%q, %s : memref<2x128x64xf8E4M3FN, strided<[16384, 128, 1]>>, memref<2x128x2xf8E8M0FNU>) outs(%x : memref<2x128x64xbf16>)
  return
}

// -----

func.func @main(%q: memref<128x64xf8E4M3FN, strided<[68, 1]>>, %s: memref<128x2xf8E8M0FNU>, %x: memref<128x64xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected rows of the input at a stride of a multiple of 8 elements, at least 64, on the GPU, found 68}}
  // expected-note @below {{the nearest are 64 and 72}}
  mx.dequantize ins(%q, %s : memref<128x64xf8E4M3FN, strided<[68, 1]>>, memref<128x2xf8E8M0FNU>) outs(%x : memref<128x64xbf16>)
  return
}

// -----

!s = memref<2x1x32x4x4xf8E8M0FNU, strided<[1024, 512, 16, 4, 1]>>
func.func @main(%q: memref<256x64xf8E4M3FN>, %s: !s, %x: memref<256x64xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected scales with identity layout on the GPU, found 'memref<2x1x32x4x4xf8E8M0FNU, strided<[1024, 512, 16, 4, 1]>>'}}
  mx.dequantize ins(%q, %s : memref<256x64xf8E4M3FN>, !s) outs(%x : memref<256x64xbf16>)
  return
}

// -----

func.func @main(%q: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>, %x: memref<128x64xbf16, strided<[128, 1]>>) {
  // expected-error @below {{'mx.dequantize' op expected the result with identity layout on the GPU, found 'memref<128x64xbf16, strided<[128, 1]>>'}}
  mx.dequantize ins(%q, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) outs(%x : memref<128x64xbf16, strided<[128, 1]>>)
  return
}

// -----

func.func @main(%q: memref<128x384xf8E4M3FN>, %s: memref<1x3x32x4x4xf8E8M0FNU>, %o: memref<2xi32>, %x: memref<128x128xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected padded with ragged = reduction on the GPU, found it without: leave the segments where they are, in a result with as many columns}}
  mx.dequantize ragged = reduction ins(%q, %s : memref<128x384xf8E4M3FN>, memref<1x3x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<2xi32>) outs(%x : memref<128x128xbf16>)
  return
}

// -----

func.func @main(%q: memref<128x384xf8E4M3FN>, %s: memref<1x3x32x4x4xf8E8M0FNU>, %o: memref<2xi32>, %x: memref<128x384xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected a tile of 128 columns with ragged = reduction, whose segments begin at multiples of them, found 256}}
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<128x384xf8E4M3FN>, memref<1x3x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<2xi32>) outs(%x : memref<128x384xbf16>)
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 512, vector = 8>}
  return
}

// -----

func.func @main(%q: memref<128x64xf8E4M3FN>, %s: memref<3x1x32x4x4xf8E8M0FNU>, %o: memref<2xi32>, %x: memref<128x64xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected a tile of 128 rows with groups, each of which has whole tiles of scales, found 256}}
  mx.dequantize ragged = rows ins(%q, %s : memref<128x64xf8E4M3FN>, memref<3x1x32x4x4xf8E8M0FNU>)
      offsets(%o : memref<2xi32>) outs(%x : memref<128x64xbf16>)
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 512, vector = 8>}
  return
}

// -----

func.func @main(%q: memref<128x64xf4E2M1FN>, %s: memref<128x4xf8E4M3FN>, %x: memref<128x64xbf16>) {
  // expected-error @below {{'mx.dequantize' op expected a schedule with vectors of at most 16 elements, a block, found 32}}
  mx.dequantize ins(%q, %s : memref<128x64xf4E2M1FN>, memref<128x4xf8E4M3FN>) outs(%x : memref<128x64xbf16>) block_size = 16
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>}
  return
}

// -----

func.func @main(%s: memref<128x2xf8E8M0FNU>, %t: memref<3x1x32x4x4xf8E8M0FNU>, %o: memref<2xi32>) {
  // expected-error @below {{'mx.relayout' op expected no offsets on the GPU, found offsets}}
  mx.relayout ragged = rows ins(%s : memref<128x2xf8E8M0FNU>) offsets(%o : memref<2xi32>)
      outs(%t : memref<3x1x32x4x4xf8E8M0FNU>)
  return
}

// -----

func.func @main(%s: memref<2x128x2xf8E8M0FNU, strided<[512, 4, 1]>>, %t: memref<2x1x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.relayout' op expected scales to be contiguous on the GPU, but for those of one matrix that are read row by row, found 'memref<2x128x2xf8E8M0FNU, strided<[512, 4, 1]>>'}}
  mx.relayout ins(%s : memref<2x128x2xf8E8M0FNU, strided<[512, 4, 1]>>) outs(%t : memref<2x1x1x32x4x4xf8E8M0FNU>)
  return
}

// -----

func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with 1 stage and neither stage_rows, atomic_counter nor input_stages along rows, which needs no shared memory, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, atomic_counter = true>}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, atomic_counter = true>}
  return
}

// -----

!a = memref<128x256xf8E4M3FN>
func.func @main(%x: memref<128x256xbf16>, %o: memref<2xi32>, %e: !a, %s: memref<3x2x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with tiles of [128, 128], stages = 1 and no atomic_counter for ragged rows, found #mxgpu.quantize_schedule<tile = [128, 256], threads = 128>}}
  mx.quantize ragged = rows ins(%x : memref<128x256xbf16>) offsets(%o : memref<2xi32>)
      outs(%e, %s : !a, memref<3x2x32x4x4xf8E8M0FNU>) {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 256], threads = 128>}
  return
}

// -----

// One warp cannot serve both axes.
func.func @main(%x: memref<128x64xbf16>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>, %et: memref<64x128xf8E4M3FN>, %st: memref<64x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule whose threads, by axes, are whole warps and divide the 512 fragments of the rows of a stage, found 16 for an axis}}
  mx.quantize ins(%x : memref<128x64xbf16>) outs(%e, %s, %et, %st : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>, memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 32, vector = 32>}
  return
}

// -----

// A vector would have two scales.
func.func @main(%x: memref<128x64xf4E2M1FN>, %n: memref<128x4xf8E4M3FN>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with vectors of at most 16 elements, a block, found 32}}
  mx.quantize ins(%x : memref<128x64xf4E2M1FN>) input_scales(%n : memref<128x4xf8E4M3FN>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>)
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32>} prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    mx.yield %a : bf16
  }
  return
}

// -----

func.func @main(%x: memref<128x64xi8>, %n: memref<128x2xf8E8M0FNU, strided<[4, 1]>>, %e: memref<128x64xf8E4M3FN>, %s: memref<128x2xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected input_scales with identity layout on the GPU, found 'memref<128x2xf8E8M0FNU, strided<[4, 1]>>'}}
  mx.quantize ins(%x : memref<128x64xi8>) input_scales(%n : memref<128x2xf8E8M0FNU, strided<[4, 1]>>) outs(%e, %s : memref<128x64xf8E4M3FN>, memref<128x2xf8E8M0FNU>) prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    mx.yield %a : bf16
  }
  return
}

// -----

// Scales that the tensor cores would not read.
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

// -----

// Scales of 96 columns are no word.
!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x96x256xf8E4M3FN>
!bs = memref<4x1x2x32x4x4xf8E8M0FNU>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: memref<300x96xf8E4M3FN>, %s: memref<6x1x32x4x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.grouped_matmul' op expected a result of parts, or quantized, to have a multiple of 128 columns on the GPU, found 96}}
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %s : memref<300x96xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>) 
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} 
  return
}

// -----

// Each part has a tile of scales.
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

// -----

// Three parts are no two halves.
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

// -----

// Rows of the list are adjacent.
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

!e = memref<256x128xf8E4M3FN>
!s = memref<256x4xf8E8M0FNU>
func.func @main(%x: memref<256x128xbf16>, %e: !e, %s: !s, %t: memref<128x256xf8E4M3FN>, %u: memref<128x8xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a schedule with input_stages only with a prologue whose inputs have no scales, without gather and ragged rows, found #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, input_stages = 2>}}
  mx.quantize ins(%x : memref<256x128xbf16>) outs(%e, %s, %t, %u : !e, !s, memref<128x256xf8E4M3FN>, memref<128x8xf8E8M0FNU>)
      axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, input_stages = 2>}
  return
}

// -----

func.func @main(%x: memref<2x128x64xf8E4M3FN>, %n: memref<2x128x2xf8E8M0FNU>, %e: memref<2x64x128xf8E4M3FN>, %s: memref<2x64x4xf8E8M0FNU>) {
  // expected-error @below {{'mx.quantize' op expected a matrix with input_scales on the GPU, found 'memref<2x128x64xf8E4M3FN>'}}
  mx.quantize ins(%x : memref<2x128x64xf8E4M3FN>) input_scales(%n : memref<2x128x2xf8E8M0FNU>) outs(%e, %s : memref<2x64x128xf8E4M3FN>, memref<2x64x4xf8E8M0FNU>) axes = [0]
  return
}
