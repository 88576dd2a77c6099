// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources | FileCheck %s
// RUN: mx-opt %s --convert-mx-to-mxgpu --convert-mxgpu-host-to-gpu | FileCheck %s --check-prefix=BYTES

// Quantizers along columns use shared memory. One thread loads a tile, the other
// threads read fragments, and bulk copies store the results.

// CHECK-DAG: !map = !mxgpu.tensor_map<128x64xbf16, sw128>
// CHECK-DAG: !map{{[0-9]+}} = !mxgpu.tensor_map<1x128x64xbf16, sw128>
// CHECK-DAG: !map{{[0-9]+}} = !mxgpu.tensor_map<1x128x128xf8E4M3FN, sw128>
// CHECK-DAG: !bulk_copy_ring = !mxgpu.ring<1 x (x: smem<2x128x64xbf16, sw128>), producer = bulk_copy, consumer = threads(256)>
// CHECK-DAG: !threads_ring = !mxgpu.ring<1 x (columns: smem<128x128xf8E4M3FN, sw128>, columns_scales: smem<1x1x512xf8E8M0FNU>), producer = threads(256), consumer = bulk_store>

// CHECK-LABEL: func.func @columns(
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of input to be a multiple of 8, found %lld; the nearest are %lld and %lld"
// CHECK:         %[[X:.*]] = mxgpu.encode_tensor_map %arg0 l2_promotion = b128 : memref<?x?xbf16> -> !map
// CHECK:         %[[Q:.*]] = mxgpu.encode_tensor_map %arg1 : memref<?x?xf8E4M3FN> -> !map1
// CHECK:         mxgpu.launch @kernels::@columns_quantize grid(%{{.*}}) args(%[[X]], %[[Q]], %arg2, %[[M:.*]], %[[K:.*]] : !map, !map1, memref<?x?x32x4x4xf8E8M0FNU>, index, index)
// BYTES: gpu.launch_func {{.*}}@columns_quantize {{.*}} dynamic_shared_memory_size %c50688_i32
func.func @columns(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [0]
  return
}

// Tensor maps promote L2 accesses to 256 bytes if all rows are 256-byte aligned.

// CHECK-LABEL: func.func @aligned_rows(
// CHECK:         mxgpu.encode_tensor_map %arg0 : memref<?x384xbf16> -> !map
func.func @aligned_rows(%x: memref<?x384xbf16>, %e: memref<384x?xf8E4M3FN>, %s: memref<3x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x384xbf16>) outs(%e, %s : memref<384x?xf8E4M3FN>, memref<3x?x32x4x4xf8E8M0FNU>) axes = [0]
  return
}

// CHECK-LABEL: func.func @other_rows(
// CHECK:         mxgpu.encode_tensor_map %arg0 l2_promotion = b128 : memref<?x320xbf16> -> !map
func.func @other_rows(%x: memref<?x320xbf16>, %e: memref<320x?xf8E4M3FN>, %s: memref<3x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x320xbf16>) outs(%e, %s : memref<320x?xf8E4M3FN>, memref<3x?x32x4x4xf8E8M0FNU>) axes = [0]
  return
}

// CHECK-LABEL: func.func @both(
// CHECK:         mxgpu.encode_tensor_map %arg0 l2_promotion = b64 : memref<?x?xbf16> -> !map
// BYTES: gpu.launch_func {{.*}}@both_quantize {{.*}} dynamic_shared_memory_size %c68096_i32
func.func @both(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0] scale_rounding = even
  return
}

// CHECK-LABEL: func.func @ragged(
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 0 of scales to be %lld, found %lld"
func.func @ragged(%x: memref<?x?xbf16>, %o: memref<4xi32>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ragged = rows ins(%x : memref<?x?xbf16>) offsets(%o : memref<4xi32>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0]
  return
}

// A second launch, of resident CTAs, quantizes the rows beyond 9/8 of the expected rows.
// CHECK-LABEL: func.func @expected(
// CHECK:         %[[LIMIT:.*]] = arith.minui %[[TILES:.*]], %c1156
// CHECK:         mxgpu.launch @kernels::@expected_quantize grid(
// CHECK:         %[[REST:.*]] = arith.subi %[[TILES]], %[[LIMIT]]
// CHECK:         mxgpu.launch @kernels::@expected_quantize_rest grid(
func.func @expected(%x: memref<?x?xbf16>, %o: memref<4xi32>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ragged = rows ins(%x : memref<?x?xbf16>) offsets(%o : memref<4xi32>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0] {mxgpu.expected_rows = 131072 : i64}
  return
}

