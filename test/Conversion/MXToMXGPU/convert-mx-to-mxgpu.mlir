// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// A matmul of static shapes: nothing to check at run time, and the grid is no
// larger than the 2 x 3 tiles.

// CHECK-DAG: [[$A:!map[0-9]*]] = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
// CHECK-DAG: [[$B:!map[0-9]*]] = !mxgpu.tensor_map<256x128xf8E4M3FN, sw128>
// CHECK-DAG: [[$SA:!map[0-9]*]] = !mxgpu.tensor_map<1x1x2x256xf8E8M0FNU>
// CHECK-DAG: [[$SB:!map[0-9]*]] = !mxgpu.tensor_map<2x1x2x256xf8E8M0FNU>
// CHECK-DAG: [[$IN:!bulk_copy_ring]] = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<256x128xf8E4M3FN, sw128>, sfa: smem<1x1x2x256xf8E8M0FNU>, sfb: smem<2x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
// CHECK-DAG: [[$ACC:!mma_commit_ring]] = !mxgpu.ring<1 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128)>

// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @static(
// CHECK-SAME:    %[[X:[^:]*]]: memref<256x512xf8E4M3FN>, %[[XS:[^:]*]]: memref<2x4x32x4x4xf8E8M0FNU>, %[[Y:[^:]*]]: memref<768x512xf8E4M3FN>, %[[YS:[^:]*]]: memref<6x4x32x4x4xf8E8M0FNU>, %[[R:[^:]*]]: memref<256x768xf32>
// CHECK-NOT:     mxgpu.require
// CHECK-DAG:     %[[TILES:.*]] = arith.constant 6 : index
// CHECK-DAG:     %[[MAP_A:.*]] = mxgpu.encode_tensor_map %[[X]] : memref<256x512xf8E4M3FN> -> [[$A]]
// CHECK-DAG:     %[[MAP_B:.*]] = mxgpu.encode_tensor_map %[[Y]] : memref<768x512xf8E4M3FN> -> [[$B]]
// CHECK-DAG:     %[[XS3:.*]] = memref.collapse_shape %[[XS]] {{\[}}[0], [1], [2, 3, 4]]
// CHECK-DAG:     %[[XS4:.*]] = memref.expand_shape %[[XS3]] {{\[}}[0], [1], [2, 3]] output_shape [2, 4, 2, 256]
// CHECK-DAG:     %[[MAP_SA:.*]] = mxgpu.encode_tensor_map %[[XS4]] : memref<2x4x2x256xf8E8M0FNU> -> [[$SA]]
// CHECK-DAG:     %[[MAP_SB:.*]] = mxgpu.encode_tensor_map %{{.*}} : memref<6x4x2x256xf8E8M0FNU> -> [[$SB]]
// CHECK:         %[[SMS:.*]] = mxgpu.sm_count
// CHECK:         %[[GRID:.*]] = arith.minui %[[SMS]], %[[TILES]]
// CHECK:         mxgpu.launch @kernels::@static_matmul grid(%[[GRID]]) args(%[[MAP_A]], %[[MAP_B]], %[[MAP_SA]], %[[MAP_SB]], %[[R]] :
// CHECK-NEXT:    return

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88"{{.*}}>]
// CHECK-LABEL: mxgpu.kernel @static_matmul(
// CHECK-SAME:    %[[A:.*]]: [[$A]], %[[B:.*]]: [[$B]], %[[SA:.*]]: [[$SA]], %[[SB:.*]]: [[$SB]], %[[R:.*]]: memref<256x768xf32>)
// CHECK-SAME:    schedule(<tile = [128, 256, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled, raster = linear, epilogue = direct>) {
// CHECK-DAG:     %[[TRUE:.*]] = arith.constant true
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %[[C256:.*]] = arith.constant 256 : index
// CHECK-DAG:     %[[C512:.*]] = arith.constant 512 : index
// CHECK-DAG:     %[[C768:.*]] = arith.constant 768 : index
// CHECK:         %[[WORK:.*]] = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%[[C256]], %[[C768]], %[[C512]])
// CHECK-NEXT:    %[[IN:.*]] = mxgpu.ring "in" : [[$IN]]
// CHECK-NEXT:    %[[ACC:.*]] = mxgpu.ring "acc" : [[$ACC]]

// Every row exists. Rows of a result at a multiple of 32 bytes are written whole,
// if anything was multiplied; an f32 result is stored as it was summed.
// CHECK:         mxgpu.role @epilogue warps(4) {
// CHECK-NEXT:      mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %[[COLUMN:.*]], %[[START:.*]], %[[END:.*]]) in %[[WORK]] {
// CHECK:             %[[NONE:.*]] = arith.cmpi eq, %[[START]], %[[END]] : index
// CHECK:             %[[OWN:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK:             %[[DATA:.*]] = memref.extract_aligned_pointer_as_index %[[R]]
// CHECK:             %[[LOW:.*]] = arith.andi %[[DATA]], %{{.*}}
// CHECK:             %[[ALIGNED:.*]] = arith.cmpi eq, %[[LOW]], %[[C0]]
// CHECK:             %[[SOME:.*]] = arith.cmpi ne, %[[START]], %[[END]]
// CHECK:             %[[WHOLE:.*]] = arith.andi %[[ALIGNED]], %[[SOME]]
// CHECK:             %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %[[ACC]]
// CHECK-NEXT:        scf.if %[[WHOLE]] {
// CHECK-NEXT:          scf.for %[[J:.*]] = %[[C0]] to %[[C256]] step %[[C32]] {
// CHECK:                 %[[AT:.*]] = arith.addi %[[COLUMN]], %[[J]]
// CHECK:                 %[[F_SUMS:.*]] = mxgpu.load_accumulator %[[D]] column(%[[J]]) empty(%[[NONE]]) : {{.*}} -> !fragment
// CHECK-NEXT:            %[[F:.*]] = mxgpu.to_rows %[[F_SUMS]]
// CHECK-NEXT:            mxgpu.store_fragment %[[F]], %[[R]][%[[OWN]], %[[AT]]] when(%[[TRUE]]) aligned(32)
// CHECK:               } else {
// CHECK:                 %[[F_SUMS:.*]] = mxgpu.load_accumulator %[[D]] column(%{{.*}}) empty(%[[NONE]])
// CHECK-NEXT:            %[[F:.*]] = mxgpu.to_rows %[[F_SUMS]]
// CHECK-NEXT:            mxgpu.store_fragment %[[F]], %[[R]][%[[OWN]], %{{.*}}] when(%[[TRUE]]) :
// CHECK:             mxgpu.consumer_release %[[STAGE]]

