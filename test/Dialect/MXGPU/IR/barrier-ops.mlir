// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// What mxgpu-lower-rings makes of stages; every operation once.

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!out = !mxgpu.ring<3 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!out_stage = !mxgpu.stage<!out>
!work_tile = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!unit_stage = !mxgpu.stage<!work_tile>
!unit_buffer = !mxgpu.buffer<smem<16xi8>>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>

gpu.module @kernels {
  // CHECK-LABEL: mxgpu.kernel @all(
  // CHECK-SAME:    %[[NUMBER:.*]]: i32)
  mxgpu.kernel @all(%number: i32) cluster(2) {
    // CHECK: %[[TMEM:.*]] = mxgpu.tensor_memory{{$}}
    %tmem = mxgpu.tensor_memory
    // CHECK: %[[IN:.*]] = mxgpu.ring "in"
    %in = mxgpu.ring "in" : !in
    // CHECK: mxgpu.init_barriers %[[IN]] full(2) empty(1) : !bulk_copy_ring
    mxgpu.init_barriers %in full(2) empty(1) : !in
    // CHECK: %[[ACC:.*]] = mxgpu.ring "acc"
    %acc = mxgpu.ring "acc" : !acc
    // CHECK: mxgpu.init_barriers %[[ACC]] full(1) empty(4) other_empty(3) : !mma_commit_ring
    mxgpu.init_barriers %acc full(1) empty(4) other_empty(3) : !acc
    %out = mxgpu.ring "out" : !out
    %work_tiles = mxgpu.ring "work_tiles" : !work_tile
    mxgpu.role @role warps(4) {
      // Names say what values are.
      // CHECK: %stage = mxgpu.get_stage %[[IN]][0] : !bulk_copy_ring
      %stage = mxgpu.get_stage %in[0] : !in
      // CHECK-NEXT: %end = mxgpu.get_stage %[[IN]][4] : !bulk_copy_ring
      %last = mxgpu.get_stage %in[4] : !in
      // CHECK-NEXT: %next, %next_parity = mxgpu.advance %stage, %[[NUMBER]] in(%stage, %end) : !bulk_copy_stage
      %1, %2 = mxgpu.advance %stage, %number in(%stage, %last) : !in_stage
      // CHECK-NEXT: %a, %sf = mxgpu.stage_buffers %[[IN]], %next : !bulk_copy_ring, !bulk_copy_stage
      %3, %4 = mxgpu.stage_buffers %in, %1 : !in, !in_stage
      // CHECK-NEXT: %full, %empty = mxgpu.stage_barriers %[[IN]], %next : !bulk_copy_ring, !bulk_copy_stage
      %5, %6 = mxgpu.stage_barriers %in, %1 : !in, !in_stage
      // CHECK-NEXT: mxgpu.wait %full parity(%next_parity){{$}}
      mxgpu.wait %5 parity(%2)
      // CHECK-NEXT: mxgpu.wait %full parity(%next_parity) pair
      mxgpu.wait %5 parity(%2) pair
      // CHECK-NEXT: mxgpu.arrive %empty : !mxgpu.barrier{{$}}
      mxgpu.arrive %6 : !mxgpu.barrier
      // CHECK-NEXT: mxgpu.arrive %empty count(3) : !mxgpu.barrier{{$}}
      mxgpu.arrive %6 count(3) : !mxgpu.barrier
      // CHECK-NEXT: %[[LEADERS:.*]] = mxgpu.leader_barrier %full
      %7 = mxgpu.leader_barrier %5
      // CHECK-NEXT: mxgpu.arrive %[[LEADERS]] expect(33792) : !mxgpu.barrier<pair>
      mxgpu.arrive %7 expect(33792) : !mxgpu.barrier<pair>
      // CHECK-NEXT: mxgpu.arrive_both %empty
      mxgpu.arrive_both %6
      // CHECK-NEXT: mxgpu.commit %empty{{$}}
      mxgpu.commit %6
      // CHECK-NEXT: mxgpu.commit %empty pair
      mxgpu.commit %6 pair

      // CHECK-NEXT: %[[D0:.*]] = mxgpu.get_stage %[[ACC]][0] : !mma_commit_ring
      %8 = mxgpu.get_stage %acc[0] : !acc
      // CHECK-NEXT: %other = mxgpu.other_stage %[[D0]] : !mma_commit_stage
      %9 = mxgpu.other_stage %8 : !acc_stage
      // CHECK-NEXT: mxgpu.stage_number %other : !mma_commit_stage
      %10 = mxgpu.stage_number %9 : !acc_stage
      // CHECK-NEXT: %d = mxgpu.stage_buffers %[[ACC]], %other tensor_memory(%[[TMEM]]) : !mma_commit_ring, !mma_commit_stage
      %11 = mxgpu.stage_buffers %acc, %9 tensor_memory(%tmem) : !acc, !acc_stage

      // CHECK-NEXT: %[[C0:.*]] = mxgpu.get_stage %{{.*}}[0] : !threads_ring
      %12 = mxgpu.get_stage %out[0] : !out
      // CHECK-NEXT: %[[C1:.*]] = mxgpu.next_stage %[[C0]] : !threads_stage
      %13 = mxgpu.next_stage %12 : !out_stage
      // CHECK-NEXT: %c = mxgpu.stage_buffers %{{.*}}, %[[C1]] warp(%[[NUMBER]]) : !threads_ring, !threads_stage
      %14 = mxgpu.stage_buffers %out, %13 warp(%number) : !out, !out_stage
      // CHECK-NEXT: mxgpu.buffer_address %c : !{{.*}} -> !llvm.ptr<3>
      %15 = mxgpu.buffer_address %14 : !c -> !llvm.ptr<3>

      // CHECK-NEXT: %[[U0:.*]] = mxgpu.get_stage
      %16 = mxgpu.get_stage %work_tiles[0] : !work_tile
      // CHECK-NEXT: %work_tile = mxgpu.stage_buffers
      %17 = mxgpu.stage_buffers %work_tiles, %16 : !work_tile, !unit_stage
      // CHECK-NEXT: %[[FULL:.*]], %{{.*}} = mxgpu.stage_barriers
      %18, %19 = mxgpu.stage_barriers %work_tiles, %16 : !work_tile, !unit_stage
      // CHECK-NEXT: mxgpu.request_work_tile %work_tile, %[[FULL]] : !
      mxgpu.request_work_tile %17, %18 : !unit_buffer
      // CHECK-NEXT: mxgpu.request_work_tile %work_tile, %[[FULL]] pair : !
      mxgpu.request_work_tile %17, %18 pair : !unit_buffer
    }
  }
}
