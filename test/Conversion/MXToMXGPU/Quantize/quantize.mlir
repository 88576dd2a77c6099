// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// A quantizer along rows uses no rings. Each of the 64 threads processes 8 elements, and all
// threads process 4 rows at a time, so 16 lanes share a row and 4 lanes share a block. All loads
// precede the first quantization.

// CHECK-LABEL: func.func @quantize(
// CHECK:         "expected dimension 1 of input to be a multiple of 32, found %lld; the nearest are %lld and %lld"
// CHECK:         "expected dimension 0 of elements to be %lld, found %lld"
// CHECK:         "expected dimension 1 of elements to be %lld, found %lld"
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         %[[GRID:.*]] = arith.muli
// CHECK:         mxgpu.launch @kernels::@quantize_quantize grid(%[[GRID]])

// CHECK-LABEL: mxgpu.kernel @quantize_quantize(
// CHECK-SAME:    %[[X:[a-z_]*]]: memref<?x?xf16>, %[[E:[a-z_]*]]: memref<?x?xf8E5M2>, %[[S:[a-z_]*]]: memref<?x?x32x4x4xf8E8M0FNU>)
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 64, vector = 8>) min_ctas(1) {
// CHECK-NOT:     mxgpu.ring
// CHECK:         %[[ROWS:.*]] = memref.dim %[[X]]
// CHECK:         memref.dim %[[X]]
// CHECK:         mxgpu.role @quantize warps(2) {
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in
// CHECK:             %[[B0:.*]] = mxgpu.load_block %[[X]][%[[ROW:.*]], %[[COLUMN:.*]]] : memref<?x?xf16> -> vector<8xf16>
// CHECK:             mxgpu.load_block %[[X]][%{{.*}}, %[[COLUMN]]]
// CHECK-COUNT-30:    mxgpu.load_block
// CHECK-NOT:         mxgpu.load_block
// CHECK:             %[[E0:.*]], %[[S0:.*]] = mxgpu.quantize_block %[[B0]] scale_rounding = even lanes(4) : vector<8xf16> -> vector<8xf8E5M2>, f8E8M0FNU
// CHECK:             mxgpu.store_block %[[E0]], %[[E]][%[[ROW]], %[[COLUMN]]]
// CHECK:             mxgpu.store_scales %[[S0]] into %[[S]][%[[ROW]], %{{.*}}] of(%[[ROWS]], %{{.*}}) lanes(4)
// CHECK-COUNT-31:    mxgpu.quantize_block
// CHECK-NOT:         magnitude
func.func @quantize(%x: memref<?x?xf16>, %e: memref<?x?xf8E5M2>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xf16>) outs(%e, %s : memref<?x?xf8E5M2>, memref<?x?x32x4x4xf8E8M0FNU>) scale_rounding = even
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 64, vector = 8>}
  return
}

// -----

// NVFP4 elements are written as bytes. The tensor's factor is an argument and must be
// positive. An operation without a schedule gets the default schedule.

// CHECK-LABEL: func.func @nvfp4(
// CHECK-SAME:    %{{.*}}: memref<?x?xbf16>, %[[E:.*]]: memref<?x?xf4E2M1FN>, %[[S:.*]]: memref<?x?xf8E4M3FN>, %[[G:.*]]: f32)
// CHECK:         "expected dimension 1 of input to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         %[[BYTES:.*]] = builtin.unrealized_conversion_cast %[[E]] : memref<?x?xf4E2M1FN> to memref<?x?xi8>
// CHECK:         "expected a finite global_scale greater than 0, found the bits %lld"
// CHECK:         mxgpu.launch @kernels::@nvfp4_quantize grid(%{{.*}}) args(%{{.*}}, %[[BYTES]], %[[S]], %[[G]] :

