// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// An array that a region indexes by row or column must have at least as many entries as there are
// rows or columns. The check is emitted once per array. No check is emitted for other index
// expressions and for static sizes that suffice.

// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME:      %[[P:[^:]*]]: memref<?xf32>, %[[BIAS:[^:]*]]: memref<?xf32>, %[[R:[^:]*]]: memref<256x128xf32>
// CHECK:         %[[PS:.*]] = memref.dim %[[P]], %c0
// CHECK:         %[[ROWS:.*]] = arith.cmpi uge, %[[PS]], %c256
// CHECK-NEXT:    mxgpu.require %[[ROWS]], "expected dimension 0 of a tensor that the region indexes by row to be at least %lld, found %lld"
// CHECK:         %[[BS:.*]] = memref.dim %[[BIAS]], %c0
// CHECK:         %[[COLUMNS:.*]] = arith.cmpi uge, %[[BS]], %c128
// CHECK-NEXT:    mxgpu.require %[[COLUMNS]], "expected dimension 0 of a tensor that the region indexes by column to be at least %lld, found %lld"
// CHECK-NOT:     that the region reads
func.func @epilogue(%a: memref<256x256xf8E4M3FN>, %as: memref<2x2x32x4x4xf8E8M0FNU>, %b: memref<128x256xf8E4M3FN>, %bs: memref<1x2x32x4x4xf8E8M0FNU>,
                    %p: memref<?xf32>, %bias: memref<?xf32>, %r: memref<256x128xf32>, %y: memref<256x128xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : memref<256x256xf8E4M3FN>, memref<2x2x32x4x4xf8E8M0FNU>, memref<128x256xf8E4M3FN>, memref<1x2x32x4x4xf8E8M0FNU>)
      outs(%y : memref<256x128xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>} epilogue {
  ^bb0(%sum: f32, %row: index, %col: index):
    %w = memref.load %p[%row] : memref<?xf32>
    %c = memref.load %bias[%col] : memref<?xf32>
    %c1 = memref.load %bias[%col] : memref<?xf32>
    %e = memref.load %r[%row, %col] : memref<256x128xf32>
    %u = arith.mulf %sum, %w : f32
    %v = arith.addf %u, %c : f32
    %x = arith.addf %v, %c1 : f32
    %z = arith.addf %x, %e : f32
    mx.yield %z : f32
  }
  return
}

// CHECK-LABEL: func.func @prologue(
// CHECK:         mxgpu.require {{.*}}"expected dimension 0 of a tensor that the region indexes by row to be at least %lld, found %lld"
func.func @prologue(%x: memref<?x128xbf16>, %p: memref<?xf32>, %e: memref<?x128xf8E4M3FN>, %s: memref<?x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x128xbf16>) outs(%e, %s : memref<?x128xf8E4M3FN>, memref<?x4xf8E8M0FNU>)
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 512, vector = 16, ctas = 2>} prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %w = memref.load %p[%row] : memref<?xf32>
    %f = arith.extf %a : bf16 to f32
    %g = arith.mulf %f, %w : f32
    mx.yield %g : f32
  }
  return
}
