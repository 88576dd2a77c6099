// RUN: mx-opt %s -split-input-file --convert-mx-to-mxgpu --canonicalize --cse | FileCheck %s

// With static shapes, no sizes are checked at run time, and the grid contains at most one CTA
// for each of the 2 x 3 tiles.

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
// CHECK:         return

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88"{{.*}}>]
// CHECK-LABEL: mxgpu.kernel @static_matmul(
// CHECK-SAME:    %[[A:.*]]: [[$A]], %[[B:.*]]: [[$B]], %[[SA:.*]]: [[$SA]], %[[SB:.*]]: [[$SB]], %[[R:.*]]: memref<256x768xf32>)
// CHECK-SAME:    schedule(<tile = [128, 256, 128], stages = 4, strategy = #mxgpu.tcgen05_block_scaled, raster = linear, epilogue = direct>) {
// CHECK:         %[[WORK:.*]] = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK:         %[[IN:.*]] = mxgpu.ring "in" : [[$IN]]
// CHECK:         %[[ACC:.*]] = mxgpu.ring "acc" : [[$ACC]]

// All rows are in bounds. If the result is aligned to 32 bytes and the reduction is not empty, its
// rows are stored as aligned vectors. An f32 result is stored without conversion.
// CHECK:         mxgpu.role @epilogue warps(4) {
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %{{.*}}, %[[START:.*]], %[[END:.*]]) in %[[WORK]] {
// CHECK:             %[[NONE:.*]] = arith.cmpi eq, %[[START]], %[[END]] : index
// CHECK:             %[[OWN:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK:             %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %[[ACC]]
// CHECK-NEXT:        scf.if %{{.*}} {
// CHECK-NEXT:          scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:                 mxgpu.load_accumulator %[[D]] column(%[[J]]) empty(%[[NONE]]) : {{.*}} -> !fragment
// CHECK:                 mxgpu.store_fragment %{{.*}}, %[[R]][%[[OWN]], %{{.*}}] when(%{{.*}}) aligned(32)
// CHECK:               } else {
// CHECK:                 %[[F:.*]] = mxgpu.to_rows %{{.*}}
// CHECK:                 mxgpu.store_fragment %[[F]], %[[R]][%[[OWN]], %{{.*}}] when(%{{.*}}) :
// CHECK:             mxgpu.consumer_release %[[STAGE]]

// Each step loads its tiles and their scales.
// CHECK:         mxgpu.role @load warps(1) elected {
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %[[ROW:.*]], %[[COLUMN:.*]], %[[START:.*]], %[[END:.*]]) in %[[WORK]] {
// CHECK-DAG:         %[[ROW_TILE:.*]] = arith.divui %[[ROW]], %{{.*}}
// CHECK-DAG:         %[[COLUMN_TILE:.*]] = arith.divui %[[COLUMN]], %{{.*}}
// CHECK:             mxgpu.for_each_k (%[[K:.*]], %{{.*}}, %{{.*}}) from %[[START]] to %[[END]] step 128 {
// CHECK:               %[[K_TILE:.*]] = arith.divui %[[K]], %{{.*}}
// CHECK:               %[[S:.*]], %[[TO_A:.*]], %[[TO_B:.*]], %[[TO_SA:.*]], %[[TO_SB:.*]] = mxgpu.producer_acquire %[[IN]]
// CHECK-DAG:           mxgpu.tma_load %[[A]][%[[ROW]], %[[K]]] into %[[TO_A]] for %[[S]]
// CHECK-DAG:           mxgpu.tma_load %[[B]][%[[COLUMN]], %[[K]]] into %[[TO_B]] for %[[S]]
// CHECK-DAG:           mxgpu.tma_load %[[SA]][%[[ROW_TILE]], %[[K_TILE]]] into %[[TO_SA]] for %[[S]]
// CHECK-DAG:           mxgpu.tma_load %[[SB]][%[[COLUMN_TILE]], %[[K_TILE]]] into %[[TO_SB]] for %[[S]]
// CHECK:               mxgpu.producer_commit %[[S]] :

// There is a single accumulator, and all steps except the first add to it.
// CHECK:         mxgpu.role @mma warps(1) elected {
// CHECK:           mxgpu.for_each_work_tile (%{{.*}}, %{{.*}}, %{{.*}}, %[[START:.*]], %[[END:.*]]) in %[[WORK]] {
// CHECK:             %[[NONE:.*]] = arith.cmpi eq, %[[START]], %[[END]] : index
// CHECK:             %[[STAGE:.*]], %[[D:.*]] = mxgpu.producer_acquire %[[ACC]]
// CHECK:             mxgpu.for_each_k (%{{.*}}, %{{.*}}, %[[FIRST:.*]]) from %[[START]] to %[[END]] step 128 {
// CHECK:               %[[MORE:.*]] = arith.xori %[[FIRST]], %{{.*}} : i1
// CHECK:               %[[S:.*]], %[[FROM_A:.*]], %[[FROM_B:.*]], %[[FROM_SA:.*]], %[[FROM_SB:.*]] = mxgpu.consumer_wait %[[IN]]
// CHECK-DAG:           %[[SFA:.*]] = mxgpu.copy_scales %[[FROM_SA]] : {{.*}} -> !mxgpu.scales<128>
// CHECK-DAG:           %[[SFB:.*]] = mxgpu.copy_scales %[[FROM_SB]] : {{.*}} -> !mxgpu.scales<256>
// CHECK:               mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %[[FROM_A]], %[[FROM_B]] scales(%[[SFA]], %[[SFB]] : {{.*}}) into %[[D]] accumulate(%[[MORE]]) :
// CHECK-NEXT:          mxgpu.consumer_release %[[S]]
// CHECK:             mxgpu.producer_commit %[[STAGE]] empty(%[[NONE]])
func.func @static(%a: memref<256x512xf8E4M3FN>, %as: memref<2x4x32x4x4xf8E8M0FNU>,
                  %b: memref<768x512xf8E4M3FN>, %bs: memref<6x4x32x4x4xf8E8M0FNU>, %y: memref<256x768xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : memref<256x512xf8E4M3FN>, memref<2x4x32x4x4xf8E8M0FNU>, memref<768x512xf8E4M3FN>, memref<6x4x32x4x4xf8E8M0FNU>)
      outs(%y : memref<256x768xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 4, raster = linear, epilogue = direct>}
  return
}