// CHECK-LABEL: func.func @parts(
// CHECK:         gpu.memset %[[COUNTER:.*]], %c0_i32 : memref<1xi32>, i32
// CHECK:         %[[SMS:.*]] = mxgpu.sm_count
// CHECK:         %[[GRID:.*]] = arith.minui %{{.*}}, %[[SMS]]
// CHECK:         mxgpu.launch @kernels::@parts_quantize grid(%[[GRID]])
// CHECK:         memref.dealloc %[[COUNTER]]
func.func @parts(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0] {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 64, stages = 3, atomic_counter = true>}
  return
}

// CHECK-LABEL: func.func @swiglu(
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of input to be a multiple of 8, found %lld; the nearest are %lld and %lld"
// CHECK-NOT:     memref<?x?xbf16> -> !map
// CHECK:         mxgpu.launch @kernels::@swiglu_quantize grid(%{{.*}}) args(%arg0, %arg1, %arg2, %{{.*}} :
func.func @swiglu(%gate: memref<?x?xbf16>, %up: memref<?x?xbf16>, %w: memref<?xf32>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%gate, %up : memref<?x?xbf16>, memref<?x?xbf16>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0] prologue {
  ^bb0(%g: bf16, %u: bf16, %row: index, %col: index):
    %weight = memref.load %w[%row] : memref<?xf32>
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %h = arith.mulf %gf, %uf : f32
    %y = arith.mulf %h, %weight : f32
    %t = arith.truncf %y : f32 to bf16
    mx.yield %t : bf16
  }
  return
}

// CHECK-LABEL: func.func @copied(
// CHECK:         %[[GATES:.*]] = mxgpu.encode_tensor_map %arg0 {{.*}} : memref<?x?xbf16> -> !map
// CHECK:         %[[UPS:.*]] = mxgpu.encode_tensor_map %arg1 {{.*}} : memref<?x?xbf16> -> !map
// CHECK:         mxgpu.launch @kernels::@copied_quantize grid(%{{.*}}) args(%arg0, %arg1, %[[GATES]], %[[UPS]], %{{.*}} :
func.func @copied(%gate: memref<?x?xbf16>, %up: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%gate, %up : memref<?x?xbf16>, memref<?x?xbf16>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0]
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, vector = 32, stage_rows = 64, stages = 2, atomic_counter = true, input_stages = 3>} prologue {
  ^bb0(%g: bf16, %u: bf16, %row: index, %col: index):
    %h = arith.mulf %g, %u : bf16
    mx.yield %h : bf16
  }
  return
}

// CHECK-LABEL: func.func @amax(
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         gpu.memset %arg5, %[[ZERO]] : memref<f32>, f32
// CHECK:         mxgpu.launch @kernels::@amax_quantize grid(%{{.*}}) args({{.*}}, %arg5 :
func.func @amax(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>, %m: memref<f32>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %et, %st, %m : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<f32>) axes = [1, 0] amax
  return
}

// CHECK-LABEL: func.func @amax_parts(
func.func @amax_parts(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?xf8E8M0FNU>, %m: memref<f32>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %et, %st, %m : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>, memref<f32>) axes = [1, 0] amax {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, stage_rows = 64, stages = 3>}
  return
}

// CHECK-LABEL: func.func @squares(
func.func @squares(%x: memref<?x?xbf16>, %seed: i64, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) seed(%seed) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0] square
  return
}

// The matrices of a batch use rank-3 tensor maps and are tiled separately.
// CHECK-LABEL: func.func @batch(
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 0 of elements to be %lld, found %lld"
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 1 of input to be a multiple of 32, found %lld; the nearest are %lld and %lld"
// CHECK:         mxgpu.encode_tensor_map %arg0 l2_promotion = b128 : memref<?x?x?xbf16> -> !map
// CHECK:         %[[TILES:.*]] = memref.collapse_shape %arg2 {{.*}} : memref<?x?x?x32x4x4xf8E8M0FNU> into memref<?x?x32x4x4xf8E8M0FNU>
// CHECK:         mxgpu.encode_tensor_map %arg1 : memref<?x?x?xf8E4M3FN> -> !map
// CHECK:         mxgpu.launch @kernels::@batch_quantize grid(%{{.*}}) args(%{{.*}}, %{{.*}}, %[[TILES]], %{{.*}}, %{{.*}}, %{{.*}} : !map{{.*}}, !map{{.*}}, memref<?x?x32x4x4xf8E8M0FNU>, index, index, index)
func.func @batch(%x: memref<?x?x?xbf16>, %e: memref<?x?x?xf8E4M3FN>, %s: memref<?x?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?x?xbf16>) outs(%e, %s : memref<?x?x?xf8E4M3FN>, memref<?x?x?x32x4x4xf8E8M0FNU>) axes = [0]
  return
}

