// RUN: mx-opt %s -split-input-file --mx-expand-schedules --cse | FileCheck %s
// RUN: mx-opt %s -split-input-file --mx-select-schedule=chip=sm_90a | FileCheck %s --check-prefix=COMPLETE

// Each schedule becomes a branch on the host. The first case that fits the sizes selects the
// branch.

!a = tensor<?x512xf8E4M3FN>
!as = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<256x512xf8E4M3FN>
!bs = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x256xbf16>

// CHECK-LABEL: func.func @tensors(
// CHECK-SAME:  %[[A:[^:]*]]: tensor<?x512xf8E4M3FN>
// CHECK-SAME:  %[[Y:[^:]*]]: tensor<?x256xbf16>)
// CHECK:       %[[M:.*]] = tensor.dim %[[A]], %c0 : tensor<?x512xf8E4M3FN>
// CHECK:       %[[SOME:.*]] = arith.cmpi sle, %[[M]], %c512 : index
// CHECK:       %[[LAST:.*]] = arith.select %[[SOME]], %c1, %c2 : index
// CHECK:       %[[FEW:.*]] = arith.cmpi sle, %[[M]], %c64 : index
// CHECK:       %[[CHOICE:.*]] = arith.select %[[FEW]], %c0, %[[LAST]] : index
// CHECK:       %[[R:.*]] = scf.index_switch %[[CHOICE]] -> tensor<?x256xbf16>
// CHECK-NEXT:  case 0 {
// CHECK-NEXT:    %[[Y0:.*]] = mx.matmul {{.*}} outs(%[[Y]] : tensor<?x256xbf16>) {mxgpu.schedule = #mxgpu.schedule<tile = [64, 256, 64],
// CHECK-NEXT:    scf.yield %[[Y0]]
// CHECK:       case 1 {
// CHECK-NEXT:    mx.matmul {{.*}}tile = [128, 128, 64]
// CHECK:       default {
// CHECK-NEXT:    mx.matmul {{.*}}tile = [256, 128, 64]
// CHECK-NOT:   mxgpu.schedules
// CHECK:       return %[[R]]

