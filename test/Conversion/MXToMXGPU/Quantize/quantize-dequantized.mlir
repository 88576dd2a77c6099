// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// Elements that are dequantized immediately stay in registers.

// CHECK-LABEL: func.func @numbers(
// CHECK-SAME:    %[[X:.*]]: memref<256x64xbf16>)
// CHECK:         %[[Y:.*]] = memref.alloc() : memref<256x64xbf16>
// CHECK:         mxgpu.launch @kernels::@numbers_quantize_dequantize grid(%{{.*}}) args(%[[X]], %[[Y]] :
// CHECK-NOT:     mxgpu.launch @
// CHECK-LABEL: mxgpu.kernel @numbers_quantize_dequantize(
// CHECK:         %[[Q:.*]], %[[S:.*]] = mxgpu.quantize_block
// CHECK:         %[[N:.*]] = mxgpu.dequantize_block %[[Q]] by %[[S]] : vector<16xf8E4M3FN>, f8E8M0FNU -> vector<16xbf16>
// CHECK:         mxgpu.store_block %[[N]]
// CHECK-NOT:     mxgpu.store_scales
func.func @numbers(%x: memref<256x64xbf16>) -> memref<256x64xbf16> {
  %y = memref.alloc() : memref<256x64xbf16>
  mx.fused_quantize ins(%x : memref<256x64xbf16>) outs(%y : memref<256x64xbf16>) dequantized = [f8E4M3FN]
  return %y : memref<256x64xbf16>
}

// -----

// If no scales are stored, expert groups of rows need no special handling.

// CHECK-LABEL: func.func @numbers_of_groups(
// CHECK:         mxgpu.launch @kernels::@numbers_of_groups_quantize_dequantize
// CHECK-NOT:     mxgpu.launch @
func.func @numbers_of_groups(%x: memref<256x64xbf16>, %o: memref<2xi32>, %y: memref<256x64xbf16>) {
  mx.fused_quantize ragged = rows ins(%x : memref<256x64xbf16>) offsets(%o : memref<2xi32>) outs(%y : memref<256x64xbf16>) dequantized = [f8E4M3FN]
  return
}

// -----

// With both axes, threads write values to shared memory in 128-byte panels.

// CHECK-DAG: [[$ROWS:!map[0-9]*]] = !mxgpu.tensor_map<8x64xbf16, sw128>
// CHECK-DAG: [[$COLUMNS:!map[0-9]*]] = !mxgpu.tensor_map<8x64xf16, sw128>
// CHECK-DAG: [[$OF_ROWS:!threads_ring[0-9]*]] = !mxgpu.ring<1 x (rows: smem<2x128x64xbf16, sw128>),
// CHECK-DAG: [[$OF_COLUMNS:!threads_ring[0-9]*]] = !mxgpu.ring<1 x (columns: smem<2x128x64xf16, sw128>),
// CHECK-LABEL: func.func @numbers_of_both(
// CHECK:         %[[Y:.*]] = memref.alloc() : memref<256x128xbf16>
// CHECK:         %[[Z:.*]] = memref.alloc() : memref<128x256xf16>
// CHECK:         %[[ROWS:.*]] = mxgpu.encode_tensor_map %[[Y]] : memref<256x128xbf16> -> [[$ROWS]]
// CHECK:         %[[COLUMNS:.*]] = mxgpu.encode_tensor_map %[[Z]] : memref<128x256xf16> -> [[$COLUMNS]]
// CHECK:         mxgpu.launch @kernels::@numbers_of_both_quantize_dequantize grid(%{{.*}}) args(%{{.*}}, %[[ROWS]], %[[COLUMNS]], %c256, %c128 :
// CHECK-NOT:     mxgpu.launch @
// CHECK-LABEL: mxgpu.kernel @numbers_of_both_quantize_dequantize(
// CHECK:         mxgpu.ring "rows" : [[$OF_ROWS]]
// CHECK:         mxgpu.ring "columns" : [[$OF_COLUMNS]]
// CHECK:         mxgpu.quantize_block
// CHECK:         %[[N:.*]] = mxgpu.dequantize_block {{.*}} -> vector<32xbf16>
// CHECK-NEXT:    mxgpu.store_shared %[[N]],
// CHECK-NOT:     mxgpu.store_scale
// CHECK:         mxgpu.quantize_columns
// CHECK:         %[[C:.*]] = mxgpu.dequantize_block {{.*}} : vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU> -> vector<2x32xf16>
// CHECK:         mxgpu.store_shared %[[C]],
// CHECK-NOT:     mxgpu.store_scale
func.func @numbers_of_both(%x: memref<256x128xbf16>) -> (memref<256x128xbf16>, memref<128x256xf16>) {
  %y = memref.alloc() : memref<256x128xbf16>
  %z = memref.alloc() : memref<128x256xf16>
  mx.fused_quantize ins(%x : memref<256x128xbf16>) outs(%y, %z : memref<256x128xbf16>, memref<128x256xf16>) axes = [1, 0] dequantized = [f8E4M3FN, f8E4M3FN]
  return %y, %z : memref<256x128xbf16>, memref<128x256xf16>
}