// CHECK-LABEL: func.func @gradients(
func.func @gradients(%x: memref<?x?xbf16>, %o: memref<4xi32>, %n: memref<?xi64>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ragged = rows ins(%x : memref<?x?xbf16>) gather(%n : memref<?xi64>) offsets(%o : memref<4xi32>) outs(%e, %s, %e, %s : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [0] prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %b = arith.negf %a : bf16
    %c = arith.extf %a : bf16 to f32
    mx.yield %b, %c : bf16, f32
  }
  return
}

// A quantizer along columns alone visits vertically adjacent tiles in sequence.
// CHECK-LABEL: mxgpu.kernel @columns_quantize(
// CHECK-SAME:    %[[X:.*]]: !map, %[[Q:.*]]: !map1, %[[F:.*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[M:.*]]: index, %[[K:.*]]: index)
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 256, vector = 32, ctas = 4, raster = columns>) min_ctas(4) {
// CHECK:         %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] of(%[[M]], %[[K]], %c0)
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %row, %column, %{{.*}}, %{{.*}}) in %scheduler {
// CHECK-NEXT:        %in_stage, %x = mxgpu.producer_acquire %in :
// CHECK:             mxgpu.tma_load %[[X]][%row, %column] into %x box(%c0) for %in_stage
// CHECK:             %[[NEXT:.*]] = arith.addi %column, %c64
// CHECK:             mxgpu.tma_load %[[X]][%row, %[[NEXT]]] into %x box(%c1) for %in_stage
// CHECK-NEXT:        mxgpu.producer_commit %in_stage
// CHECK:         mxgpu.role @quantize_columns warps(8)
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %row, %column, %{{.*}}, %{{.*}}) in %scheduler {
// CHECK-NEXT:        %columns_stage, %[[COLUMNS:.*]], %columns_scales = mxgpu.producer_acquire %columns :
// CHECK-NEXT:        %in_stage, %x = mxgpu.consumer_wait %in :
// CHECK:             %[[IN:.*]] = mxgpu.load_shared %x at[%{{.*}}, %{{.*}}] : !smem -> vector<32x2xbf16>
// CHECK:             %[[E:.*]], %{{.*}} = mxgpu.quantize_columns %[[IN]] scale_rounding = ceil : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>
// CHECK-NEXT:        mxgpu.store_shared %[[E]], %[[COLUMNS]] at[%{{.*}}, %{{.*}}]
// CHECK:             mxgpu.store_scale %{{.*}}, %columns_scales at[%{{.*}}, %{{.*}}]
// CHECK:             mxgpu.store_scale %{{.*}}, %columns_scales
// CHECK-NEXT:        mxgpu.consumer_release %in_stage
// CHECK:             mxgpu.tma_store %[[COLUMNS]] to %[[Q]][%column, %row]
// CHECK:             mxgpu.bulk_store %columns_scales tile(0) to %[[F]][%{{.*}}, %{{.*}}]
// CHECK-NEXT:        mxgpu.producer_commit %columns_stage

// Quantizing along both axes reads a tile once. Each axis uses a separate role.
// CHECK-LABEL: mxgpu.kernel @both_quantize(
// CHECK:         mxgpu.role @quantize_rows warps(4)
// CHECK:             %rows_stage, %[[ROWS:.*]], %rows_scales = mxgpu.producer_acquire %rows :
// CHECK:               %[[X:.*]] = mxgpu.load_shared %x at[%[[R:.*]], %[[C:.*]]] : !smem -> vector<32xbf16>
// CHECK:               %[[E:.*]], %[[S:.*]] = mxgpu.quantize_block %[[X]] scale_rounding = even
// CHECK-NEXT:          mxgpu.store_shared %[[E]], %[[ROWS]] at[%[[R]], %[[C]]]
// CHECK:               mxgpu.store_scale %[[S]], %rows_scales at[%[[R]], %{{.*}}]
// CHECK:             mxgpu.consumer_release %in_stage
// CHECK:             mxgpu.tma_store %[[ROWS]] to %{{.*}}[%row, %column]
// CHECK:             mxgpu.bulk_store %rows_scales
// CHECK-NEXT:        mxgpu.producer_commit %rows_stage
// CHECK:         mxgpu.role @quantize_columns warps(4)
// CHECK:             mxgpu.quantize_columns %{{.*}} scale_rounding = even
// CHECK:             mxgpu.tma_store %{{.*}} to %{{.*}}[%column, %row]

// Ragged expert groups do not share row tiles. Threads store the last rows of an
// expert group, and pad the transposed result with zeros.
// CHECK-LABEL: mxgpu.kernel @ragged_quantize(
// CHECK-SAME:    %[[OFFSETS:[a-z0-9]+]]: memref<4xi32>)
// CHECK:         %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%[[OFFSETS]] : memref<4xi32>)
// CHECK:           mxgpu.tma_load %{{.*}}[%start, %column] into
// CHECK:         mxgpu.role @quantize_rows warps(4)
// CHECK:             %[[N:.*]] = arith.subi %end, %start
// CHECK:               mxgpu.load_shared %x at[%{{.*}}, %{{.*}}] rows(%[[N]])
// CHECK:             %[[WHOLE:.*]] = arith.cmpi sge, %[[N]], %c128
// CHECK:             %[[PART:.*]] = arith.cmpi slt, %[[N]], %c128
// CHECK:             mxgpu.tma_store %{{.*}} to %{{.*}}[%start, %column] when(%[[WHOLE]])
// CHECK:             mxgpu.store_rows %{{.*}} to %{{.*}}[%start, %column] rows(%[[N]]) when(%[[PART]])
// CHECK:             %[[TILE:.*]] = arith.addi %{{.*}}, %group
// CHECK:             mxgpu.bulk_store %rows_scales tile(0) to %{{.*}}[%[[TILE]], %{{.*}}]
// CHECK:         mxgpu.role @quantize_columns warps(4)
// CHECK:             %columns_stage, %[[COLUMNS:.*]], %columns_scales = mxgpu.producer_acquire %columns :
// CHECK:             %[[N:.*]] = arith.subi %end, %start
// CHECK:             %[[INPUT:.*]] = mxgpu.load_shared %x at[%{{.*}}, %{{.*}}] rows(%[[N]])
// CHECK:             %[[LEFT:.*]] = arith.subi %[[N]], %{{.*}}
// CHECK:             mxgpu.quantize_columns %[[INPUT]] rows(%[[LEFT]])
// CHECK:             mxgpu.tma_store %[[COLUMNS]] to %{{.*}}[%column, %row]

// CHECK-LABEL: mxgpu.kernel @expected_quantize(
// CHECK-SAME:    %[[LIMIT:[a-z0-9]+]]: index)
// CHECK:         mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%{{.*}}) limit(%[[LIMIT]])
// CHECK-LABEL: mxgpu.kernel @expected_quantize_rest(
// CHECK:         mxgpu.tile_scheduler single repeated raster = linear tile [128, 128] ragged(%{{.*}}) limit(

// A tile is divided into four parts. Rows are stored after each part. Columns and scales are stored
// once per tile, except for scale tiles out of bounds. CTAs take units from a counter.
// CHECK-LABEL: mxgpu.kernel @parts_quantize(
// CHECK-SAME:    %[[COUNTER:[a-z0-9]+]]: memref<1xi32>) quantize_schedule(<tile = [256, 256], threads = 256, vector = 32, stage_rows = 64, stages = 3, atomic_counter = true>)
// CHECK:         %scheduler = mxgpu.tile_scheduler atomic_counter(%numbers, %[[COUNTER]] :
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:           mxgpu.for_each_k (%k, %{{.*}}, %{{.*}}) from %c0 to %c256 step 64 {
// CHECK:             mxgpu.tma_load %{{.*}}[%{{.*}}, %column] into %x box(%c0) for %in_stage
// CHECK:           mxgpu.next_work_tile
// CHECK:         mxgpu.role @schedule warps(1) elected
// CHECK:         mxgpu.role @quantize_rows warps(4)
// CHECK:           mxgpu.for_each_k
// CHECK:             %slabs_stage, %[[ROWS:.*]] = mxgpu.producer_acquire %slabs :
// CHECK:             mxgpu.tma_store %[[ROWS]] box(0) to %{{.*}}[%[[R:.*]], %column]
// CHECK:             mxgpu.tma_store %[[ROWS]] box(8) to %{{.*}}[%[[R]], %{{.*}}]
// CHECK:             mxgpu.tma_store %[[ROWS]] box(15)
// CHECK-NEXT:        mxgpu.producer_commit %slabs_stage
// CHECK:           mxgpu.bulk_store %rows_scales tile(0) to %{{.*}}[%[[I:.*]], %[[J:.*]]] :
// CHECK:           mxgpu.bulk_store %rows_scales tile(3) to %{{.*}} when(%{{.*}})
// CHECK-NEXT:      mxgpu.producer_commit %rows_stage
// CHECK:         mxgpu.role @quantize_columns warps(4)
// CHECK:           mxgpu.for_each_k
// CHECK:           mxgpu.tma_store %{{.*}} box(0) to %{{.*}}[%column, %row]
// CHECK:           mxgpu.tma_store %{{.*}} box(63)
// CHECK:           mxgpu.bulk_store %columns_scales tile(3) to %{{.*}} when(%{{.*}})
// CHECK-NEXT:      mxgpu.producer_commit %columns_stage

// Instead of copies, the threads of the prologue fill the stages. They store their results to
// shared memory once for both axes, padded with zeros past the end of the tensor.
// CHECK-LABEL: mxgpu.kernel @swiglu_quantize(
// CHECK-SAME:    %[[GATE:[a-z0-9_]+]]: memref<?x?xbf16>, %[[UP:[a-z0-9_]+]]: memref<?x?xbf16>, %[[W:[a-z0-9_]+]]: memref<?xf32>,
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 256, vector = 32, stages = 2, atomic_counter = true>)
// CHECK:         mxgpu.tile_scheduler atomic_counter(
// CHECK:         mxgpu.role @produce warps(16) {
// CHECK:               mxgpu.load_block %[[GATE]][%{{.*}}, %[[C:.*]]] in_bounds : memref<?x?xbf16> -> vector<8xbf16>
// CHECK:               mxgpu.load_block %[[UP]][%{{.*}}, %[[C]]] in_bounds : memref<?x?xbf16> -> vector<8xbf16>
// CHECK:               memref.load %[[W]]
// CHECK:               %[[X:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<8xbf16>
// CHECK-NEXT:          mxgpu.store_shared %[[X]], %x at[%{{.*}}, %{{.*}}] : vector<8xbf16>
// CHECK:         mxgpu.role @schedule
// CHECK:         mxgpu.role @quantize_rows warps(4) {{.*}}{
// CHECK:               mxgpu.load_shared %x at[%{{.*}}, %{{.*}}] : {{.*}} -> vector<32xbf16>
// CHECK:         mxgpu.role @quantize_columns warps(4) {{.*}}{
// CHECK:               mxgpu.load_shared %x at[%{{.*}}, %{{.*}}] : {{.*}} -> vector<32x2xbf16>

// Bulk copies load both inputs of the prologue into stages, and all threads that quantize read
// these stages.
// CHECK-LABEL: mxgpu.kernel @copied_quantize(
// CHECK-SAME:    %[[GATE_MAP:[a-z0-9_]+]]: !map{{[0-9]*}}, %[[UP_MAP:[a-z0-9_]+]]: !map{{[0-9]*}},
// CHECK-SAME:    quantize_schedule(<tile = [256, 128], threads = 128, vector = 32, stage_rows = 64, stages = 2, atomic_counter = true, input_stages = 3>)
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:             %sources_stage, %input0, %input1 = mxgpu.producer_acquire %sources :
// CHECK:             mxgpu.tma_load %[[GATE_MAP]][%{{.*}}, %column] into %input0 box(%c0) for %sources_stage
// CHECK:             mxgpu.tma_load %[[UP_MAP]][%{{.*}}, %column] into %input1 box(%c0) for %sources_stage
// CHECK:         mxgpu.role @produce warps(8)
// CHECK:             %sources_stage, %input0, %input1 = mxgpu.consumer_wait %sources :
// CHECK-NEXT:        %in_stage, %x = mxgpu.producer_acquire %in :
// CHECK-NOT:         mxgpu.load_block
// CHECK:             mxgpu.load_shared %input0 at[%{{.*}}, %{{.*}}] : {{.*}} -> vector<8xbf16>
// CHECK:             mxgpu.load_shared %input1 at[%{{.*}}, %{{.*}}] : {{.*}} -> vector<8xbf16>
// CHECK:             mxgpu.consumer_release %sources_stage
// CHECK-NEXT:        mxgpu.producer_commit %in_stage

// The threads of one axis compute the largest magnitude of a tile. These threads update the result
// after they issue the stores of the tile.
// CHECK-LABEL: mxgpu.kernel @amax_quantize(
// CHECK-SAME:    %[[RESULT:[a-z0-9]+]]: memref<f32>)
// CHECK:         mxgpu.role @quantize_rows
// CHECK:             %[[KNOWN:.*]] = mxgpu.load_relaxed %[[RESULT]]
// CHECK-NEXT:        %in_stage, %x = mxgpu.consumer_wait %in :
// CHECK:             %[[LARGEST:.*]] = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (f32) {
// CHECK:               %[[BLOCK:.*]] = mxgpu.load_shared
// CHECK:               %[[NEXT:.*]] = mxgpu.thread_amax %[[BLOCK]] : vector<32xbf16>
// CHECK:               %[[MAX:.*]] = arith.maximumf %[[SO_FAR]], %[[NEXT]] : f32
// CHECK-NEXT:          scf.yield %[[MAX]]
// CHECK-NOT:         mxgpu.atomic_max
// CHECK:             mxgpu.producer_commit %rows_stage
// CHECK:             mxgpu.atomic_max %[[LARGEST]] above %[[KNOWN]] into %[[RESULT]] : memref<f32>
// CHECK:         mxgpu.role @quantize_columns
// CHECK-NOT:         magnitude
// CHECK:             mxgpu.producer_commit

// If tiles are divided into parts, the maximum is computed for each part.
// CHECK-LABEL: mxgpu.kernel @amax_parts_quantize(
// CHECK:         mxgpu.role @quantize_rows
// CHECK:             mxgpu.for_each_k
// CHECK:               mxgpu.load_relaxed
// CHECK:               mxgpu.producer_commit %slabs_stage
// CHECK:               mxgpu.atomic_max

// Lanes share the maximum of a square block. Both orientations use the same
// random number for an element.
// CHECK-LABEL: mxgpu.kernel @squares_quantize(
// CHECK-SAME:    %[[M:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index, %[[SEED:[a-z0-9_]+]]: i64)
// CHECK:         mxgpu.role @quantize_rows
// CHECK:               %[[ROW:.*]] = arith.addi %row, %{{.*}} : index
// CHECK:               %[[COLUMN:.*]] = arith.addi %column, %{{.*}} : index
// CHECK:               %[[LINE:.*]] = arith.muli %[[ROW]], %[[K]] : index
// CHECK:               %[[NUMBER:.*]] = arith.addi %[[LINE]], %[[COLUMN]] : index
// CHECK:               mxgpu.quantize_block %{{.*}} seed(%[[SEED]] at %[[NUMBER]]) scale_rounding = ceil lanes(32)
// CHECK:         mxgpu.role @quantize_columns
// CHECK:               mxgpu.quantize_columns %{{.*}} seed(%[[SEED]] at %{{.*}} by %[[K]]) scale_rounding = ceil lanes(16)

// With several values, each value is stored in a separate field. Gathered
// rows out of bounds are filled with zeros.
// CHECK-LABEL: mxgpu.kernel @gradients_quantize(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: memref<?x?xbf16>, %[[N:[a-z0-9_]+]]: memref<?xi64>,
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 128, vector = 32, raster = columns>)
// CHECK:         %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(
// CHECK:         mxgpu.role @produce warps(8) {
// CHECK:               memref.load %[[N]]
// CHECK:               mxgpu.load_block %[[X]][%{{.*}},
// CHECK:               mxgpu.store_shared %{{.*}}, %x0 at[%{{.*}}, %{{.*}}] : vector<8xbf16>
// CHECK:               mxgpu.store_shared %{{.*}}, %x1 at[%{{.*}}, %{{.*}}] : vector<8xf32>
// CHECK:         mxgpu.role @quantize_columns warps(4) {{.*}}{
// CHECK:             mxgpu.load_shared %x0 at[%{{.*}}, %{{.*}}] rows(%{{.*}}) : {{.*}} -> vector<32x2xbf16>
// CHECK:             mxgpu.load_shared %x1 at[%{{.*}}, %{{.*}}] rows(%{{.*}}) : {{.*}} -> vector<32x1xf32>
// CHECK:             mxgpu.tma_store %columns0
// CHECK:             mxgpu.tma_store %columns1