// Missing fields of a case are filled in as for a single schedule.
// COMPLETE-LABEL: func.func @tensors
// COMPLETE:       mxgpu.schedules = [#mxgpu.schedule_case<max_m = 64, schedule = <tile = [64, 256, 64], stages = {{[0-9]+}}, strategy = #mxgpu.wgmma_upcast_b,
// COMPLETE-SAME:  #mxgpu.schedule_case<schedule = <tile = [256, 128, 64], stages
func.func @tensors(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) {mxgpu.schedules = [
      #mxgpu.schedule_case<max_m = 64, schedule = #mxgpu.schedule<tile = [64, 256, 64]>>,
      #mxgpu.schedule_case<max_m = 512, schedule = #mxgpu.schedule<tile = [128, 128, 64]>>,
      #mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [256, 128, 64]>>]} -> !y
  return %0 : !y
}

// -----

// An operation on buffers has no results. Ragged rows are counted together, as are the columns of
// all B matrices. A case applies only if all its limits hold.

// CHECK-LABEL: func.func @groups(
// CHECK-SAME:  %[[A:[^:]*]]: memref<?x512xbf16>
// CHECK-SAME:  %[[O:[^:]*]]: memref<?xi32>
// CHECK-SAME:  %[[Y:[^:]*]]: memref<?x256xbf16>
// CHECK:       %[[M:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK:       %[[M0:.*]] = arith.cmpi sle, %[[M]], %{{.*}} : index
// CHECK:       %[[N:.*]] = memref.dim %[[Y]], %{{.*}}
// CHECK:       %[[C2:.*]] = arith.constant 2 : index
// CHECK:       %[[N2:.*]] = arith.muli %[[N]], %[[C2]] : index
// CHECK:       %[[N0:.*]] = arith.cmpi sle, %[[N2]], %{{.*}} : index
// CHECK:       %[[MN:.*]] = arith.andi %[[M0]], %[[N0]] : i1
// CHECK:       %[[K:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK:       %[[K0:.*]] = arith.cmpi sle, %[[K]]
// CHECK:       %[[MNK:.*]] = arith.andi %[[MN]], %[[K0]] : i1
// CHECK:       %[[G:.*]] = memref.dim %[[O]]
// CHECK:       %[[G0:.*]] = arith.cmpi sle, %[[G]]
// CHECK:       %[[ALL:.*]] = arith.andi %[[MNK]], %[[G0]] : i1
// CHECK:       %[[CHOICE:.*]] = arith.select %[[ALL]], %{{.*}}, %{{.*}} : index
// CHECK:       scf.index_switch %[[CHOICE]]
// CHECK:       case 0 {
// CHECK:         mx.grouped_matmul {{.*}}num_b = 2 {mxgpu.schedule = 
// CHECK:       default {
// CHECK:         mx.grouped_matmul {{.*}}num_b = 2 {mxgpu.schedule = 
// CHECK:       return

// COMPLETE-LABEL: func.func @groups
// COMPLETE:       mxgpu.schedules
func.func @groups(%a: memref<?x512xbf16>, %b: memref<?x512x512xf4E2M1FN>, %bs: memref<?x4x4x32x4x4xf8E8M0FNU>,
                  %o: memref<?xi32>, %y: memref<?x256xbf16>) {
  mx.grouped_matmul ragged = rows ins(%a, %b, %bs : memref<?x512xbf16>, memref<?x512x512xf4E2M1FN>,
      memref<?x4x4x32x4x4xf8E8M0FNU>) offsets(%o : memref<?xi32>) outs(%y : memref<?x256xbf16>) num_b = 2 {mxgpu.schedules = [
      #mxgpu.schedule_case<max_m = 64, max_n = 512, max_k = 512, max_groups = 8, schedule = #mxgpu.schedule<tile = [32, 256, 128], strategy = #mxgpu.wgmma_swap_ab>>,
      #mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [128, 256, 64]>>]} epilogue {
    ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
      %v = arith.mulf %gate, %up : f32
      %r = arith.truncf %v : f32 to bf16
      mx.yield %r : bf16
    }
  return
}

// -----

// The rows of masked groups are counted over all matrices.

!x = tensor<?x?x512xbf16>
!w = tensor<?x256x512xf4E2M1FN>
!ws = tensor<?x256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!r = tensor<?x?x256xbf16>

// CHECK-LABEL: func.func @masked(
// CHECK-SAME:  %[[X:[^:]*]]: tensor<?x?x512xbf16>
// CHECK:       %[[ROWS:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK:       %[[MATRICES:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK:       %[[M:.*]] = arith.muli %[[MATRICES]], %[[ROWS]] : index
// CHECK:       arith.cmpi sle, %[[M]]

// COMPLETE-LABEL: func.func @masked
func.func @masked(%x: !x, %w: !w, %ws: !ws, %counts: tensor<?xi32>, %r: !r) -> !r {
  %0 = mx.grouped_matmul ragged = rows masked ins(%x, %w, %ws : !x, !w, !ws) offsets(%counts : tensor<?xi32>) outs(%r : !r) {mxgpu.schedules = [
      #mxgpu.schedule_case<max_m = 64, schedule = #mxgpu.schedule<tile = [32, 256, 128], strategy = #mxgpu.wgmma_swap_ab>>,
      #mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [128, 256, 64]>>]} -> !r
  return %0 : !r
}

// -----

// Cases with the same schedule share one matmul.

!a = tensor<?x512xf8E4M3FN>
!as = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<256x512xf8E4M3FN>
!bs = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x256xbf16>

// CHECK-LABEL: func.func @again(
// CHECK:       %[[C:.*]] = arith.select %{{.*}}, %c1, %c0 : index
// CHECK:       %[[CHOICE:.*]] = arith.select %{{.*}}, %c0, %[[C]] : index
// CHECK:       scf.index_switch %[[CHOICE]]
// CHECK-NEXT:  case 0 {
// CHECK-NEXT:    mx.matmul {{.*}}tile = [64, 256, 64]
// CHECK:       default {
// CHECK-NEXT:    mx.matmul {{.*}}tile = [128, 128, 64]
// CHECK-NOT:   mx.matmul

// If all cases have the same schedule, no switch is needed.
// CHECK-LABEL: func.func @same(
// CHECK-NOT:   scf.index_switch
// CHECK:       mx.matmul {{.*}}tile = [64, 256, 64]
// CHECK-NOT:   mx.matmul
func.func @again(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) {mxgpu.schedules = [
      #mxgpu.schedule_case<max_m = 64, schedule = #mxgpu.schedule<tile = [64, 256, 64]>>,
      #mxgpu.schedule_case<max_m = 512, schedule = #mxgpu.schedule<tile = [128, 128, 64]>>,
      #mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [64, 256, 64]>>]} -> !y
  return %0 : !y
}
func.func @same(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) {mxgpu.schedules = [
      #mxgpu.schedule_case<max_m = 64, schedule = #mxgpu.schedule<tile = [64, 256, 64]>>,
      #mxgpu.schedule_case<schedule = #mxgpu.schedule<tile = [64, 256, 64]>>]} -> !y
  return %0 : !y
}
