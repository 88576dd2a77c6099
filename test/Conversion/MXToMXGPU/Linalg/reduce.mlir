// RUN: mx-opt %s --split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// The runtime fills buffers with zero bytes. In E8M0, a zero byte means 2^-127. The bits of
// -0.0 are not all zero.

// CHECK-LABEL: func.func @fill(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<4x4xbf16>, %[[C:.*]]: memref<4x4xf8E8M0FNU>, %[[D:.*]]: memref<3xi64>, %[[E:.*]]: memref<?x32xf4E2M1FN>)
// CHECK-DAG:     %[[F32:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[BF16:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK-DAG:     %[[E8M0:.*]] = arith.constant {{.*}} : f8E8M0FNU
// CHECK-DAG:     %[[I64:.*]] = arith.constant 0 : i64
// CHECK-DAG:     %[[I8:.*]] = arith.constant 0 : i8
// CHECK:         gpu.memset %[[A]], %[[F32]] : memref<?xf32>, f32
// CHECK:         gpu.memset %[[B]], %[[BF16]] : memref<4x4xbf16>, bf16
// CHECK:         gpu.memset %[[C]], %[[E8M0]] : memref<4x4xf8E8M0FNU>, f8E8M0FNU
// CHECK:         gpu.memset %[[D]], %[[I64]] : memref<3xi64>, i64
// CHECK:         %[[BYTES:.*]] = builtin.unrealized_conversion_cast %[[E]] : memref<?x32xf4E2M1FN> to memref<?x16xi8>
// CHECK:         gpu.memset %[[BYTES]], %[[I8]] : memref<?x16xi8>, i8
func.func @fill(%a: memref<?xf32>, %b: memref<4x4xbf16>, %c: memref<4x4xf8E8M0FNU>, %d: memref<3xi64>, %e: memref<?x32xf4E2M1FN>) {
  %f32 = arith.constant 0.0 : f32
  %bf16 = arith.constant 0.0 : bf16
  %e8m0 = arith.constant 5.877471754111438e-39 : f8E8M0FNU
  %i64 = arith.constant 0 : i64
  %f4 = arith.constant 0.0 : f4E2M1FN
  linalg.fill ins(%f32 : f32) outs(%a : memref<?xf32>)
  linalg.fill ins(%bf16 : bf16) outs(%b : memref<4x4xbf16>)
  linalg.fill ins(%e8m0 : f8E8M0FNU) outs(%c : memref<4x4xf8E8M0FNU>)
  linalg.fill ins(%i64 : i64) outs(%d : memref<3xi64>)
  linalg.fill ins(%f4 : f4E2M1FN) outs(%e : memref<?x32xf4E2M1FN>)
  return
}

// -----

// A warp reduces a row, one 16-byte piece per load. Whole pieces are read first. Partial pieces,
// and all pieces of unaligned memory, are padded with -0.0. Both paths add in the same order.

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// CHECK-LABEL: func.func @sum(
// CHECK-SAME:    %[[X:.*]]: memref<?x?xbf16>, %[[Y:.*]]: memref<?xf32>)
// CHECK:         %[[COLUMNS:.*]] = memref.dim %[[X]], %{{.*}}
// CHECK:         "expected dimension 0 of input 0 to be %lld, found %lld"
// CHECK:         %[[GRID:.*]] = arith.ceildivui %{{.*}}, %c8
// CHECK:         mxgpu.launch @kernels::@sum_reduce grid(%[[GRID]]) args(%[[X]], %[[COLUMNS]], %[[Y]] : memref<?x?xbf16>, index, memref<?xf32>)

