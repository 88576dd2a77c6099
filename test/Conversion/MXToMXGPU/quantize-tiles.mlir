// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-allocate | FileCheck %s

// Quantizers along columns go through shared memory: one thread loads a tile,
// the others read it in fragments, and bulk copies store what they leave.

// CHECK-DAG: !map = !mxgpu.tensor_map<128x64xbf16, sw128>
// CHECK-DAG: !tma_ring = !mxgpu.ring<1 x (x: smem<2x128x64xbf16, sw128>), producer = tma, consumer = threads(256)>
// CHECK-DAG: !threads_ring = !mxgpu.ring<1 x (columns: smem<128x128xf8E4M3FN, sw128>, columns_scales: smem<512xf8E8M0FNU>), producer = threads(256), consumer = tma_store>

// CHECK-LABEL: func.func @columns(
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of the input to be a multiple of 8, found %lld; the nearest are %lld and %lld"
// CHECK:         %[[X:.*]] = mxgpu.encode_tensor_map %arg0 : memref<?x?xbf16> -> !map
// CHECK:         %[[Q:.*]] = mxgpu.encode_tensor_map %arg1 : memref<?x?xf8E4M3FN> -> !map1
// CHECK:         mxgpu.launch @kernels::@columns_quantize grid(%{{.*}}) args(%[[X]], %[[Q]], %arg2, %[[K:.*]], %[[M:.*]] : !map, !map1, memref<?x?x32x4x4xf8E8M0FNU>, index, index)
func.func @columns(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<?x?xbf16>) outs(%e, %s : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [0]
  return
}

// CHECK-LABEL: func.func @both(
func.func @both(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %et: memref<?x?xf8E4M3FN>, %st: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %et, %st : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0] scale_rounding = even
  return
}

// Along columns only, units are counted along the output: its rows are the
// input's columns.
// CHECK-LABEL: mxgpu.kernel @columns_quantize(
// CHECK-SAME:    %[[X:.*]]: !map, %[[Q:.*]]: !map1, %[[F:.*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[K:.*]]: index, %[[M:.*]]: index)
// CHECK-SAME:    smem(50688)
// CHECK:         %work = mxgpu.work_source static raster = linear tile [128, 128] of(%[[K]], %[[M]], %c0)
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK:           mxgpu.for_each_work (%{{.*}}, %row, %column, %{{.*}}, %{{.*}}) in %work {
// CHECK-NEXT:        %in_slot = mxgpu.acquire %in
// CHECK-NEXT:        mxgpu.tma_load %[[X]][%column, %row] into %in_slot["x"] part(%c0)
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addi %row, %c64
// CHECK-NEXT:        mxgpu.tma_load %[[X]][%column, %[[NEXT]]] into %in_slot["x"] part(%c1)
// CHECK-NEXT:        mxgpu.publish %in_slot
// CHECK:         mxgpu.role @quantize warps(8)
// CHECK-NEXT:      mxgpu.for_each_work (%{{.*}}, %row, %column, %{{.*}}, %{{.*}}) in %work {
// CHECK-NEXT:        %out_slot = mxgpu.acquire %out
// CHECK-NEXT:        %in_slot = mxgpu.consume %in
// CHECK-NEXT:        %thread = mxgpu.thread_id
// CHECK-NEXT:        %[[PAIR:.*]] = arith.remui %thread, %c64
// CHECK-NEXT:        %[[C:.*]] = arith.muli %[[PAIR]], %c2
// CHECK-NEXT:        %[[B:.*]] = arith.divui %thread, %c64
// CHECK-NEXT:        %[[R:.*]] = arith.muli %[[B]], %c32
// CHECK-NEXT:        %x = mxgpu.load_shared %in_slot["x"] at[%[[R]], %[[C]]] : !tma_slot -> vector<32x2xbf16>
// CHECK-NEXT:        %[[E:.*]], %[[S:.*]] = mxgpu.quantize_columns %x scale_rounding = ceil : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>
// CHECK-NEXT:        mxgpu.store_shared %[[E]], %out_slot["columns"] at[%[[C]], %[[R]]]
// CHECK-NEXT:        %[[S0:.*]] = vector.extract %[[S]][0]
// CHECK-NEXT:        mxgpu.store_scale %[[S0]], %out_slot["columns_scales"] at[%[[C]], %[[B]]]
// CHECK:             mxgpu.store_scale %{{.*}}, %out_slot["columns_scales"]
// CHECK-NEXT:        mxgpu.release %in_slot
// CHECK-NEXT:        mxgpu.tma_store %out_slot["columns"] to %[[Q]][%row, %column]
// CHECK-NEXT:        %[[I:.*]] = arith.divui %row, %c128
// CHECK-NEXT:        %[[J:.*]] = arith.divui %column, %c128
// CHECK-NEXT:        mxgpu.bulk_store %out_slot["columns_scales"] to %[[F]][%[[I]], %[[J]]]
// CHECK-NEXT:        mxgpu.publish %out_slot

// A tile that is read once gives both.
// CHECK-LABEL: mxgpu.kernel @both_quantize(
// CHECK-SAME:    smem(68096)
// CHECK:         mxgpu.role @quantize warps(8)
// CHECK:             scf.for %{{.*}} = %c0 to %c2 step %c1 {
// CHECK:               %[[X:.*]] = mxgpu.load_shared %in_slot["x"] at[%[[R:.*]], %[[C:.*]]] : !tma_slot -> vector<32xbf16>
// CHECK-NEXT:          %[[E:.*]], %[[S:.*]] = mxgpu.quantize_block %[[X]] scale_rounding = even
// CHECK-NEXT:          mxgpu.store_shared %[[E]], %out_slot["rows"] at[%[[R]], %[[C]]]
// CHECK-NEXT:          mxgpu.store_scale %[[S]], %out_slot["rows_scales"] at[%[[R]], %{{.*}}]
// CHECK:             mxgpu.quantize_columns %{{.*}} scale_rounding = even
// CHECK:             mxgpu.release %in_slot
// CHECK-NEXT:        mxgpu.tma_store %out_slot["rows"] to %{{.*}}[%row, %column]
// CHECK:             mxgpu.bulk_store %out_slot["rows_scales"]
// CHECK-NEXT:        mxgpu.tma_store %out_slot["columns"] to %{{.*}}[%column, %row]
// CHECK-NEXT:        mxgpu.bulk_store %out_slot["columns_scales"]
// CHECK-NEXT:        mxgpu.publish %out_slot