// The tiles of a step and their scales.
// CHECK:         mxgpu.role @load warps(1) elected {
// CHECK-NEXT:      mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %[[COLUMN:.*]], %[[START:.*]], %[[END:.*]]) in %[[WORK]] {
// CHECK-DAG:         %[[ROW_TILE:.*]] = arith.divui %[[ROW]], %[[C128]]
// CHECK-DAG:         %[[COLUMN_TILE:.*]] = arith.divui %[[COLUMN]], %[[C128]]
// CHECK:             mxgpu.for_each_k (%[[K:.*]], %{{.*}}, %{{.*}}) from %[[START]] to %[[END]] step 128 {
// CHECK:               %[[K_TILE:.*]] = arith.divui %[[K]], %[[C128]]
// CHECK:               %[[S:.*]], %[[TO_A:.*]], %[[TO_B:.*]], %[[TO_SA:.*]], %[[TO_SB:.*]] = mxgpu.producer_acquire %[[IN]]
// CHECK-DAG:           mxgpu.tma_load %[[A]][%[[ROW]], %[[K]]] into %[[TO_A]] for %[[S]]
// CHECK-DAG:           mxgpu.tma_load %[[B]][%[[COLUMN]], %[[K]]] into %[[TO_B]] for %[[S]]
// CHECK-DAG:           mxgpu.tma_load %[[SA]][%[[ROW_TILE]], %[[K_TILE]]] into %[[TO_SA]] for %[[S]]
// CHECK-DAG:           mxgpu.tma_load %[[SB]][%[[COLUMN_TILE]], %[[K_TILE]]] into %[[TO_SB]] for %[[S]]
// CHECK:               mxgpu.producer_commit %[[S]] :

// One accumulator, to which all steps but the first add.
// CHECK:         mxgpu.role @mma warps(1) elected {
// CHECK-NEXT:      mxgpu.for_each_work_tile (%{{.*}}, %{{.*}}, %{{.*}}, %[[START:.*]], %[[END:.*]]) in %[[WORK]] {
// CHECK:             %[[NONE:.*]] = arith.cmpi eq, %[[START]], %[[END]] : index
// CHECK:             %[[STAGE:.*]], %[[D:.*]] = mxgpu.producer_acquire %[[ACC]]
// CHECK:             mxgpu.for_each_k (%{{.*}}, %{{.*}}, %[[FIRST:.*]]) from %[[START]] to %[[END]] step 128 {
// CHECK:               %[[MORE:.*]] = arith.xori %[[FIRST]], %[[TRUE]] : i1
// CHECK:               %[[S:.*]], %[[FROM_A:.*]], %[[FROM_B:.*]], %[[FROM_SA:.*]], %[[FROM_SB:.*]] = mxgpu.consumer_wait %[[IN]]
// CHECK-DAG:           %[[SFA:.*]] = mxgpu.copy_scales %[[FROM_SA]] : {{.*}} -> !mxgpu.scales<128>
// CHECK-DAG:           %[[SFB:.*]] = mxgpu.copy_scales %[[FROM_SB]] : {{.*}} -> !mxgpu.scales<256>
// CHECK:               mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %[[FROM_A]], %[[FROM_B]] scales(%[[SFA]], %[[SFB]] : {{.*}}) into %[[D]] accumulate(%[[MORE]]) :
// CHECK-NEXT:          mxgpu.consumer_release %[[S]]
// CHECK-NEXT:        }
// CHECK-NEXT:        mxgpu.producer_commit %[[STAGE]] empty(%[[NONE]])
func.func @static(%a: memref<256x512xf8E4M3FN>, %as: memref<2x4x32x4x4xf8E8M0FNU>,
                  %b: memref<768x512xf8E4M3FN>, %bs: memref<6x4x32x4x4xf8E8M0FNU>, %y: memref<256x768xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : memref<256x512xf8E4M3FN>, memref<2x4x32x4x4xf8E8M0FNU>, memref<768x512xf8E4M3FN>, memref<6x4x32x4x4xf8E8M0FNU>)
      outs(%y : memref<256x768xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 4, raster = linear, epilogue = direct>}
  return
}

// -----

