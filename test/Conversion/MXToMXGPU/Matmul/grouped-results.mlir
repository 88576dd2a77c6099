// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-overlap-epilogues --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources | FileCheck %s

// Stores results of grouped matmuls with ragged rows. The results combine two B matrices, are
// quantized, or are scattered to listed rows.

!a = memref<300x256xf8E4M3FN>
!as = memref<6x2x32x4x4xf8E8M0FNU>
!b = memref<4x512x256xf8E4M3FN>
!bs = memref<4x4x2x32x4x4xf8E8M0FNU>

// Each CTA of a pair loads the rows of one B matrix and multicasts the scales of these rows to both
// CTAs.
// CHECK-LABEL: mxgpu.kernel @parts_grouped_matmul(
// CHECK-SAME:      schedule(<tile = [256, 256, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2
// CHECK:         mxgpu.tile_scheduler groups({{.*}} tile [256, 128] ragged(
// CHECK-SAME:      of(%c300, %c256, %c256)

// The epilogue reads the same columns of both B matrices together and starts with the columns that
// it shares with the next accumulator. Four scales of a row form one word.
// CHECK:         mxgpu.role @epilogue
// CHECK:           %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %acc
// CHECK:           %[[WORD:.*]] = scf.for %[[PLACE:.*]] = %c0 to %c64 step %c32 iter_args(
// CHECK:             %[[GATE_COLUMN:.*]] = mxgpu.epilogue_column %[[STAGE]], %[[PLACE]] of 2
// CHECK:             %[[GATE_SUMS:.*]] = mxgpu.load_accumulator %[[D]] column(%[[GATE_COLUMN]])
// CHECK:             %[[UP_COLUMN:.*]] = mxgpu.epilogue_column %[[STAGE]], %[[PLACE]] b 1 of 2
// CHECK:             %[[UP_SUMS:.*]] = mxgpu.load_accumulator %[[D]] column(%[[UP_COLUMN]])
// CHECK-NEXT:        %[[GATE:.*]] = mxgpu.to_rows %[[GATE_SUMS]]
// CHECK-NEXT:        %[[UP:.*]] = mxgpu.to_rows %[[UP_SUMS]]
// CHECK:             %[[H:.*]] = arith.mulf %[[GATE]], %[[UP]]
// CHECK:             %[[Q:.*]], %[[F:.*]] = mxgpu.quantize_block %[[H]] scale_rounding = ceil
// CHECK:             scf.if
// CHECK:               mxgpu.store_block %[[Q]], %elements[
// CHECK:             arith.ori
// CHECK:           mxgpu.consumer_release %[[STAGE]]
// CHECK:           scf.for %{{.*}} = %c64 to %c128 step %c32 iter_args(%{{.*}} = %[[WORD]])
// CHECK:           scf.if
// CHECK:             vector.store %{{.*}} : memref<6x2x32x4x4xf8E8M0FNU>, vector<4xf8E8M0FNU>

// CHECK:         mxgpu.role @load
// CHECK:           mxgpu.for_each_work_tile (%[[GROUP:.*]], %{{.*}}, %[[COLUMN:.*]], %{{.*}}, %{{.*}}) in
// CHECK:             %[[FIRST:.*]] = arith.muli %[[GROUP]], %c2
// CHECK:             %[[PART:.*]] = arith.addi %[[FIRST]], %rank
// CHECK:             %[[ROWS:.*]] = arith.muli %[[PART]], %c256
// CHECK:             %[[ROW:.*]] = arith.addi %[[COLUMN]], %[[ROWS]]
// CHECK:             mxgpu.tma_load %b_map[%[[ROW]], %{{.*}}] into %b for %in_stage :
// CHECK:             mxgpu.tma_load %sfb_map[{{.*}}] into %sfb box(%rank) for %in_stage multicast
func.func @parts(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: !a, %s: !as) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %s : !a, !as) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [256, 256, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<ctas = 2, accumulators = 2, overlap = 64>>}
      epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %col: index):
    %h = arith.mulf %gate, %up : f32
    mx.yield %h : f32
  }
  return
}

// A row is not stored if the list omits the row or names a row that does not exist.
// CHECK-LABEL: mxgpu.kernel @scatter_grouped_matmul(
// CHECK:         mxgpu.role @epilogue
// CHECK:           %[[LISTED:.*]] = memref.load %[[LIST:.*]][%{{.*}}] : memref<300xi32>
// CHECK:           %[[TO:.*]] = arith.index_cast %[[LISTED]] : i32 to index
// CHECK:           %[[NAMED:.*]] = arith.cmpi ult, %[[TO]], %c150
// CHECK:           %[[PRESENT:.*]] = arith.andi %{{.*}}, %[[NAMED]]
// CHECK:           mxgpu.store_fragment %{{.*}}, %result[%[[TO]], %{{.*}}] when(%[[PRESENT]]) aligned(32) add
func.func @scatter(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: memref<4xi32>, %to: memref<300xi32>, %y: memref<150x512xf32>) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : memref<4xi32>) scatter(%to : memref<300xi32>) outs(%y : memref<150x512xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>}
  return
}

// With `masked`, the rows of an expert group are the first rows of its own matrix, so no rows are
// packed.
// CHECK-LABEL: mxgpu.kernel @masked_grouped_matmul(
// CHECK:         mxgpu.tile_scheduler groups({{.*}} ragged(%{{.*}} : memref<4xi32>) stride(%c200) of(%c800, %c512, %c256)
// CHECK:         mxgpu.role @load
// CHECK:           mxgpu.for_each_work_tile (%[[GROUP:.*]], %[[ROW:.*]], %{{.*}}, %{{.*}}, %{{.*}}) in
// CHECK-DAG:         %[[BEFORE:.*]] = arith.muli %[[GROUP]], %c2{{$| :}}
// CHECK-DAG:         %[[MATRIX:.*]] = arith.muli %[[GROUP]], %c200
// CHECK-DAG:         %[[IN:.*]] = arith.subi %[[ROW]], %[[MATRIX]]
// CHECK-DAG:         %[[TILE:.*]] = arith.divui %[[IN]], %c128
// CHECK:             %[[ROW_TILE:.*]] = arith.addi %[[TILE]], %[[BEFORE]]
// CHECK:             mxgpu.tma_load %sfa_map[%[[ROW_TILE]], %{{.*}}]
func.func @masked(%a: memref<4x200x256xf8E4M3FN>, %as: memref<4x2x2x32x4x4xf8E8M0FNU>, %b: !b, %bs: !bs, %o: memref<4xi32>, %y: memref<4x200x512xbf16>) {
  mx.grouped_matmul ragged = rows masked
      ins(%a, %as, %b, %bs : memref<4x200x256xf8E4M3FN>, memref<4x2x2x32x4x4xf8E8M0FNU>, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%y : memref<4x200x512xbf16>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2>}
  return
}

// CHECK-LABEL: mxgpu.kernel @combine_combine(
// CHECK:         mxgpu.store_fragment %{{.*}} when(%true) add : vector<4xf32>, memref<150x512xf32>
func.func @combine(%z: memref<300x512xbf16>, %o: memref<4xi32>, %to: memref<300xi32>, %y: memref<150x512xf32>) {
  mx.combine ins(%z : memref<300x512xbf16>) rows(%to : memref<300xi32>) offsets(%o : memref<4xi32>) outs(%y : memref<150x512xf32>)
  return
}