// CHECK-LABEL: mxgpu.kernel @nvfp4_quantize(
// CHECK-SAME:    %[[E:[a-z_]*]]: memref<?x?xi8>, %[[S:[a-z_]*]]: memref<?x?xf8E4M3FN>, %[[G:[a-z_0-9]*]]: f32)
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 256, ctas = 4>) min_ctas(4) {
// CHECK:         mxgpu.quantize_block %{{.*}} encode(%[[G]]) scale_rounding = ceil : vector<16xbf16> -> vector<16xf4E2M1FN>, f8E4M3FN
// CHECK:         mxgpu.store_block %{{.*}}, %[[E]][%{{.*}}, %{{.*}}] : vector<16xf4E2M1FN>, memref<?x?xi8>
func.func @nvfp4(%x: memref<?x?xbf16>, %e: memref<?x?xf4E2M1FN>, %s: memref<?x?xf8E4M3FN>, %g: f32) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) global_scale(%g) outs(%e, %s : memref<?x?xf4E2M1FN>, memref<?x?xf8E4M3FN>) block_size = 16
  return
}

// -----

// Each thread keeps the largest magnitude in a register and updates the result once per tile. With
// NVFP4, this maximum is separate from the maxima of the blocks.

// CHECK-LABEL: func.func @quantize_and_amax(
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         gpu.memset %[[M:.*]], %[[ZERO]] : memref<f32>, f32
// CHECK:         mxgpu.launch @kernels::@quantize_and_amax_quantize grid(%{{.*}}) args(%{{.*}}, %{{.*}}, %{{.*}}, %[[M]] :
// CHECK-LABEL: mxgpu.kernel @quantize_and_amax_quantize(
// CHECK-SAME:    %[[RESULT:[a-z0-9]+]]: memref<f32>)
// CHECK:         %[[KNOWN:.*]] = mxgpu.load_relaxed %[[RESULT]]
// CHECK:         %[[A:.*]] = mxgpu.load_block
// CHECK:         %[[B:.*]] = mxgpu.load_block
// CHECK:         %[[OF_A:.*]] = mxgpu.thread_amax %[[A]] : vector<16xbf16>
// CHECK:         mxgpu.quantize_block %[[A]]
// CHECK:         %[[OF_B:.*]] = mxgpu.thread_amax %[[B]] : vector<16xbf16>
// CHECK:         %[[LARGEST:.*]] = arith.maximumf %[[OF_A]], %[[OF_B]] : f32
// CHECK:         mxgpu.quantize_block %[[B]]
// CHECK:         mxgpu.atomic_max %[[LARGEST]] above %[[KNOWN]] into %[[RESULT]] : memref<f32>
func.func @quantize_and_amax(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %m: memref<f32>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %m : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>, memref<f32>) amax
  return
}

// CHECK-LABEL: mxgpu.kernel @nvfp4_and_amax_quantize(
// CHECK:         mxgpu.thread_amax %{{.*}} as_integers : vector<16xbf16>
func.func @nvfp4_and_amax(%x: memref<?x?xbf16>, %g: f32, %e: memref<?x?xf4E2M1FN>, %s: memref<?x?xf8E4M3FN>, %m: memref<f32>) {
  mx.fused_quantize ins(%x : memref<?x?xbf16>) global_scale(%g) outs(%e, %s, %m : memref<?x?xf4E2M1FN>, memref<?x?xf8E4M3FN>, memref<f32>) block_size = 16 amax
  return
}

// -----

// A prologue is inlined after its inputs, or gathered rows of its inputs, are loaded. Elements out
// of bounds are 0 after the prologue.