// A matmul of dynamic shapes: the host compares what the types do not say, and
// the kernel is given the reduction's size.

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x?xf8E4M3FN>, %[[AS:[^:]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[B:[^:]*]]: memref<?x?xf8E4M3FN>, %[[BS:[^:]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[Y:[^:]*]]: memref<?x?xbf16>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK:         %[[M:.*]] = memref.dim %[[A]], %[[C0]]
// CHECK:         %[[N:.*]] = memref.dim %[[B]], %[[C0]]
// CHECK:         %[[K:.*]] = memref.dim %[[A]], %[[C1]]
// CHECK:         %[[REACHED:.*]] = arith.cmpi ule, %[[M]], %[[LIMIT:.*]] : index
// CHECK:         mxgpu.require %[[REACHED]], "expected at most %lld rows of a, found %lld"(%[[LIMIT]], %[[M]])
// CHECK:         "expected at most %lld rows of b, found %lld"(%[[LIMIT]], %[[N]])
// CHECK:         "expected at most %lld columns of a, found %lld"(%[[LIMIT]], %[[K]])
// CHECK:         %[[REST:.*]] = arith.remui %[[K]], %[[C32]]
// CHECK:         %[[OK:.*]] = arith.cmpi eq, %[[REST]], %[[C0]]
// CHECK:         %[[BELOW:.*]] = arith.subi %[[K]], %[[REST]]
// CHECK:         %[[ABOVE:.*]] = arith.addi %[[BELOW]], %[[C32]]
// CHECK:         mxgpu.require %[[OK]], "expected dimension 1 of a to be a multiple of 32, found %lld; the nearest are %lld and %lld"(%[[K]], %[[BELOW]], %[[ABOVE]])
// CHECK:         %[[KB:.*]] = memref.dim %[[B]], %[[C1]]
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[KB]], %[[K]]
// CHECK:         mxgpu.require %[[SAME]], "expected dimension 1 of b to be %lld, found %lld"(%[[K]], %[[KB]])
// CHECK:         "expected dimension 0 of outs to be %lld, found %lld"(%[[M]], %{{.*}})
// CHECK:         "expected dimension 1 of outs to be %lld, found %lld"(%[[N]], %{{.*}})
// CHECK:         %[[MT:.*]] = arith.ceildivui %[[M]], %[[C128]]
// CHECK:         "expected dimension 0 of a_scales to be %lld, found %lld"(%[[MT]], %{{.*}})
// CHECK:         %[[KT:.*]] = arith.ceildivui %[[K]], %[[C128]]
// CHECK:         "expected dimension 1 of a_scales to be %lld, found %lld"(%[[KT]], %{{.*}})
// CHECK:         "expected dimension 0 of b_scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of b_scales to be %lld, found %lld"
// CHECK:         "expected the address of a to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         "expected the address of b to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         %[[UNITS:.*]] = arith.muli
// CHECK:         %[[FEW:.*]] = arith.cmpi ule, %[[UNITS]], %[[MOST:.*]] : index
// CHECK:         mxgpu.require %[[FEW]], "expected at most %lld work tiles, found %lld"(%[[MOST]], %[[UNITS]])
// CHECK-NOT:     mxgpu.require
// CHECK:         mxgpu.launch @kernels::@dynamic_matmul grid(%{{.*}}) args({{.*}}, %[[Y]], %[[K]] : {{.*}}, memref<?x?xbf16>, index)

// CHECK-LABEL: mxgpu.kernel @dynamic_matmul(
// CHECK-SAME:    %[[R:[a-z_]*]]: memref<?x?xbf16>, %[[REDUCTION:[a-z_0-9]*]]: index)
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[R]], %c0
// CHECK-DAG:     %[[COLUMNS:.*]] = memref.dim %[[R]], %c1
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%[[ROWS]], %[[COLUMNS]], %[[REDUCTION]])
// A bf16 result is rounded once.
// CHECK:         %[[F_SUMS:.*]] = mxgpu.load_accumulator
// CHECK-NEXT:    %[[F:.*]] = mxgpu.to_rows %[[F_SUMS]]
// CHECK-NEXT:    %[[G:.*]] = arith.truncf %[[F]] : vector<32xf32> to vector<32xbf16>
// CHECK:         mxgpu.store_fragment %[[G]], %[[R]]
func.func @dynamic(%a: memref<?x?xf8E4M3FN>, %as: memref<?x?x32x4x4xf8E8M0FNU>,
                   %b: memref<?x?xf8E4M3FN>, %bs: memref<?x?x32x4x4xf8E8M0FNU>, %y: memref<?x?xbf16>) {
  mx.matmul ins(%a, %as, %b, %bs : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>)
      outs(%y : memref<?x?xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 6, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>}
  return
}

// -----

// Rows that lie apart: the host asks where each begins, and the copy engine is
// told.

// CHECK-LABEL: func.func @slices(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x128xf8E4M3FN, strided<[?, 1], offset: ?>>,
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %{{.*}}, %[[OFFSET:.*]], %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[A]]
// CHECK:         "expected the stride of rows of a to be a multiple of 16, found %lld; the nearest are %lld and %lld"(%[[STRIDES]]#0, %{{.*}}, %{{.*}})
// CHECK:         %[[FITS:.*]] = arith.cmpi uge, %[[STRIDES]]#0, %[[C128]]
// CHECK:         mxgpu.require %[[FITS]], "expected the stride of rows of a to be at least their %lld elements, found %lld"(%[[C128]], %[[STRIDES]]#0)
// CHECK:         %[[START:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
// CHECK:         %[[ADDRESS:.*]] = arith.addi %[[START]], %[[OFFSET]]
// CHECK:         "expected the address of a to be a multiple of 16, found %lld; the nearest are %lld and %lld"(%[[ADDRESS]], %{{.*}}, %{{.*}})
// CHECK-NOT:     "expected the stride
// CHECK:         mxgpu.encode_tensor_map %[[A]] : memref<?x128xf8E4M3FN, strided<[?, 1], offset: ?>>
!slice = memref<?x128xf8E4M3FN, strided<[?, 1], offset: ?>>
func.func @slices(%a: !slice, %as: memref<?x1x32x4x4xf8E8M0FNU>, %b: memref<128x128xf8E4M3FN>, %bs: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<?x128xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !slice, memref<?x1x32x4x4xf8E8M0FNU>, memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
      outs(%y : memref<?x128xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>}
  return
}

// -----