// CHECK-LABEL: mxgpu.kernel @sum_reduce(
// CHECK-SAME:    %[[X:.*]]: memref<?x?xbf16>, %[[COLUMNS:.*]]: index, %[[Y:.*]]: memref<?xf32>)
// CHECK-DAG:     %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[Y]]
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [8, 1] of(%[[ROWS]], %c1, %c0)
// CHECK:         mxgpu.role @reduce warps(8)
// CHECK:           %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             %[[ROW:.*]] = arith.addi %row
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %[[ROWS]]
// CHECK:             scf.if %[[EXISTS]] {
// CHECK:               %[[BEFORE:.*]] = memref.load %[[Y]][%[[ROW]]]
// CHECK:               %[[FIRST:.*]] = arith.muli %[[LANE]], %c8
// CHECK:               memref.extract_aligned_pointer_as_index %[[X]]
// CHECK:               %[[END:.*]] = arith.select %{{.*}}, %{{.*}}, %c0
// CHECK:               %[[WHOLE:.*]]:2 = scf.for %[[C:[a-z0-9]+]] = %[[FIRST]] to %[[END]] step %c256 iter_args(%[[SUM:.*]] = %[[NONE]], %{{.*}} = %[[FIRST]])
// CHECK:                 %[[V:.*]] = mxgpu.load_block %[[X]][%[[ROW]], %[[C]]] in_bounds : memref<?x?xbf16> -> vector<8xbf16>
// CHECK:                 %[[WIDE:.*]] = arith.extf %[[V]] : vector<8xbf16> to vector<8xf32>
// CHECK:                 arith.addf %[[SUM]], %[[WIDE]] : vector<8xf32>
// CHECK:               %[[ALL:.*]] = scf.for %{{.*}} = %[[WHOLE]]#1 to %[[COLUMNS]] step %c256 iter_args(%[[SUM:.*]] = %[[WHOLE]]#0)
// CHECK-COUNT-8:         memref.load %[[X]][%[[ROW]], %{{.*}}]
// CHECK:                 %[[VALUE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NONE]] : vector<8xi1>, vector<8xf32>
// CHECK:                 arith.addf %[[SUM]], %[[VALUE]] : vector<8xf32>
// CHECK-COUNT-7:       arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:               %[[TOTAL:[0-9]+]] = mxgpu.reduce_lanes add %{{.*}} : f32
// CHECK:               %[[RESULT:.*]] = arith.addf %[[BEFORE]], %[[TOTAL]] : f32
// CHECK:               %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK:               scf.if %[[FIRST]] {
// CHECK-NEXT:            memref.store %[[RESULT]], %[[Y]][%[[ROW]]]
func.func @sum(%x: memref<?x?xbf16>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xbf16>) outs(%y : memref<?xf32>) {
  ^bb0(%a: bf16, %acc: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// Slices are passed without a copy, and whole pieces are loaded if the rows are 16-byte aligned.
// Values indexed by row are loaded once, and values indexed by column are loaded as vectors.
// Constants are not passed.

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>
!slice = memref<?x256xf32, strided<[512, 1], offset: ?>>

// CHECK-LABEL: func.func @slices(
// CHECK-SAME:    %[[X:.*]]: memref<?x512xf32>, %[[P:.*]]: memref<?xf16>, %[[W:.*]]: memref<256xf32>, %[[K:.*]]: i32, %[[Y:.*]]: memref<?xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK:         %[[A:.*]] = memref.subview %[[X]]
// CHECK:         %[[B:.*]] = memref.subview %[[X]]
// CHECK:         mxgpu.launch @kernels::@slices_reduce grid(%{{.*}}) args(%[[A]], %[[B]], %[[P]], %[[W]], %[[K]], %[[Y]] :

// CHECK-LABEL: mxgpu.kernel @slices_reduce(
// CHECK-SAME:    %[[A:.*]]: memref<?x256xf32, strided<[512, 1], offset: ?>>, %[[B:.*]]: memref<?x256xf32, strided<[512, 1], offset: ?>>, %[[P:.*]]: memref<?xf16>, %[[W:.*]]: memref<256xf32>, %[[K:.*]]: i32, %[[Y:.*]]: memref<?xf32>)
// CHECK-DAG:     arith.constant dense<0xFF800000> : vector<4xf32>
// CHECK:         mxgpu.for_each_work_tile
// CHECK:           memref.load %[[P]][%[[ROW:[0-9]+]]] : memref<?xf16>
// CHECK:           memref.extract_strided_metadata %[[A]]
// CHECK:           scf.for %[[C:[a-z0-9]+]] =
// CHECK:             mxgpu.load_block %[[A]][%[[ROW]], %[[C]]] in_bounds : memref<?x256xf32, strided<[512, 1], offset: ?>> -> vector<4xf32>
// CHECK:             mxgpu.load_block %[[B]][%[[ROW]], %[[C]]] in_bounds : memref<?x256xf32, strided<[512, 1], offset: ?>> -> vector<4xf32>
// CHECK:             vector.load %[[W]][%[[C]]] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
// CHECK:             arith.maximumf
// CHECK:           mxgpu.reduce_lanes maximum
func.func @slices(%x: memref<?x512xf32>, %p: memref<?xf16>, %w: memref<256xf32>, %k: i32, %y: memref<?xf32>, %first: index, %n: index) {
  %a = memref.subview %x[%first, 256] [%n, 256] [1, 1] : memref<?x512xf32> to !slice
  %b = memref.subview %x[%first, 0] [%n, 256] [1, 1] : memref<?x512xf32> to !slice
  linalg.generic {indexing_maps = [#matrix, #row, #matrix, #column, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a, %p, %b, %w : !slice, memref<?xf16>, !slice, memref<256xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%0: f32, %1: f16, %2: f32, %3: f32, %acc: f32):
    %4 = linalg.index 1 : index
    %5 = arith.index_cast %4 : index to i32
    %6 = arith.muli %5, %k : i32
    %7 = arith.sitofp %6 : i32 to f32
    %8 = arith.extf %1 : f16 to f32
    %9 = arith.mulf %0, %8 : f32
    %10 = arith.mulf %9, %2 : f32
    %11 = arith.mulf %10, %3 : f32
    %12 = arith.mulf %11, %7 : f32
    %13 = arith.maximumf %12, %acc : f32
    linalg.yield %13 : f32
  }
  return
}

// -----

// CHECK-LABEL: mxgpu.kernel @named_reduce(
// CHECK-DAG:     arith.constant dense<0x7F800000> : vector<4xf32>
// CHECK:         mxgpu.reduce_lanes minimum
func.func @named(%x: memref<64x64xf32>, %y: memref<64xf32>) {
  linalg.reduce ins(%x : memref<64x64xf32>) outs(%y : memref<64xf32>) dimensions = [1]
    (%a: f32, %acc: f32) {
      %0 = arith.minimumf %a, %acc : f32
      linalg.yield %0 : f32
    }
  return
}

// -----

// Rows at odd offsets are read element by element.

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// CHECK-LABEL: mxgpu.kernel @odd_reduce(
// CHECK-NOT:     mxgpu.load_block
func.func @odd(%x: memref<?x256xf32, strided<[513, 1]>>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x256xf32, strided<[513, 1]>>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %0 = arith.addf %a, %acc : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Rows without the condition have no columns, if the condition depends on the row only and the
// other value is the neutral element.

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// CHECK-LABEL: mxgpu.kernel @some_reduce(
// CHECK-SAME:    %[[COLUMNS:[a-z0-9]+]]: index
// CHECK:         %[[KEY:.*]] = memref.load %{{.*}} : memref<?xi32>
// CHECK:         %[[EXISTS:.*]] = arith.cmpi sge, %[[KEY]], %{{.*}} : i32
// CHECK:         %[[COUNT:.*]] = arith.select %[[EXISTS]], %[[COLUMNS]], %c0 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[COUNT]] step %c256
func.func @some(%x: memref<?x?xbf16>, %keys: memref<?xi32>, %y: memref<?xf32>) {
  %zero = arith.constant 0 : i32
  %none = arith.constant -0.0 : f32
  linalg.generic {indexing_maps = [#matrix, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %keys : memref<?x?xbf16>, memref<?xi32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: bf16, %key: i32, %acc: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.cmpi sge, %key, %zero : i32
    %2 = arith.select %1, %0, %none : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// CHECK-LABEL: mxgpu.kernel @plus_zero_reduce(
// CHECK-SAME:    %[[COLUMNS:[a-z0-9]+]]: index
// CHECK-NOT:     arith.select %{{.*}}, %[[COLUMNS]]
// CHECK:         scf.for %{{.*}} to %[[COLUMNS]] step %c256
func.func @plus_zero(%x: memref<?x?xbf16>, %keys: memref<?xi32>, %y: memref<?xf32>) {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#matrix, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %keys : memref<?x?xbf16>, memref<?xi32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: bf16, %key: i32, %acc: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.cmpi sge, %key, %zero : i32
    %2 = arith.select %1, %0, %none : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  }
  return
}
