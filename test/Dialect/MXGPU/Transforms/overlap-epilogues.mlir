// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources -o %t.mlir
// RUN: FileCheck %s --check-prefixes=CHECK,PLAIN < %t.mlir
// RUN: mx-opt %t.mlir --mxgpu-overlap-epilogues --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources -o %t.overlap.mlir
// RUN: FileCheck %s --check-prefixes=CHECK,OVERLAP < %t.overlap.mlir
// RUN: mx-opt %t.overlap.mlir --mxgpu-overlap-epilogues | diff %t.overlap.mlir -
// RUN: mx-test-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-overlap-epilogues --test-mxgpu-break-each -o /dev/null | FileCheck %s --check-prefix=EARLY

// Splits epilogues at the end of the shared columns. The kernels pass verification before
// and after the pass, and a second run of the pass changes nothing.

// The verifier rejects a release before the first loop and a second loop starting
// within the shared columns.
// EARLY: as it is: accepted
// EARLY: read-after-release 0: rejected, 'mxgpu.epilogue_column' op expected to use the stage before its release
// EARLY: read-after-release 4: rejected, 'mxgpu.epilogue_column' op expected to use the stage before its release
// EARLY: read-after-release 12: rejected, 'mxgpu.epilogue_column' op expected to use the stage before its release
// EARLY-COUNT-4: drain-earlier {{[0-3]}}: rejected, 'mxgpu.epilogue_column' op expected to use the stage before its release

!a = memref<1024x1024xf8E4M3FN>
!s = memref<8x8x32x4x4xf8E8M0FNU>
!b = memref<4x1024x1024xf8E4M3FN>
!bs = memref<4x8x8x32x4x4xf8E8M0FNU>
!gs = memref<12x8x32x4x4xf8E8M0FNU>
!e = memref<1024x512xf8E4M3FN>
!es = memref<12x4x32x4x4xf8E8M0FNU>

// PLAIN-DAG:   [[$RING:![a-z_0-9]+]] = !mxgpu.ring<1 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128)>
// OVERLAP-DAG: [[$RING:![a-z_0-9]+]] = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 64>
// OVERLAP-DAG: [[$ALL:![a-z_0-9]+]] = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 128>
// CHECK-DAG:   [[$APART:![a-z_0-9]+]] = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>

// Splits the loops of both branches at the end of the shared columns.
// CHECK-LABEL:   mxgpu.kernel @branches_matmul(
// CHECK:           %acc = mxgpu.ring "acc" : [[$RING]]
// CHECK:           mxgpu.role @epilogue
// CHECK:             %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %acc : [[$RING]]
// CHECK-NEXT:        scf.if %[[WHOLE:.*]] {
// PLAIN-NEXT:          scf.for %[[PLACE:.*]] = %c0 to %c256 step %c32 {
// PLAIN-NEXT:            %[[AT:.*]] = arith.addi %column, %[[PLACE]]
// PLAIN-NEXT:            mxgpu.load_accumulator %[[D]] column(%[[PLACE]])
// OVERLAP-NEXT:        scf.for %[[PLACE:.*]] = %c0 to %c64 step %c32 {
// OVERLAP-NEXT:          %[[COLUMN:.*]] = mxgpu.epilogue_column %[[STAGE]], %[[PLACE]] :
// OVERLAP-NEXT:          %[[AT:.*]] = arith.addi %column, %[[COLUMN]]
// OVERLAP-NEXT:          mxgpu.load_accumulator %[[D]] column(%[[COLUMN]])
// CHECK:                 mxgpu.store_fragment {{.*}}, %[[AT]]] {{.*}} aligned(32)
// CHECK:             } else {
// PLAIN-NEXT:          scf.for %{{.*}} = %c0 to %c256 step %c32 {
// OVERLAP-NEXT:        scf.for %{{.*}} = %c0 to %c64 step %c32 {
// CHECK:             mxgpu.consumer_release %[[STAGE]]
// PLAIN-NEXT:      }
// OVERLAP-NEXT:      scf.if %[[WHOLE]] {
// OVERLAP-NEXT:        scf.for %{{.*}} = %c64 to %c256 step %c32 {
// OVERLAP:           } else {
// OVERLAP-NEXT:        scf.for %{{.*}} = %c64 to %c256 step %c32 {
// PLAIN-NOT:       mxgpu.epilogue_column
// CHECK:           mxgpu.role @mma
// CHECK:             mxgpu.producer_acquire %acc : [[$RING]]
func.func @branches(%a: !a, %as: !s, %b: !a, %bs: !s, %c: memref<1024x1024xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%c : memref<1024x1024xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 64>>}
  return
}