// A quantizer has no rings. 64 threads hold 8 elements each of 4 rows at a time:
// a row is that of 16 lanes, a block that of 4. All loads come first.

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
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-NOT:     mxgpu.ring
// CHECK:         %[[ROWS:.*]] = memref.dim %[[X]]
// CHECK:         %[[COLUMNS:.*]] = memref.dim %[[X]]
// CHECK:         %[[BLOCKS:.*]] = arith.divui %[[COLUMNS]], %[[C32]]
// CHECK:         mxgpu.role @quantize warps(2) {
// CHECK-NEXT:      %[[THREAD:.*]] = mxgpu.thread_id
// CHECK-NEXT:      %[[ROW_IN:.*]] = arith.divui %[[THREAD]], %[[C16]]
// CHECK-NEXT:      %[[LANE:.*]] = arith.remui %[[THREAD]], %[[C16]]
// CHECK-NEXT:      %[[COLUMN_IN:.*]] = arith.muli %[[LANE]], %[[C8]]
// CHECK-NEXT:      mxgpu.for_each_work_tile (%{{.*}}, %[[TILE_ROW:.*]], %[[TILE_COLUMN:.*]], %{{.*}}, %{{.*}}) in
// CHECK-NEXT:        %[[ROW:.*]] = arith.addi %[[TILE_ROW]], %[[ROW_IN]]
// CHECK-NEXT:        %[[COLUMN:.*]] = arith.addi %[[TILE_COLUMN]], %[[COLUMN_IN]]
// CHECK-NEXT:        %[[B0:.*]] = mxgpu.load_block %[[X]][%[[ROW]], %[[COLUMN]]] : memref<?x?xf16> -> vector<8xf16>
// CHECK-NEXT:        %[[ROW1:.*]] = arith.addi %[[ROW]], %[[C4]]
// CHECK-NEXT:        mxgpu.load_block %[[X]][%[[ROW1]], %[[COLUMN]]]
// CHECK-COUNT-30:    mxgpu.load_block
// CHECK-NOT:         mxgpu.load_block
// CHECK:             %[[E0:.*]], %[[S0:.*]] = mxgpu.quantize_block %[[B0]] scale_rounding = even lanes(4) : vector<8xf16> -> vector<8xf8E5M2>, f8E8M0FNU
// CHECK-NEXT:        mxgpu.store_block %[[E0]], %[[E]][%[[ROW]], %[[COLUMN]]]
// CHECK-NEXT:        %[[BLOCK:.*]] = arith.divui %[[COLUMN]], %[[C32]]
// CHECK-NEXT:        mxgpu.store_scales %[[S0]] into %[[S]][%[[ROW]], %[[BLOCK]]] of(%[[ROWS]], %[[BLOCKS]]) lanes(4)
// CHECK-COUNT-31:    mxgpu.quantize_block
// CHECK-NOT:         magnitude
func.func @quantize(%x: memref<?x?xf16>, %e: memref<?x?xf8E5M2>, %s: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<?x?xf16>) outs(%e, %s : memref<?x?xf8E5M2>, memref<?x?x32x4x4xf8E8M0FNU>) scale_rounding = even
      {mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 64, vector = 8>}
  return
}

// -----

// NVFP4: elements are written as bytes, the factor of the tensor is an argument,
// and must be positive. Without a schedule there is a default.

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
  mx.quantize ins(%x : memref<?x?xbf16>) global_scale(%g) outs(%e, %s : memref<?x?xf4E2M1FN>, memref<?x?xf8E4M3FN>) block_size = 16
  return
}

// -----

// The largest magnitude of all that a thread holds, raised once a tile. NVFP4
// finds maxima in a way of its own.

// CHECK-LABEL: func.func @quantize_and_amax(
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         gpu.memset %[[M:.*]], %[[ZERO]] : memref<f32>, f32
// CHECK:         mxgpu.launch @kernels::@quantize_and_amax_quantize grid(%{{.*}}) args(%{{.*}}, %{{.*}}, %{{.*}}, %[[M]] :
// CHECK-LABEL: mxgpu.kernel @quantize_and_amax_quantize(
// CHECK-SAME:    %[[RESULT:[a-z0-9]+]]: memref<f32>)
// CHECK:         %[[KNOWN:.*]] = mxgpu.load_relaxed %[[RESULT]]
// CHECK-NEXT:    %[[A:.*]] = mxgpu.load_block
// CHECK:         %[[B:.*]] = mxgpu.load_block
// CHECK:         %[[OF_A:.*]] = mxgpu.thread_amax %[[A]] : vector<16xbf16>
// CHECK:         mxgpu.quantize_block %[[A]]
// CHECK:         %[[OF_B:.*]] = mxgpu.thread_amax %[[B]] : vector<16xbf16>
// CHECK-NEXT:    %[[LARGEST:.*]] = arith.maximumf %[[OF_A]], %[[OF_B]] : f32
// CHECK:         mxgpu.quantize_block %[[B]]
// CHECK:         mxgpu.atomic_max %[[LARGEST]] above %[[KNOWN]] into %[[RESULT]] : memref<f32>
// CHECK-NEXT:    }
func.func @quantize_and_amax(%x: memref<?x?xbf16>, %e: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %m: memref<f32>) {
  mx.quantize ins(%x : memref<?x?xbf16>) outs(%e, %s, %m : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>, memref<f32>) amax
  return
}

// CHECK-LABEL: mxgpu.kernel @nvfp4_and_amax_quantize(
// CHECK:         mxgpu.thread_amax %{{.*}} as_integers : vector<16xbf16>
func.func @nvfp4_and_amax(%x: memref<?x?xbf16>, %g: f32, %e: memref<?x?xf4E2M1FN>, %s: memref<?x?xf8E4M3FN>, %m: memref<f32>) {
  mx.quantize ins(%x : memref<?x?xbf16>) global_scale(%g) outs(%e, %s, %m : memref<?x?xf4E2M1FN>, memref<?x?xf8E4M3FN>, memref<f32>) block_size = 16 amax
  return
}

// -----

// Dequantize: 512 threads hold 8 elements each of 4 rows, and their scales.

