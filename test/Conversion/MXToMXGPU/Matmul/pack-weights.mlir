// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu="chip=sm_90a" --canonicalize --cse | FileCheck %s

// A kernel packs all matrices of a batch. Each warpgroup packs a tile, and each thread packs pairs
// of elements from two rows of the fragment. A row past the end of its matrix is replaced by a row
// past the end of the tensor.

// CHECK-LABEL: func.func @pack(
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : memref<4x100x96xf4E2M1FN> into memref<400x96xf4E2M1FN>
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1, 2, 3], [4]] : memref<4x2x2x128x32xf4E2M1FN> into memref<2048x32xf4E2M1FN>
// CHECK:         mxgpu.launch @kernels::@pack_pack_weights grid(%c16)
// CHECK-LABEL:   mxgpu.kernel @pack_pack_weights(
// CHECK-SAME:        %[[W:.*]]: memref<400x48xi8>, %[[P:.*]]: memref<2048x16xi8>, %[[ROWS:.*]]: index)
// CHECK-DAG:       %[[NONE:.*]] = arith.constant 400 : index
// CHECK:           mxgpu.tile_scheduler static raster = linear tile [64, 32]
// CHECK:           mxgpu.role @pack warps(4)
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[ROWS]]
// CHECK:             %[[PLACE:.*]] = arith.select %[[EXISTS]], %{{.*}}, %[[NONE]]
// CHECK-COUNT-16:    mxgpu.load_block %[[W]]
// CHECK-NOT:         mxgpu.load_block
// CHECK:             mxgpu.store_block %{{.*}}, %[[P]][%{{.*}}, %{{.*}}] : vector<16xi8>
func.func @pack(%w: memref<4x100x96xf4E2M1FN>, %p: memref<4x2x2x128x32xf4E2M1FN>) {
  mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : memref<4x100x96xf4E2M1FN>) outs(%p : memref<4x2x2x128x32xf4E2M1FN>)
  return
}

// -----

// Packs 8-bit elements of a matrix with dynamic sizes.

// CHECK-LABEL: func.func @dynamic(
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of input to be a multiple of 4, found %lld; the nearest are %lld and %lld"
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 0 of outs to be %lld, found %lld"
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of outs to be %lld, found %lld"
// CHECK-LABEL:   mxgpu.kernel @dynamic_pack_weights(
// CHECK-COUNT-32:    mxgpu.load_block %{{.*}} -> vector<4xf8E5M2>
// CHECK:             mxgpu.store_block %{{.*}} : vector<32xf8E5M2>
func.func @dynamic(%w: memref<?x?xf8E5M2>, %p: memref<?x?x128x32xf8E5M2>) {
  mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : memref<?x?xf8E5M2>) outs(%p : memref<?x?x128x32xf8E5M2>)
  return
}

// -----

// Matmuls load packed weights in 256-byte lines. Each 64 x 64 tile has 8 lines, and a copy loads
// all tiles along the rows. A thread reads 16 bytes from one or two tiles, which map to rows and
// columns of the matrix, and writes pairs of elements in the order that wgmma reads.

// CHECK-DAG: ![[$MAP:.*]] = !mxgpu.tensor_map<2x8x256xi8>
// CHECK-DAG: !mxgpu.ring<4 x (b: smem<256x16xi8>, sfb: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(128)>
// CHECK-DAG: #[[$PLACES:.*]] = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column, 2: 128 rows]>
// CHECK-DAG: #[[$WEIGHTS:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 4: 2 rows, 2: 8 rows, 2: 16 rows, 2: 32 rows], values = [2: 1 column, 2: 1 row, 2: 8 columns, 4: 16 columns, 2: 64 rows]>
// CHECK-DAG: #[[$OPERAND:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 4: 8 rows, 2: 2 rows, 2: 4 rows, 2: 32 rows], values = [2: 1 column, 2: 1 row, 2: 8 columns, 4: 16 columns, 2: 64 rows]>
// CHECK-DAG: ![[$READ:.*]] = !mxgpu.fragment<256x32xf4E2M1FN, #[[$PLACES]]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<128x64xf4E2M1FN, #[[$WEIGHTS]]>
// CHECK-DAG: ![[$NUMBERS:.*]] = !mxgpu.fragment<128x64xbf16, #[[$WEIGHTS]]>
// CHECK-DAG: ![[$WRITTEN:.*]] = !mxgpu.fragment<128x64xbf16, #[[$OPERAND]]>