// -----

// With dynamic shapes, the host checks the sizes, and the kernel takes the size of the reduction as
// an argument.

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x?xf8E4M3FN>, %[[AS:[^:]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[B:[^:]*]]: memref<?x?xf8E4M3FN>, %[[BS:[^:]*]]: memref<?x?x32x4x4xf8E8M0FNU>, %[[Y:[^:]*]]: memref<?x?xbf16>
// CHECK:         %[[M:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK:         %[[N:.*]] = memref.dim %[[B]], %{{.*}}
// CHECK:         %[[K:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK:         mxgpu.require %{{.*}}, "expected at most %lld rows of a, found %lld"(%{{.*}}, %[[M]])
// CHECK:         "expected at most %lld rows of b, found %lld"(%{{.*}}, %[[N]])
// CHECK:         "expected at most %lld columns of a, found %lld"(%{{.*}}, %[[K]])
// CHECK:         %[[REST:.*]] = arith.remui %[[K]], %{{.*}}
// CHECK:         %[[OK:.*]] = arith.cmpi eq, %[[REST]], %{{.*}}
// CHECK:         %[[BELOW:.*]] = arith.subi %[[K]], %[[REST]]
// CHECK:         %[[ABOVE:.*]] = arith.addi %[[BELOW]], %{{.*}}
// CHECK:         mxgpu.require %[[OK]], "expected dimension 1 of a to be a multiple of 32, found %lld; the nearest are %lld and %lld"(%[[K]], %[[BELOW]], %[[ABOVE]])
// CHECK:         mxgpu.require %{{.*}}, "expected dimension 1 of b to be %lld, found %lld"(%[[K]], %{{.*}})
// CHECK:         "expected dimension 0 of outs to be %lld, found %lld"(%[[M]], %{{.*}})
// CHECK:         "expected dimension 1 of outs to be %lld, found %lld"(%[[N]], %{{.*}})
// CHECK:         "expected dimension 0 of a_scales to be %lld, found %lld"(%{{.*}}, %{{.*}})
// CHECK:         "expected dimension 1 of a_scales to be %lld, found %lld"(%{{.*}}, %{{.*}})
// CHECK:         "expected dimension 0 of b_scales to be %lld, found %lld"
// CHECK:         "expected dimension 1 of b_scales to be %lld, found %lld"
// CHECK:         "expected the address of a to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         "expected the address of b to be a multiple of 16, found %lld; the nearest are %lld and %lld"
// CHECK:         mxgpu.require %{{.*}}, "expected at most %lld work tiles, found %lld"(%{{.*}}, %{{.*}})
// CHECK-NOT:     mxgpu.require
// CHECK:         mxgpu.launch @kernels::@dynamic_matmul grid(%{{.*}}) args({{.*}}, %[[Y]], %[[K]] : {{.*}}, memref<?x?xbf16>, index)

// CHECK-LABEL: mxgpu.kernel @dynamic_matmul(
// CHECK-SAME:    %[[R:[a-z_]*]]: memref<?x?xbf16>, %[[REDUCTION:[a-z_0-9]*]]: index)
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[R]], %c0
// CHECK-DAG:     %[[COLUMNS:.*]] = memref.dim %[[R]], %c1
// CHECK:         mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%[[ROWS]], %[[COLUMNS]], %[[REDUCTION]])
// A bf16 result is rounded once.
// CHECK:         %[[F_SUMS:.*]] = mxgpu.load_accumulator
// CHECK:         %[[F:.*]] = mxgpu.to_rows %[[F_SUMS]]
// CHECK:         %[[G:.*]] = arith.truncf %[[F]] : vector<32xf32> to vector<32xbf16>
// CHECK:         mxgpu.store_fragment %[[G]], %[[R]]
func.func @dynamic(%a: memref<?x?xf8E4M3FN>, %as: memref<?x?x32x4x4xf8E8M0FNU>,
                   %b: memref<?x?xf8E4M3FN>, %bs: memref<?x?x32x4x4xf8E8M0FNU>, %y: memref<?x?xbf16>) {
  mx.matmul ins(%a, %as, %b, %bs : memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>, memref<?x?xf8E4M3FN>, memref<?x?x32x4x4xf8E8M0FNU>)
      outs(%y : memref<?x?xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 6, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>, raster = linear, epilogue = direct>}
  return
}