// Each step reads the same columns of both B matrices. The second loop starts with the
// scales that the first loop carries.
// CHECK-LABEL:   mxgpu.kernel @carried_grouped_matmul(
// CHECK:           mxgpu.role @epilogue
// CHECK:             %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %acc : [[$RING]]
// PLAIN-NEXT:        %[[WORDS:.*]] = scf.for %[[PLACE:.*]] = %c0 to %c128 step %c32 iter_args(%{{.*}} = %c0_i32)
// PLAIN:               mxgpu.load_accumulator %[[D]] column(%[[PLACE]])
// PLAIN-NEXT:          %[[UP:.*]] = arith.addi %[[PLACE]], %c128
// PLAIN-NEXT:          mxgpu.load_accumulator %[[D]] column(%[[UP]])
// OVERLAP-NEXT:      %[[SHARED:.*]] = scf.for %[[PLACE:.*]] = %c0 to %c64 step %c32 iter_args(%{{.*}} = %c0_i32)
// OVERLAP-NEXT:        %[[GATE:.*]] = mxgpu.epilogue_column %[[STAGE]], %[[PLACE]] of 2
// OVERLAP:             mxgpu.load_accumulator %[[D]] column(%[[GATE]])
// OVERLAP-NEXT:        %[[UP:.*]] = mxgpu.epilogue_column %[[STAGE]], %[[PLACE]] b 1 of 2
// OVERLAP-NEXT:        mxgpu.load_accumulator %[[D]] column(%[[UP]])
// OVERLAP:             arith.divui %[[GATE]], %c32
// CHECK:             }
// CHECK:             mxgpu.consumer_release %[[STAGE]]
// OVERLAP-NEXT:      %[[WORDS:.*]] = scf.for %{{.*}} = %c64 to %c128 step %c32 iter_args(%{{.*}} = %[[SHARED]])
// CHECK:             arith.select %{{.*}}, %[[WORDS]], %c0_i32
func.func @carried(%a: !a, %as: !gs, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: !e, %es: !es) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !gs, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %es : !e, !es) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 64>>}
      epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %col: index):
    %h = arith.mulf %gate, %up : f32
    mx.yield %h : f32
  }
  return
}

// All columns of a matrix are shared, so no loop follows the release.
// CHECK-LABEL:   mxgpu.kernel @all_grouped_matmul(
// OVERLAP:         %acc = mxgpu.ring "acc" : [[$ALL]]
// CHECK:           mxgpu.role @epilogue
// CHECK:             %[[STAGE:.*]], %{{.*}} = mxgpu.consumer_wait %acc
// CHECK-NEXT:        %[[WORDS:.*]] = scf.for %[[PLACE:.*]] = %c0 to %c128 step %c32 iter_args(
// OVERLAP-NEXT:        mxgpu.epilogue_column %[[STAGE]], %[[PLACE]] of 2
// CHECK:             mxgpu.consumer_release %[[STAGE]]
// CHECK-NOT:         scf.for
// CHECK:           mxgpu.role @load
func.func @all(%a: !a, %as: !gs, %b: !b, %bs: !bs, %o: memref<4xi32>, %e: !e, %es: !es) {
  mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !gs, !b, !bs)
      offsets(%o : memref<4xi32>) outs(%e, %es : !e, !es) num_b = 2
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 256, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 128>>}
      epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %col: index):
    %h = arith.mulf %gate, %up : f32
    mx.yield %h : f32
  }
  return
}

// Keeps a kernel without overlap unchanged.
// CHECK-LABEL:   mxgpu.kernel @apart_matmul(
// CHECK:           %acc = mxgpu.ring "acc" : [[$APART]]
// CHECK:           mxgpu.role @epilogue
// CHECK:             scf.for %[[PLACE:.*]] = %c0 to %c128 step %c32 {
// CHECK-NOT:         mxgpu.epilogue_column
// CHECK:               mxgpu.load_accumulator %{{.*}} column(%[[PLACE]])
// CHECK:             mxgpu.consumer_release %acc_stage
// CHECK-NOT:         scf.for
// CHECK:           mxgpu.role @load
func.func @apart(%a: !a, %as: !s, %b: !a, %bs: !s, %c: memref<1024x1024xf32>) {
  mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%c : memref<1024x1024xf32>)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], stages = 2, strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2>>}
  return
}