// CHECK:         "expected dimension 0 of input to be %lld, found %lld"
// CHECK-LABEL: mxgpu.kernel @prologue_quantize(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x256xbf16>, %[[Y:[^:]*]]: memref<?x256xf32>, %[[N:[^:]*]]: memref<?xi32>, %[[W:[^:]*]]: memref<?xf32>,
// CHECK-SAME:    %[[E:[^:]*]]: memref<?x256xf8E4M3FN>, %[[S:[^:]*]]: memref<?x8xf8E8M0FNU>)
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 512>) min_ctas(1) {
// CHECK:         %[[ROWS:.*]] = memref.dim %[[N]]
// CHECK:         mxgpu.role @quantize
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             %[[ROW:.*]] = arith.minui
// CHECK:             %[[NUMBER:.*]] = memref.load %[[N]][%[[ROW]]]
// CHECK:             %[[FROM:.*]] = arith.index_cast %[[NUMBER]] : i32 to index
// CHECK:             mxgpu.load_block %[[X]][%[[FROM]], %[[COLUMN:.*]]] : memref<?x256xbf16> -> vector<16xbf16>
// CHECK:             mxgpu.load_block %[[Y]][%[[FROM]], %[[COLUMN]]] : memref<?x256xf32> -> vector<16xf32>
// CHECK:             memref.load %[[W]][%[[ROW]]]
// CHECK:             %[[V:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:             arith.cmpi ult, %[[FROM]]
// CHECK:             %[[H:.*]] = arith.select %{{.*}}, %[[V]], %{{.*}} : vector<16xf32>
// CHECK:             mxgpu.quantize_block %[[H]]
func.func @prologue(%x: memref<?x256xbf16>, %y: memref<?x256xf32>, %n: memref<?xi32>, %w: memref<?xf32>,
                    %e: memref<?x256xf8E4M3FN>, %s: memref<?x8xf8E8M0FNU>) {
  mx.fused_quantize ins(%x, %y : memref<?x256xbf16>, memref<?x256xf32>) gather(%n : memref<?xi32>)
      outs(%e, %s : memref<?x256xf8E4M3FN>, memref<?x8xf8E8M0FNU>)
      prologue {
      ^bb0(%a: bf16, %b: f32, %row: index, %col: index):
        %weight = memref.load %w[%row] : memref<?xf32>
        %c = arith.truncf %b : f32 to bf16
        %d = arith.addf %a, %c : bf16
        %wide = arith.extf %d : bf16 to f32
        %v = arith.addf %wide, %weight : f32
        mx.yield %v : f32
      }
  return
}

// -----

// The elements and scales of a quantized input are loaded before the first use.

// CHECK-LABEL: func.func @requantize(
// CHECK:         "expected dimension 0 of input_scales to be %lld, found %lld"
// CHECK-LABEL: mxgpu.kernel @requantize_quantize(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x?xi8>, %[[S:[^:]*]]: memref<?x?xf8E4M3FN>, %[[Y:[^:]*]]: memref<?x?xbf16>,
// CHECK:         %[[BYTES:.*]] = memref.dim %[[X]], %c1
// CHECK:         arith.muli %[[BYTES]], %c2
// CHECK:         mxgpu.for_each_work_tile
// CHECK:           %[[Q:.*]] = mxgpu.load_block %[[X]][%[[ROW:.*]], %[[COLUMN:.*]]] in_bounds : memref<?x?xi8> -> vector<16xf4E2M1FN>
// CHECK:           %[[F:.*]] = mxgpu.load_scale %[[S]][%[[ROW]], %{{.*}}] : memref<?x?xf8E4M3FN> -> f8E4M3FN
// CHECK:           %[[B:.*]] = mxgpu.load_block %[[Y]][%[[ROW]], %[[COLUMN]]] in_bounds : memref<?x?xbf16> -> vector<16xbf16>
// CHECK:           mxgpu.load_block %[[X]]
// CHECK:           %[[A:.*]] = mxgpu.dequantize_block %[[Q]] by %[[F]] : vector<16xf4E2M1FN>, f8E4M3FN -> vector<16xbf16>
// CHECK:           arith.mulf %[[A]], %[[B]] : vector<16xbf16>
// CHECK-NOT:       mxgpu.load_
func.func @requantize(%x: memref<?x?xf4E2M1FN>, %s: memref<?x?xf8E4M3FN>, %y: memref<?x?xbf16>,
                      %e: memref<?x?xf8E4M3FN>, %f: memref<?x?xf8E8M0FNU>) {
  mx.fused_quantize ins(%x, %y : memref<?x?xf4E2M1FN>, memref<?x?xbf16>) input_scales(%s : memref<?x?xf8E4M3FN>)
      outs(%e, %f : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>) prologue {
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        %c = arith.mulf %a, %b : bf16
        mx.yield %c : bf16
      }
  return
}

// -----

// Rows of a forwarded input are copied to the result through registers.

// CHECK-LABEL: mxgpu.kernel @pass_rows_quantize(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x?xf8E4M3FN>, %[[S:[^:]*]]: memref<?x?xf8E8M0FNU>, %[[E:[^:]*]]: memref<?x?xf8E4M3FN>, %[[F:[^:]*]]: memref<?x?xf8E8M0FNU>
// CHECK:         %[[Q:.*]] = mxgpu.load_block %[[X]][%[[ROW:.*]], %[[COLUMN:.*]]] : memref<?x?xf8E4M3FN> -> vector<16xf8E4M3FN>
// CHECK:         %[[G:.*]] = mxgpu.load_scale %[[S]][%[[ROW]], %{{.*}}] : memref<?x?xf8E8M0FNU> -> f8E8M0FNU
// CHECK-NOT:     mxgpu.{{(de)?}}quantize_block
// CHECK:         mxgpu.store_block %[[Q]], %[[E]][%[[ROW]], %[[COLUMN]]]
// CHECK:         mxgpu.store_scales %[[G]] into %[[F]][%[[ROW]], %{{.*}}]
// CHECK-NOT:     mxgpu.{{(de)?}}quantize_block
func.func @pass_rows(%x: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %e: memref<?x?xf8E4M3FN>, %f: memref<?x?xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<?x?xf8E4M3FN>) input_scales(%s : memref<?x?xf8E8M0FNU>)
      outs(%e, %f : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>)
  return
}