// CHECK-LABEL: func.func @dequantize(
// CHECK-SAME:    %[[Q:.*]]: memref<?x?xf4E2M1FN>, %[[S:.*]]: memref<?x?x32x4x4xf8E4M3FN>, %[[X:.*]]: memref<?x?xf16>, %[[G:.*]]: f32)
// CHECK:         "expected dimension 0 of input to be %lld, found %lld"
// CHECK:         "expected dimension 1 of input to be %lld, found %lld"
// CHECK:         "expected dimension 1 of input to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         %[[BYTES:.*]] = builtin.unrealized_conversion_cast %[[Q]] : memref<?x?xf4E2M1FN> to memref<?x?xi8>
// CHECK:         mxgpu.launch @kernels::@dequantize_dequantize grid(%{{.*}}) args(%[[BYTES]], %[[S]], %[[X]], %[[G]] :
// CHECK-LABEL: mxgpu.kernel @dequantize_dequantize(
// CHECK-SAME:    %[[Q:[a-z_0-9]*]]: memref<?x?xi8>, %[[S:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E4M3FN>, %[[X:[a-z_0-9]*]]: memref<?x?xf16>, %[[G:[a-z_0-9]*]]: f32)
// CHECK-SAME:    quantize_schedule(<tile = [128, 128], threads = 512, vector = 8, ctas = 2>) min_ctas(2) {
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK:         mxgpu.role @dequantize warps(16) {
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             %[[BLOCK:.*]] = arith.divui %[[COLUMN:.*]], %[[C16]]
// CHECK-NEXT:        %[[CODES:.*]] = mxgpu.load_block %[[Q]][%[[ROW:.*]], %[[COLUMN]]] : memref<?x?xi8> -> vector<8xf4E2M1FN>
// CHECK-NEXT:        %[[SCALE:.*]] = mxgpu.load_scale %[[S]][%[[ROW]], %[[BLOCK]]] : memref<?x?x32x4x4xf8E4M3FN> -> f8E4M3FN
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addi %[[ROW]], %[[C32]]
// CHECK-NEXT:        mxgpu.load_block %[[Q]][%[[NEXT]], %[[COLUMN]]]
// CHECK-COUNT-3:     mxgpu.load_scale
// CHECK-NOT:         mxgpu.load
// CHECK:             %[[VALUE:.*]] = mxgpu.dequantize_block %[[CODES]] by %[[SCALE]] decode(%[[G]]) : vector<8xf4E2M1FN>, f8E4M3FN -> vector<8xf16>
// CHECK-NEXT:        mxgpu.store_block %[[VALUE]], %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK-COUNT-3:     mxgpu.dequantize_block
func.func @dequantize(%q: memref<?x?xf4E2M1FN>, %s: memref<?x?x32x4x4xf8E4M3FN>, %x: memref<?x?xf16>, %g: f32) {
  mx.dequantize ins(%q, %s : memref<?x?xf4E2M1FN>, memref<?x?x32x4x4xf8E4M3FN>) global_scale(%g) outs(%x : memref<?x?xf16>) block_size = 16
  return
}

// -----

// Two that follow each other are one kernel: the tiles of the second come after
// those of the first. Matrices of a batch have whole tiles of scales.

// CHECK-LABEL: func.func @dequantize_both(
// CHECK:         mxgpu.launch @kernels::@dequantize_both_dequantize grid(%c8) args(
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @dequantize_both_dequantize(
// CHECK:         mxgpu.role @dequantize
// CHECK:           mxgpu.for_each_work_tile (%group, %[[ROW:.*]], %column,
// CHECK:             %[[FIRST:.*]] = arith.cmpi ult, %[[ROW]], %
// CHECK:             scf.if %[[FIRST]] {
// CHECK:               mxgpu.load_block %{{.*}} : memref<256x64xf8E4M3FN>
// CHECK:             } else {
// CHECK:               arith.divui
// CHECK:               arith.remui
// CHECK:               arith.select %{{.*}}, %{{.*}}, %c{{.*}}
// CHECK:               mxgpu.load_block %{{.*}} : memref<600x64xf8E4M3FN>
func.func @dequantize_both(%q: memref<256x64xf8E4M3FN>, %s: memref<2x1x32x4x4xf8E8M0FNU>, %r: memref<2x300x64xf8E4M3FN>, %t: memref<2x3x1x32x4x4xf8E8M0FNU>) -> (memref<256x64xbf16>, memref<2x300x64xbf16>) {
  %x = memref.alloc() : memref<256x64xbf16>
  mx.dequantize ins(%q, %s : memref<256x64xf8E4M3FN>, memref<2x1x32x4x4xf8E8M0FNU>) outs(%x : memref<256x64xbf16>)
  %y = memref.alloc() : memref<2x300x64xbf16>
  mx.dequantize ins(%r, %t : memref<2x300x64xf8E4M3FN>, memref<2x3x1x32x4x4xf8E8M0FNU>) outs(%y : memref<2x300x64xbf16>)
  return %x, %y : memref<256x64xbf16>, memref<2x300x64xbf16>
}

// -----

// Groups of columns have tiles of them, which the scheduler takes for rows, for
// both tensors: tiles of the second come after those of the first.

// CHECK-LABEL: func.func @dequantize_segments(
// CHECK:         mxgpu.launch @kernels::@dequantize_segments_dequantize grid(%c55) args(
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @dequantize_segments_dequantize(
// CHECK-SAME:    %[[O:[a-z_0-9]*]]: memref<4xi32>
// CHECK:         mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%[[O]] : memref<4xi32>) of(%c896, %{{.*}}, %c0)
// CHECK:         mxgpu.role @dequantize
// CHECK:           mxgpu.for_each_work_tile (%group, %row, %[[ROW:column]],
// CHECK:             %[[FIRST:.*]] = arith.cmpi ult, %[[ROW]], %
// CHECK:             scf.if %[[FIRST]] {
// CHECK:               mxgpu.load_block %{{.*}} : memref<200x896xf8E4M3FN>
// CHECK:             } else {
// CHECK:               mxgpu.load_block %{{.*}} : memref<300x896xf8E4M3FN>
func.func @dequantize_segments(%q: memref<200x896xf8E4M3FN>, %s: memref<2x7x32x4x4xf8E8M0FNU>, %r: memref<300x896xf8E4M3FN>, %t: memref<3x7x32x4x4xf8E8M0FNU>, %o: memref<4xi32>) -> (memref<200x896xbf16>, memref<300x896xbf16>) {
  %x = memref.alloc() : memref<200x896xbf16>
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<200x896xf8E4M3FN>, memref<2x7x32x4x4xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%x : memref<200x896xbf16>)
  %y = memref.alloc() : memref<300x896xbf16>
  mx.dequantize ragged = reduction padded ins(%r, %t : memref<300x896xf8E4M3FN>, memref<3x7x32x4x4xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%y : memref<300x896xbf16>)
  return %x, %y : memref<200x896xbf16>, memref<300x896xbf16>
}

// -----

// Other groups are divided elsewhere.

// CHECK-LABEL: func.func @dequantize_other_segments(
// CHECK-COUNT-2: mxgpu.launch
func.func @dequantize_other_segments(%q: memref<200x896xf8E4M3FN>, %s: memref<2x7x32x4x4xf8E8M0FNU>, %o: memref<4xi32>, %p: memref<4xi32>) -> (memref<200x896xbf16>, memref<200x896xbf16>) {
  %x = memref.alloc() : memref<200x896xbf16>
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<200x896xf8E4M3FN>, memref<2x7x32x4x4xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%x : memref<200x896xbf16>)
  %y = memref.alloc() : memref<200x896xbf16>
  mx.dequantize ragged = reduction padded ins(%q, %s : memref<200x896xf8E4M3FN>, memref<2x7x32x4x4xf8E8M0FNU>) offsets(%p : memref<4xi32>) outs(%y : memref<200x896xbf16>)
  return %x, %y : memref<200x896xbf16>, memref<200x896xbf16>
}

// -----

// Elements that are dequantized at once stay in registers.

// CHECK-LABEL: func.func @numbers(
// CHECK-SAME:    %[[X:.*]]: memref<256x64xbf16>)
// CHECK:         %[[Y:.*]] = memref.alloc() : memref<256x64xbf16>
// CHECK:         mxgpu.launch @kernels::@numbers_quantize_dequantize grid(%{{.*}}) args(%[[X]], %[[Y]] :
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @numbers_quantize_dequantize(
// CHECK:         %[[Q:.*]], %[[S:.*]] = mxgpu.quantize_block
// CHECK-NEXT:    %[[N:.*]] = mxgpu.dequantize_block %[[Q]] by %[[S]] : vector<16xf8E4M3FN>, f8E8M0FNU -> vector<16xbf16>
// CHECK-NEXT:    mxgpu.store_block %[[N]]
// CHECK-NOT:     mxgpu.store_scales
func.func @numbers(%x: memref<256x64xbf16>) -> memref<256x64xbf16> {
  %y = memref.alloc() : memref<256x64xbf16>
  mx.quantize ins(%x : memref<256x64xbf16>) outs(%y : memref<256x64xbf16>) dequantized = [f8E4M3FN]
  return %y : memref<256x64xbf16>
}

// -----

// Without scales to write, groups of rows are rows.

// CHECK-LABEL: func.func @numbers_of_groups(
// CHECK:         mxgpu.launch @kernels::@numbers_of_groups_quantize_dequantize
// CHECK-NOT:     mxgpu.launch
func.func @numbers_of_groups(%x: memref<256x64xbf16>, %o: memref<2xi32>, %y: memref<256x64xbf16>) {
  mx.quantize ragged = rows ins(%x : memref<256x64xbf16>) offsets(%o : memref<2xi32>) outs(%y : memref<256x64xbf16>) dequantized = [f8E4M3FN]
  return
}

// -----

// Along both axes threads leave values in shared memory, in panels of 128 bytes.

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
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @numbers_of_both_quantize_dequantize(
// CHECK:         mxgpu.ring "rows" : [[$OF_ROWS]]
// CHECK:         mxgpu.ring "columns" : [[$OF_COLUMNS]]
// CHECK:         mxgpu.quantize_block
// CHECK-NEXT:    %[[N:.*]] = mxgpu.dequantize_block {{.*}} -> vector<32xbf16>
// CHECK-NEXT:    mxgpu.store_shared %[[N]],
// CHECK-NOT:     mxgpu.store_scale
// CHECK:         mxgpu.quantize_columns
// CHECK-NEXT:    %[[C:.*]] = mxgpu.dequantize_block {{.*}} : vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU> -> vector<2x32xf16>
// CHECK:         mxgpu.store_shared %[[C]],
// CHECK-NOT:     mxgpu.store_scale
func.func @numbers_of_both(%x: memref<256x128xbf16>) -> (memref<256x128xbf16>, memref<128x256xf16>) {
  %y = memref.alloc() : memref<256x128xbf16>
  %z = memref.alloc() : memref<128x256xf16>
  mx.quantize ins(%x : memref<256x128xbf16>) outs(%y, %z : memref<256x128xbf16>, memref<128x256xf16>) axes = [1, 0] dequantized = [f8E4M3FN, f8E4M3FN]
  return %y, %z : memref<256x128xbf16>, memref<128x256xf16>
}

// -----

// One axis gives values, the other one elements and scales. Rows of a group's last
// tile are written by threads, from both panels.

// CHECK-DAG: [[$OF_ROWS:!threads_ring[0-9]*]] = !mxgpu.ring<1 x (rows: smem<2x128x64xbf16, sw128>),
// CHECK-DAG: [[$OF_COLUMNS:!threads_ring[0-9]*]] = !mxgpu.ring<1 x (columns: smem<128x128xf8E4M3FN, sw128>, columns_scales: smem<1x1x512xf8E8M0FNU>),
// CHECK-LABEL: func.func @numbers_of_rows(
// CHECK:         mxgpu.launch @kernels::@numbers_of_rows_quantize_dequantize
// CHECK-NOT:     mxgpu.launch
// CHECK-LABEL: mxgpu.kernel @numbers_of_rows_quantize_dequantize(
// CHECK:         mxgpu.ring "rows" : [[$OF_ROWS]]
// CHECK:         mxgpu.ring "columns" : [[$OF_COLUMNS]]
// CHECK:         mxgpu.store_rows %{{.*}}, memref<256x128xbf16>
func.func @numbers_of_rows(%x: memref<256x128xbf16>, %o: memref<2xi32>, %y: memref<256x128xbf16>) -> (memref<128x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>) {
  %r = memref.alloc() : memref<128x512xf8E4M3FN>
  %t = memref.alloc() : memref<1x4x32x4x4xf8E8M0FNU>
  mx.quantize ragged = rows ins(%x : memref<256x128xbf16>) offsets(%o : memref<2xi32>) outs(%y, %r, %t : memref<256x128xbf16>, memref<128x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>) axes = [1, 0] dequantized = [f8E4M3FN, none]
  return %r, %t : memref<128x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>
}

// -----

// NVFP4 has a factor for each axis, beside that of the quantizer.

// CHECK-LABEL: func.func @numbers_of_nvfp4(
// CHECK-SAME:    %[[X:.*]]: memref<256x64xbf16>, %[[E:.*]]: f32, %[[D:.*]]: f32, %[[Y:.*]]: memref<256x64xbf16>)
// CHECK:         mxgpu.launch @kernels::@numbers_of_nvfp4_quantize_dequantize grid(%{{.*}}) args(%[[X]], %[[Y]], %[[D]], %[[E]] :
// CHECK-LABEL: mxgpu.kernel @numbers_of_nvfp4_quantize_dequantize(
// CHECK-SAME:    %{{[^:]*}}: memref<256x64xbf16>, %{{[^:]*}}: memref<256x64xbf16>, %[[D:[a-z_0-9]*]]: f32, %{{[^:]*}}: f32)
// CHECK:         mxgpu.dequantize_block %{{.*}} by %{{.*}} decode(%[[D]])
func.func @numbers_of_nvfp4(%x: memref<256x64xbf16>, %e: f32, %d: f32, %y: memref<256x64xbf16>) {
  mx.quantize ins(%x : memref<256x64xbf16>) global_scale(%e) decode_factors(%d) outs(%y : memref<256x64xbf16>) block_size = 16 dequantized = [f4E2M1FN]
  return
}

// -----

// Relayout: a warp takes 32 scales of a row. One layout is copied.

// CHECK-LABEL: func.func @relayout(
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         mxgpu.launch @kernels::@relayout_relayout
// CHECK:         mxgpu.launch @kernels::@relayout_relayout_0
// CHECK:         "expected dimension 0 of input to be %lld, found %lld"
// CHECK:         memref.copy
// CHECK-LABEL: mxgpu.kernel @relayout_relayout(
// CHECK-SAME:    %[[S:[a-z_0-9]*]]: memref<?x?xf8E8M0FNU>, %[[T:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E8M0FNU>) {
// CHECK:         %[[ROWS:.*]] = memref.dim %[[S]]
// CHECK:         %[[BLOCKS:.*]] = memref.dim %[[S]]
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [128, 32] of(%[[ROWS]], %[[BLOCKS]],
// CHECK:         mxgpu.role @relayout warps(8) {
// CHECK-COUNT-16:    mxgpu.load_scale %[[S]]
// CHECK-COUNT-16:    mxgpu.store_scales %{{.*}} into %[[T]][%{{.*}}, %{{.*}}] of(%[[ROWS]], %[[BLOCKS]]) : f8E8M0FNU
// CHECK-LABEL: mxgpu.kernel @relayout_relayout_0(
// CHECK-SAME:    %[[T:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[S:[a-z_0-9]*]]: memref<?x?xf8E8M0FNU>) {
// CHECK:         mxgpu.load_scale %[[T]]
// CHECK:         mxgpu.store_scales %{{.*}} into %[[S]]
func.func @relayout(%s: memref<?x?xf8E8M0FNU>, %t: memref<?x?x32x4x4xf8E8M0FNU>, %u: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.relayout ins(%s : memref<?x?xf8E8M0FNU>) outs(%t : memref<?x?x32x4x4xf8E8M0FNU>)
  mx.relayout ins(%t : memref<?x?x32x4x4xf8E8M0FNU>) outs(%s : memref<?x?xf8E8M0FNU>)
  mx.relayout ins(%t : memref<?x?x32x4x4xf8E8M0FNU>) outs(%u : memref<?x?x32x4x4xf8E8M0FNU>)
  return
}

// -----

// Matrices of a batch lie below each other, each with tiles of its own: a row
// behind its matrix is one that does not exist.
// CHECK-LABEL: func.func @relayout_batch(
// CHECK:         "expected dimension 0 of scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of scales to be %lld, found %lld"
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : memref<?x?x?xf8E8M0FNU> into memref<?x?xf8E8M0FNU>
// CHECK:         memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2], [3], [4], [5]] :
// CHECK-LABEL: mxgpu.kernel @relayout_batch_relayout(
// CHECK-SAME:    %[[S:[a-z_0-9]*]]: memref<?x?xf8E8M0FNU>, %[[T:[a-z_0-9]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[ROWS:[a-z_0-9]*]]: index) {
// CHECK:         %[[ALL:.*]] = memref.dim %[[S]]
// CHECK:         arith.ceildivui %[[ROWS]]
// CHECK:         mxgpu.role @relayout warps(8) {
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %[[ROWS]]
// CHECK:         %[[ROW:.*]] = arith.select %[[EXISTS]], %{{.*}}, %[[ALL]]
// CHECK:         mxgpu.load_scale %[[S]][%[[ROW]],
func.func @relayout_batch(%s: memref<?x?x?xf8E8M0FNU>, %t: memref<?x?x?x32x4x4xf8E8M0FNU>) {
  mx.relayout ins(%s : memref<?x?x?xf8E8M0FNU>) outs(%t : memref<?x?x?x32x4x4xf8E8M0FNU>)
  return
}

// -----

// Names of kernels do not clash: with one another, or with what is there.

// CHECK: func.func private @kernels()
// CHECK: gpu.module @kernels_0
// CHECK: mxgpu.kernel @f_quantize(
// CHECK: mxgpu.kernel @f_quantize_0(
func.func @f(%x: memref<32x32xf32>, %e: memref<32x32xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<32x32xf32>) outs(%e, %s : memref<32x32xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
  mx.quantize ins(%x : memref<32x32xf32>) outs(%e, %s : memref<32x32xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
  return
}
func.func private @kernels()

// -----

// Without mx operations there are no kernels, and what does not touch memory is
// free.

// CHECK-LABEL: func.func @host
// CHECK-NEXT:    memref.dim
// CHECK-NOT:   gpu.module
func.func @host(%x: memref<?xf32>, %i: index) -> index {
  %d = memref.dim %x, %i : memref<?xf32>
  return %d : index
}

// -----

// Copies that bufferization makes become the runtime's.

// CHECK-LABEL: func.func @copies
// CHECK: memref.copy
func.func @copies(%x: memref<32x32xf32>, %z: memref<32x32xf32>, %e: memref<32x32xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  memref.copy %z, %x : memref<32x32xf32> to memref<32x32xf32>
  mx.quantize ins(%x : memref<32x32xf32>) outs(%e, %s : memref<32x32xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
  return
}

// -----

// A prologue is inlined on what a thread has loaded of the inputs, gathered
// rows of them; where there is nothing, it is 0 that is quantized.

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
// CHECK:             %[[A:.*]] = mxgpu.load_block %[[X]][%[[FROM]], %[[COLUMN:.*]]] : memref<?x256xbf16> -> vector<16xbf16>
// CHECK:             %[[B:.*]] = mxgpu.load_block %[[Y]][%[[FROM]], %[[COLUMN]]] : memref<?x256xf32> -> vector<16xf32>
// CHECK:             %[[WEIGHT:.*]] = memref.load %[[W]][%[[ROW]]]
// CHECK:             %[[C:.*]] = arith.truncf %[[B]] : vector<16xf32> to vector<16xbf16>
// CHECK:             %[[D:.*]] = arith.addf %[[A]], %[[C]] : vector<16xbf16>
// CHECK:             %[[WIDE:.*]] = arith.extf %[[D]]
// CHECK:             %[[WEIGHTS:.*]] = vector.broadcast %[[WEIGHT]]
// CHECK:             %[[V:.*]] = arith.addf %[[WIDE]], %[[WEIGHTS]] : vector<16xf32>
// CHECK:             arith.cmpi ult, %[[FROM]]
// CHECK:             %[[H:.*]] = arith.select %{{.*}}, %[[V]], %{{.*}} : vector<16xf32>
// CHECK:             mxgpu.quantize_block %[[H]]
func.func @prologue(%x: memref<?x256xbf16>, %y: memref<?x256xf32>, %n: memref<?xi32>, %w: memref<?xf32>,
                    %e: memref<?x256xf8E4M3FN>, %s: memref<?x8xf8E8M0FNU>) {
  mx.quantize ins(%x, %y : memref<?x256xbf16>, memref<?x256xf32>) gather(%n : memref<?xi32>)
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

// Of a quantized input codes and scales are read, all before the first are used.

// CHECK-LABEL: func.func @requantize(
// CHECK:         "expected dimension 0 of input_scales to be %lld, found %lld"
// CHECK-LABEL: mxgpu.kernel @requantize_quantize(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x?xi8>, %[[S:[^:]*]]: memref<?x?xf8E4M3FN>, %[[Y:[^:]*]]: memref<?x?xbf16>,
// CHECK:         %[[BYTES:.*]] = memref.dim %[[X]], %c1
// CHECK:         arith.muli %[[BYTES]], %c2
// CHECK:         mxgpu.for_each_work_tile
// CHECK:           %[[Q:.*]] = mxgpu.load_block %[[X]][%[[ROW:.*]], %[[COLUMN:.*]]] in_bounds : memref<?x?xi8> -> vector<16xf4E2M1FN>
// CHECK:           %[[BLOCK:.*]] = arith.divui %[[COLUMN]], %c16
// CHECK:           %[[F:.*]] = mxgpu.load_scale %[[S]][%[[ROW]], %[[BLOCK]]] : memref<?x?xf8E4M3FN> -> f8E4M3FN
// CHECK:           %[[B:.*]] = mxgpu.load_block %[[Y]][%[[ROW]], %[[COLUMN]]] in_bounds : memref<?x?xbf16> -> vector<16xbf16>
// CHECK:           mxgpu.load_block %[[X]]
// CHECK:           %[[A:.*]] = mxgpu.dequantize_block %[[Q]] by %[[F]] : vector<16xf4E2M1FN>, f8E4M3FN -> vector<16xbf16>
// CHECK:           arith.mulf %[[A]], %[[B]] : vector<16xbf16>
// CHECK-NOT:       mxgpu.load_
func.func @requantize(%x: memref<?x?xf4E2M1FN>, %s: memref<?x?xf8E4M3FN>, %y: memref<?x?xbf16>,
                      %e: memref<?x?xf8E4M3FN>, %f: memref<?x?xf8E8M0FNU>) {
  mx.quantize ins(%x, %y : memref<?x?xf4E2M1FN>, memref<?x?xbf16>) input_scales(%s : memref<?x?xf8E4M3FN>)
      outs(%e, %f : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>) prologue {
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        %c = arith.mulf %a, %b : bf16
        mx.yield %c : bf16
      }
  return
}

// -----

// Rows of an input that is passed on go from registers to memory as they are.

// CHECK-LABEL: mxgpu.kernel @pass_rows_quantize(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x?xf8E4M3FN>, %[[S:[^:]*]]: memref<?x?xf8E8M0FNU>, %[[E:[^:]*]]: memref<?x?xf8E4M3FN>, %[[F:[^:]*]]: memref<?x?xf8E8M0FNU>
// CHECK:         %[[Q:.*]] = mxgpu.load_block %[[X]][%[[ROW:.*]], %[[COLUMN:.*]]] : memref<?x?xf8E4M3FN> -> vector<16xf8E4M3FN>
// CHECK:         %[[G:.*]] = mxgpu.load_scale %[[S]][%[[ROW]], %{{.*}}] : memref<?x?xf8E8M0FNU> -> f8E8M0FNU
// CHECK-NOT:     mxgpu.{{(de)?}}quantize_block
// CHECK:         mxgpu.store_block %[[Q]], %[[E]][%[[ROW]], %[[COLUMN]]]
// CHECK:         mxgpu.store_scales %[[G]] into %[[F]][%[[ROW]], %{{.*}}]
// CHECK-NOT:     mxgpu.{{(de)?}}quantize_block
func.func @pass_rows(%x: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %e: memref<?x?xf8E4M3FN>, %f: memref<?x?xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<?x?xf8E4M3FN>) input_scales(%s : memref<?x?xf8E8M0FNU>)
      outs(%e, %f : memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>)
  return
}

// -----

// For columns threads compute numbers; those of the rows do not wait for them.

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
  mx.quantize ragged = rows ins(%x : memref<?x?xf8E4M3FN>) input_scales(%s : memref<?x?xf8E8M0FNU>)
      gather(%i : memref<?xi32>) offsets(%o : memref<4xi32>)
      outs(%e, %f, %g, %h : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>,
                            memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>) axes = [1, 0]
  return
}

// -----

// Where only rows are written, there are no numbers.

// CHECK-LABEL: mxgpu.kernel @pass_groups_quantize(
// CHECK-NOT:     mxgpu.ring "in"
// CHECK-NOT:     mxgpu.role @produce
// CHECK-NOT:     quantize_block
func.func @pass_groups(%x: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %o: memref<4xi32>,
                       %e: memref<?x?xf8E4M3FN>, %f: memref<?x?x32x4x4xf8E8M0FNU>) {
  mx.quantize ragged = rows ins(%x : memref<?x?xf8E4M3FN>) input_scales(%s : memref<?x?xf8E8M0FNU>)
      offsets(%o : memref<4xi32>) outs(%e, %f : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>)
  return
}