// -----

// With strided rows, the host checks the alignment of the stride, and the tensor map includes the
// stride.

// CHECK-LABEL: func.func @slices(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x128xf8E4M3FN, strided<[?, 1], offset: ?>>,
// CHECK-DAG:     %{{.*}}, %{{.*}}, %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[A]]
// CHECK:         "expected the row stride of a to be a multiple of 16, found %lld; the nearest are %lld and %lld"(%[[STRIDES]]#0, %{{.*}}, %{{.*}})
// CHECK:         mxgpu.require %{{.*}}, "expected the row stride of a to be at least the row length %lld, found %lld"(%{{.*}}, %[[STRIDES]]#0)
// CHECK:         "expected the address of a to be a multiple of 16, found %lld; the nearest are %lld and %lld"(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NOT:     "expected the stride
// CHECK:         mxgpu.encode_tensor_map %[[A]] : memref<?x128xf8E4M3FN, strided<[?, 1], offset: ?>>
!slice = memref<?x128xf8E4M3FN, strided<[?, 1], offset: ?>>
func.func @slices(%a: !slice, %as: memref<?x1x32x4x4xf8E8M0FNU>, %b: memref<128x128xf8E4M3FN>, %bs: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<?x128xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !slice, memref<?x1x32x4x4xf8E8M0FNU>, memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>)
      outs(%y : memref<?x128xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>}
  return
}
