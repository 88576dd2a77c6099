// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// Round-trips every operation.

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
!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xi8>>
!held = !mxgpu.fragment<128x4xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>

gpu.module @kernels {
  // CHECK-LABEL: mxgpu.kernel @all(
  // CHECK-SAME:    %{{.*}}: !map, %[[NUMBER:[a-z0-9]*]]: i32, %[[I:.*]]: index)
  mxgpu.kernel @all(%map: !map, %number: i32, %i: index) cluster(2) {
    // CHECK: %[[TMEM:.*]] = mxbar.tensor_memory columns(512) slot(83000) warp(3){{$}}
    %tmem = mxbar.tensor_memory columns(512) slot(83000) warp(3)
    // CHECK: %[[IN:.*]] = mxbar.placed_ring "in" offsets [0, 16384] stride(17408) barriers(16896) full(2) empty(1) : !bulk_copy_ring
    %in = mxbar.placed_ring "in" offsets [0, 16384] stride(17408) barriers(16896) full(2) empty(1) : !in
    // CHECK: %[[ACC:.*]] = mxbar.placed_ring "acc" offsets [0] stride(16) barriers(69632) full(1) empty(4) other_empty(3) : !mma_commit_ring
    %acc = mxbar.placed_ring "acc" offsets [0] stride(16) barriers(69632) full(1) empty(4) other_empty(3) : !acc
    // CHECK: mxbar.placed_ring "out" offsets [69760] stride(4096) : !threads_ring
    %out = mxbar.placed_ring "out" offsets [69760] stride(4096) : !out
    %work_tiles = mxbar.placed_ring "work_tiles" offsets [82048] stride(32) barriers(82064) full(1) empty(1) : !work_tile
    mxgpu.role @role warps(4) {
      // Results get names such as %stage and %end.
      // CHECK: %stage = mxbar.get_stage %[[IN]][0] : !bulk_copy_ring
      %stage = mxbar.get_stage %in[0] : !in
      // CHECK-NEXT: %end = mxbar.get_stage %[[IN]][4] : !bulk_copy_ring
      %last = mxbar.get_stage %in[4] : !in
      // CHECK-NEXT: %next, %next_parity = mxbar.advance %stage, %[[NUMBER]] in(%stage, %end) : !bulk_copy_stage
      %1, %2 = mxbar.advance %stage, %number in(%stage, %last) : !in_stage
      // CHECK-NEXT: %a, %sf = mxbar.stage_buffers %[[IN]], %next : !bulk_copy_ring, !bulk_copy_stage
      %3, %4 = mxbar.stage_buffers %in, %1 : !in, !in_stage
      // CHECK-NEXT: %full, %empty = mxbar.stage_barriers %[[IN]], %next : !bulk_copy_ring, !bulk_copy_stage
      %5, %6 = mxbar.stage_barriers %in, %1 : !in, !in_stage
      // CHECK-NEXT: mxbar.wait %full parity(%next_parity){{$}}
      mxbar.wait %5 parity(%2)
      // CHECK-NEXT: mxbar.wait %full parity(%next_parity) pair
      mxbar.wait %5 parity(%2) pair
      // CHECK-NEXT: mxbar.arrive %empty : !mxbar.barrier{{$}}
      mxbar.arrive %6 : !mxbar.barrier
      // CHECK-NEXT: mxbar.arrive %empty count(3) : !mxbar.barrier{{$}}
      mxbar.arrive %6 count(3) : !mxbar.barrier
      // CHECK-NEXT: %[[LEADERS:.*]] = mxbar.leader_barrier %full
      %7 = mxbar.leader_barrier %5
      // CHECK-NEXT: mxbar.arrive %[[LEADERS]] expect(33792) : !mxbar.barrier<pair>
      mxbar.arrive %7 expect(33792) : !mxbar.barrier<pair>
      // CHECK-NEXT: mxbar.arrive %empty both : !mxbar.barrier{{$}}
      mxbar.arrive %6 both : !mxbar.barrier
      // CHECK-NEXT: mxbar.arrive %empty both of_async : !mxbar.barrier{{$}}
      mxbar.arrive %6 both of_async : !mxbar.barrier
      // CHECK-NEXT: mxbar.commit %empty{{$}}
      mxbar.commit %6
      // CHECK-NEXT: mxbar.commit %empty pair
      mxbar.commit %6 pair

      // CHECK-NEXT: %[[D0:.*]] = mxbar.get_stage %[[ACC]][0] : !mma_commit_ring
      %8 = mxbar.get_stage %acc[0] : !acc
      // CHECK-NEXT: %previous, %previous_parity = mxbar.previous_stage %[[D0]], %[[NUMBER]] : !mma_commit_stage
      %9, %10 = mxbar.previous_stage %8, %number : !acc_stage
      // CHECK-NEXT: %d = mxbar.stage_buffers %[[ACC]], %previous tensor_memory(%[[TMEM]]) : !mma_commit_ring, !mma_commit_stage
      %11 = mxbar.stage_buffers %acc, %9 tensor_memory(%tmem) : !acc, !acc_stage

      // CHECK-NEXT: %[[C0:.*]] = mxbar.get_stage %{{.*}}[0] : !threads_ring
      %12 = mxbar.get_stage %out[0] : !out
      // CHECK-NEXT: %[[C1:.*]] = mxbar.next_stage %[[C0]] : !threads_stage
      %13 = mxbar.next_stage %12 : !out_stage
      // CHECK-NEXT: %c = mxbar.stage_buffers %{{.*}}, %[[C1]] warp(%[[NUMBER]]) : !threads_ring, !threads_stage
      %14 = mxbar.stage_buffers %out, %13 warp(%number) : !out, !out_stage
      // CHECK-NEXT: mxbar.buffer_address %c : !{{.*}} -> !llvm.ptr<3>
      %15 = mxbar.buffer_address %14 : !c -> !llvm.ptr<3>

      // CHECK-NEXT: %[[U0:.*]] = mxbar.get_stage
      %16 = mxbar.get_stage %work_tiles[0] : !work_tile
      // CHECK-NEXT: %work_tile = mxbar.stage_buffers
      %17 = mxbar.stage_buffers %work_tiles, %16 : !work_tile, !unit_stage
      // CHECK-NEXT: %[[FULL:.*]], %{{.*}} = mxbar.stage_barriers
      %18, %19 = mxbar.stage_barriers %work_tiles, %16 : !work_tile, !unit_stage
      // CHECK-NEXT: mxbar.request_work_tile %work_tile, %[[FULL]] : !
      mxbar.request_work_tile %17, %18 : !unit_buffer
      // CHECK-NEXT: mxbar.request_work_tile %work_tile, %[[FULL]] pair : !
      mxbar.request_work_tile %17, %18 pair : !unit_buffer

      // CHECK-NEXT: mxbar.load_box %{{.*}}[%[[I]]] into %a at %full : !map, !smem{{[0-9]*}}, !mxbar.barrier{{$}}
      mxbar.load_box %map[%i] into %3 at %5 : !map, !a, !mxbar.barrier
      // CHECK-NEXT: mxbar.load_box %{{.*}}[] into %a box(%[[I]]) at %[[LEADERS]] cache = evict_last : !map, !smem{{[0-9]*}}, !mxbar.barrier<pair>
      mxbar.load_box %map[] into %3 box(%i) at %7 cache = evict_last : !map, !a, !mxbar.barrier<pair>
      // CHECK-NEXT: mxbar.copy_to_columns %sf tensor_memory(%[[TMEM]]) column(4) : !smem{{[0-9]*}} -> !mxgpu.scales<128>
      %20 = mxbar.copy_to_columns %4 tensor_memory(%tmem) column(4) : !sf -> !mxgpu.scales<128>
      // CHECK-NEXT: mxbar.copy_to_columns %sf tensor_memory(%[[TMEM]]) column(8) place(%[[NUMBER]]) pair : !smem{{[0-9]*}} -> !mxgpu.scales<128>
      %21 = mxbar.copy_to_columns %4 tensor_memory(%tmem) column(8) place(%number) pair : !sf -> !mxgpu.scales<128>
      %22 = mxgpu.zero_fragment : !held
      // CHECK: %added = mxbar.exchange_partials %{{.*}} thread(%[[I]]) offset(4096) : !fragment
      %23 = mxbar.exchange_partials %22 thread(%i) offset(4096) : !held
      // CHECK-NEXT: mxbar.exchange_partials %added thread(%[[I]]) distributed offset(0) : !fragment
      %24 = mxbar.exchange_partials %23 thread(%i) distributed offset(0) : !held
    }
  }
}