// CHECK-LABEL: func.func @matmul(
// CHECK:         memref.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [3, 64, 256] : memref<3x16384xi8> into memref<3x64x256xi8>
// CHECK:         mxgpu.encode_tensor_map %{{.*}} : memref<3x64x256xi8> -> ![[$MAP]]
// CHECK:           mxgpu.role @dequantize warps(4)
// CHECK:               %[[READ:.*]] = mxgpu.load_fragment %{{.*}} thread(%[[PART:.*]]) : {{.*}} -> ![[$READ]]
// CHECK-NEXT:          %[[TILE:.*]] = mxgpu.relabel_fragment %[[READ]] : ![[$READ]] -> ![[$TILE]]
// CHECK:               %[[SCALES:.*]] = mxgpu.load_fragment_scales %{{.*}} thread(%[[PART]]) block(32) for ![[$TILE]] : {{.*}} -> vector<4x2xf8E8M0FNU>
// CHECK:               %[[NUMBERS:.*]] = mxgpu.dequantize_fragment %[[TILE]] by %[[SCALES]] block(32) : ![[$TILE]], vector<4x2xf8E8M0FNU> -> ![[$NUMBERS]]
// CHECK-NEXT:          %[[WRITTEN:.*]] = mxgpu.relabel_fragment %[[NUMBERS]] : ![[$NUMBERS]] -> ![[$WRITTEN]]
// CHECK:               mxgpu.store_shared %[[WRITTEN]], %{{.*}} thread(%[[PART]])
// CHECK:           mxgpu.role @load
// CHECK:               %[[COLUMN:.*]] = arith.divui %k, %c64 : index
// CHECK:               %[[LINE:.*]] = arith.muli %[[COLUMN]], %c8 : index
// CHECK:               %[[ROW:.*]] = arith.divui %column, %c64 : index
// CHECK:               mxgpu.tma_load %b_map[%[[ROW]], %[[LINE]], %c0] into %b for
!x = memref<256x512xbf16>
!w = memref<3x8x128x32xf4E2M1FN>
!ws = memref<2x4x32x4x4xf8E8M0FNU>
!y = memref<256x160xbf16>
#schedule = #mxgpu.schedule<tile = [128, 128, 64], stages = 4, epilogue = direct>
func.func @matmul(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) b_order = #mxgpu.fragment_64x64 {mxgpu.schedule = #schedule}
  return
}

// -----

// The matrix of each expert group begins with a new tile, so 160 rows take 3 tiles. Dynamic sizes
// are compared at launch.

// CHECK-LABEL: func.func @groups(
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of b to be %lld, found %lld"
// CHECK-LABEL:   mxgpu.kernel @groups_grouped_matmul(
// CHECK:           mxgpu.role @load
// CHECK:             %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c64 : index
// CHECK:             %[[ROWS:.*]] = arith.muli %[[TILES]], %c64 : index
// CHECK:             %[[FIRST:.*]] = arith.muli %group, %[[ROWS]] : index
// CHECK:             arith.addi %column, %[[FIRST]] : index
!x = memref<?x512xbf16>
!w = memref<4x?x8x128x32xf8E4M3FN>
!ws = memref<4x?x4x32x4x4xf8E8M0FNU>
!y = memref<?x?xf32>
#schedule = #mxgpu.schedule<tile = [64, 256, 64], stages = 3, epilogue = direct>
func.func @groups(%x: !x, %w: !w, %ws: !ws, %o: memref<4xi32>, %y: !y) {
  mx.grouped_matmul ragged = rows ins(%x, %w, %ws : !x, !w, !ws)
      offsets(%o : memref<4xi32>) outs(%y : !y) b_order = #mxgpu.fragment_64x64 {mxgpu.schedule = #schedule}
  return
}

// -----

// With wgmma_swap_ab, the MMA warpgroups read packed weights as wgmma fragments. Here a thread
// reads 16 bytes from each of two tiles in a row.

// CHECK-DAG: !mxgpu.tensor_map<1x16x256xi8>
// CHECK-DAG: #[[$PLACES:.*]] = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column, 2: 128 rows]>
// CHECK-DAG: #[[$ADJACENT:.*]] = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 2 rows, 4: 16 rows], values = [2: 1 column, 2: 1 row, 2: 8 columns, 8: 16 columns]>
// CHECK-DAG: ![[$READ:.*]] = !mxgpu.fragment<256x32xf4E2M1FN, #[[$PLACES]]>
// CHECK-DAG: ![[$TILE:.*]] = !mxgpu.fragment<64x128xf4E2M1FN, #[[$ADJACENT]]>
// CHECK-LABEL: mxgpu.kernel @swapped_matmul(
// CHECK:         mxgpu.role @multiply warps(4)
// CHECK:           %[[READ:.*]] = mxgpu.load_fragment %b at[%c0, %c0] : {{.*}} -> ![[$READ]]
// CHECK-NEXT:      %[[TILE:.*]] = mxgpu.relabel_fragment %[[READ]] : ![[$READ]] -> ![[$TILE]]
// CHECK:           mxgpu.dequantize_fragment %[[TILE]]
!x = memref<16x512xbf16>
!w = memref<3x8x128x32xf4E2M1FN>
!ws = memref<2x4x32x4x4xf8E8M0FNU>
!y = memref<16x160xbf16>
#schedule = #mxgpu.schedule<tile = [16, 64, 128], stages = 4, strategy = #mxgpu.wgmma_swap_ab, epilogue = direct>
func.func @swapped(%x: !x, %w: !w, %ws: !ws, %y: !y) {
  mx.matmul ins(%x, %w, %ws : !x, !w, !ws) outs(%y : !y) b_order = #mxgpu.fragment_64x64 {mxgpu.schedule = #schedule}
  return
}