// -----

// One axis returns values, and the other axis returns elements and scales. Threads write the last
// rows of a ragged group from both panels.

// CHECK-DAG: [[$OF_ROWS:!threads_ring[0-9]*]] = !mxgpu.ring<1 x (rows: smem<2x128x64xbf16, sw128>),
// CHECK-DAG: [[$OF_COLUMNS:!threads_ring[0-9]*]] = !mxgpu.ring<1 x (columns: smem<128x128xf8E4M3FN, sw128>, columns_scales: smem<1x1x512xf8E8M0FNU>),
// CHECK-LABEL: func.func @numbers_of_rows(
// CHECK:         mxgpu.launch @kernels::@numbers_of_rows_quantize_dequantize
// CHECK-NOT:     mxgpu.launch @
// CHECK-LABEL: mxgpu.kernel @numbers_of_rows_quantize_dequantize(
// CHECK:         mxgpu.ring "rows" : [[$OF_ROWS]]
// CHECK:         mxgpu.ring "columns" : [[$OF_COLUMNS]]
// CHECK:         mxgpu.store_rows %{{.*}}, memref<256x128xbf16>
func.func @numbers_of_rows(%x: memref<256x128xbf16>, %o: memref<2xi32>, %y: memref<256x128xbf16>) -> (memref<128x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>) {
  %r = memref.alloc() : memref<128x512xf8E4M3FN>
  %t = memref.alloc() : memref<1x4x32x4x4xf8E8M0FNU>
  mx.fused_quantize ragged = rows ins(%x : memref<256x128xbf16>) offsets(%o : memref<2xi32>) outs(%y, %r, %t : memref<256x128xbf16>, memref<128x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>) axes = [1, 0] dequantized = [f8E4M3FN, none]
  return %r, %t : memref<128x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>
}

// -----

// With NVFP4, each axis has a decode factor, in addition to the factor of the quantizer.

// CHECK-LABEL: func.func @numbers_of_nvfp4(
// CHECK-SAME:    %[[X:.*]]: memref<256x64xbf16>, %[[E:.*]]: f32, %[[D:.*]]: f32, %[[Y:.*]]: memref<256x64xbf16>)
// CHECK:         mxgpu.launch @kernels::@numbers_of_nvfp4_quantize_dequantize grid(%{{.*}}) args(%[[X]], %[[Y]], %[[D]], %[[E]] :
// CHECK-LABEL: mxgpu.kernel @numbers_of_nvfp4_quantize_dequantize(
// CHECK-SAME:    %{{[^:]*}}: memref<256x64xbf16>, %{{[^:]*}}: memref<256x64xbf16>, %[[D:[a-z_0-9]*]]: f32, %{{[^:]*}}: f32)
// CHECK:         mxgpu.dequantize_block %{{.*}} by %{{.*}} decode(%[[D]])
func.func @numbers_of_nvfp4(%x: memref<256x64xbf16>, %e: f32, %d: f32, %y: memref<256x64xbf16>) {
  mx.fused_quantize ins(%x : memref<256x64xbf16>) global_scale(%e) decode_factors(%d) outs(%y : memref<256x64xbf16>) block_size = 16 dequantized = [f4E2M1FN]
  return
}