// -----

// The threads of role @produce compute the values for the columns. The role for the rows does
// not wait for these threads.

// CHECK-LABEL: mxgpu.kernel @pass_both_quantize(
// CHECK:         %[[RING:.*]] = mxgpu.ring "in"
// CHECK:         mxgpu.role @produce
// CHECK:           mxgpu.dequantize_block %{{.*}} : vector<8xf8E4M3FN>, f8E8M0FNU -> vector<8xbf16>
// CHECK:         mxgpu.role @quantize_rows
// CHECK-NOT:       mxgpu.consumer_wait
// CHECK:           %[[Q:.*]] = mxgpu.load_block %{{.*}} -> vector<32xf8E4M3FN>
// CHECK:           %[[G:.*]] = mxgpu.load_scale
// CHECK-COUNT-3:   mxgpu.load_block
// CHECK-NOT:       quantize_block
// CHECK:           mxgpu.store_shared %[[Q]], %{{.*}} at
// CHECK:           mxgpu.store_scale %[[G]],
// CHECK:         mxgpu.role @quantize_columns
// CHECK:           mxgpu.consumer_wait %[[RING]]
func.func @pass_both(%x: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %i: memref<?xi32>, %o: memref<4xi32>,
                     %e: memref<?x?xf8E4M3FN>, %f: memref<?x?x32x4x4xf8E8M0FNU>,
                     %g: memref<?x?xf8E4M3FN>, %h: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ragged = rows ins(%x : memref<?x?xf8E4M3FN>) input_scales(%s : memref<?x?xf8E8M0FNU>)
      gather(%i : memref<?xi32>) offsets(%o : memref<4xi32>)
      outs(%e, %f, %g, %h : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>,
                            memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0]
  return
}

// -----

// A quantizer that only forwards rows computes no values.

// CHECK-LABEL: mxgpu.kernel @pass_groups_quantize(
// CHECK-NOT:     mxgpu.ring "in"
// CHECK-NOT:     mxgpu.role @produce
// CHECK-NOT:     quantize_block
func.func @pass_groups(%x: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %o: memref<4xi32>,
                       %e: memref<?x?xf8E4M3FN>, %f: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.fused_quantize ragged = rows ins(%x : memref<?x?xf8E4M3FN>) input_scales(%s : memref<?x?xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%e, %f : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>)
  return
}
