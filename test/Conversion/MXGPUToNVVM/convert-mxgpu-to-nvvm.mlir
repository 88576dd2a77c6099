// RUN: mx-opt %s --mxgpu-assign-warps --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse --verify-roundtrip | FileCheck %s

// Lowers tensor core operations, and operations on stages and barriers. Other files in this
// directory test quantizers and reductions.

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<1x1x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<1x1x2x256xf8E8M0FNU>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!scales = !mxgpu.ring<2 x (sf: smem<1024xi8>), producer = bulk_copy, consumer = mma_commit>
!out = !mxgpu.ring<3 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!out_map = !mxgpu.tensor_map<32x32xf32, sw128>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // A stage in shared memory is represented by its base address; its barriers and buffers are at
  // constant offsets. The last stage is followed by the first, with the opposite parity. Bulk
  // copies list the innermost coordinate first.
  // CHECK-LABEL: llvm.func @shared(
  // CHECK-SAME:    %[[MAP:[a-z0-9]*]]: !llvm.ptr {
  // CHECK:         %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared
  // CHECK:         %[[FIRST:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]]
  // CHECK:         %[[AFTER:.*]] = llvm.getelementptr %[[SHARED]][69632]
  // CHECK:         %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[AFTER]]
  // CHECK-NEXT:    scf.for %[[I:.*]] = {{.*}} iter_args(%[[STAGE:.*]] = %[[FIRST]], %[[PARITY:.*]] = %{{.*}}) -> (!llvm.ptr<3>, i32)
  // CHECK:           %[[FULL:.*]] = llvm.getelementptr %[[STAGE]][16896]
  // CHECK:           %[[EMPTY:.*]] = llvm.getelementptr %[[STAGE]][16904]
  // CHECK-NEXT:      scf.while : () -> () {
  // CHECK-NEXT:        %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[EMPTY]], %[[PARITY]], %c10000000_i32 :
  // CHECK:             %[[AGAIN:.*]] = arith.xori %[[DONE]], %true
  // CHECK-NEXT:        scf.condition(%[[AGAIN]])
  // CHECK:           %[[NEXT:.*]] = llvm.getelementptr %[[STAGE]][17408]
  // CHECK:           %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
  // CHECK:           %[[NEXT_STAGE:.*]] = arith.select %[[WRAPS]], %[[FIRST]], %[[NEXT]]
  // CHECK:           %[[FLIP:.*]] = arith.extui %[[WRAPS]]
  // CHECK:           %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
  // CHECK-NEXT:      nvvm.mbarrier.arrive.expect_tx %[[FULL]], %c16896_i32
  // CHECK:           %[[ROW:.*]] = arith.index_cast %[[I]]
  // CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %[[STAGE]], %[[MAP]], %[[FULL]], box[%{{.*}}, %[[ROW]]] {isCTAOnly = true}
  // CHECK-NEXT:      nvvm.mbarrier.arrive %[[EMPTY]] :
  // CHECK-NEXT:      nvvm.mbarrier.arrive %[[EMPTY]], %c3_i32 :
  // CHECK-NEXT:      nvvm.tcgen05.commit %[[EMPTY]] :
  // CHECK-NEXT:      scf.yield %[[NEXT_STAGE]], %[[NEXT_PARITY]]
  mxgpu.kernel @shared(%map: !map, %n: index, %parity: i32) {
    %in = mxbar.placed_ring "in" offsets [0, 16384] stride(17408) barriers(16896) full(1) empty(1) : !in
    mxgpu.role @load warps(1) {
      %first = mxbar.get_stage %in[0] : !in
      %end = mxbar.get_stage %in[4] : !in
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %first, %odd = %parity) -> (!in_stage, i32) {
        %full, %empty = mxbar.stage_barriers %in, %stage : !in, !in_stage
        mxbar.wait %empty parity(%odd)
        %next, %next_odd = mxbar.advance %stage, %odd in(%first, %end) : !in_stage
        mxbar.arrive %full expect(16896) : !mxbar.barrier
        %a, %sf = mxbar.stage_buffers %in, %stage : !in, !in_stage
        mxbar.load_box %map[%i, %n] into %a at %full : !map, !a, !mxbar.barrier
        mxbar.arrive %empty : !mxbar.barrier
        mxbar.arrive %empty count(3) : !mxbar.barrier
        mxbar.commit %empty
        scf.yield %next, %next_odd : !in_stage, i32
      }
    }
  }

  // A stage in tensor memory is represented by its number. Each warp reads its own 32 lanes,
  // selected by bits 16 and up of the address. The loaded values are used only after the wait. An
  // unwritten accumulator reads as zeros.
  // CHECK-LABEL: llvm.func @tensor_memory(
  // CHECK-SAME:    %[[NONE:[a-z0-9]*]]: i1)
  // CHECK:         %[[TMEM:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
  // CHECK:         scf.for {{.*}} iter_args(%[[STAGE:.*]] = %c0_i32) -> (i32)
  // CHECK:           %[[OFFSET:.*]] = arith.muli %[[STAGE]], %c16_i32
  // CHECK:           %[[FULL:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]]
  // CHECK:             nvvm.mbarrier.try_wait %[[FULL]],
  // CHECK:           %[[COLUMNS:.*]] = arith.muli %[[STAGE]], %c128_i32
  // CHECK:           arith.addi %[[TMEM]], %[[COLUMNS]]
  // CHECK:           %[[LANES:.*]] = arith.shli %{{.*}}, %c16_i32
  // CHECK:           %[[ADDRESS:.*]] = arith.addi %{{.*}}, %[[LANES]]
  // CHECK-NEXT:      scf.if %[[NONE]] -> (vector<4xf32>) {
  // CHECK:           } else {
  // CHECK:             %[[POINTER:.*]] = llvm.inttoptr %[[ADDRESS]] : i32 to !llvm.ptr<6>
  // CHECK:             nvvm.tcgen05.ld %[[POINTER]]
  // CHECK-NEXT:        nvvm.tcgen05.wait <load>
  // CHECK:             llvm.inline_asm has_side_effects ""
  // CHECK:           %[[OTHER:.*]] = arith.xori %[[STAGE]], %c1_i32
  // CHECK-NEXT:      %[[OTHER_PARITY:.*]] = arith.xori %{{.*}}, %[[STAGE]]
  // CHECK:             nvvm.mbarrier.try_wait %{{.*}}, %[[OTHER_PARITY]]
  // CHECK:           scf.yield %[[OTHER]]
  mxgpu.kernel @tensor_memory(%n: index, %parity: i32, %out: memref<?x?xf32>, %none: i1) {
    %tmem = mxbar.tensor_memory columns(256) slot(32) warp(0)
    %acc = mxbar.placed_ring "acc" offsets [0] stride(16) barriers(0) full(1) empty(1) : !acc
    mxgpu.role @read warps(4) {
      %first = mxbar.get_stage %acc[0] : !acc
      %end = mxbar.get_stage %acc[2] : !acc
      %stage, %odd = mxbar.advance %first, %parity in(%first, %end) : !acc_stage
      %other, %even = mxbar.advance %stage, %odd in(%first, %end) : !acc_stage
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%x = %first) -> !acc_stage {
        %full, %empty = mxbar.stage_barriers %acc, %x : !acc, !acc_stage
        mxbar.wait %full parity(%parity)
        %d = mxbar.stage_buffers %acc, %x tensor_memory(%tmem) : !acc, !acc_stage
        %f_fragment = mxgpu.load_accumulator %d column(%n) empty(%none) : !d -> !mxgpu.fragment<128x4xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>
        %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x4xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>> -> vector<4xf32>
        mxgpu.store_fragment %f, %out[%i, %n] when(%none) : vector<4xf32>, memref<?x?xf32>
        %y, %parity_y = mxbar.previous_stage %x, %parity : !acc_stage
        mxbar.wait %empty parity(%parity_y)
        scf.yield %y : !acc_stage
      }
    }
  }

  // The address of the leader's barrier is the address of the CTA's own barrier with a bit cleared.
  // To arrive at the barriers of both CTAs in a pair, a thread maps the address to each rank. A
  // tensor core commit signals both barriers.
  // CHECK-LABEL: llvm.func @pair(
  // CHECK:         %[[STAGE:.*]] = llvm.inline_asm "mov.b64 $0, $1;"
  // CHECK-DAG:     %[[EMPTY:.*]] = llvm.getelementptr %[[STAGE]][16904]
  // CHECK-DAG:     %[[BITS:.*]] = llvm.ptrtoint %[[STAGE]]
  // CHECK-DAG:     arith.andi %[[BITS]], %c4278190079_i64
  // CHECK:         nvvm.mbarrier.try_wait %[[EMPTY]], %{{.*}}, %{{.*}} {scope = #nvvm.mem_scope<cluster>}
  // CHECK:         nvvm.mbarrier.arrive.expect_tx %[[LEADER:.*]], %c16896_i32 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  // CHECK-NEXT:    nvvm.mbarrier.arrive %[[LEADER]] {scope = #nvvm.mem_scope<cluster>}
  // CHECK:         %[[OF0:.*]] = nvvm.mapa %[[EMPTY]], %c0_i32
  // CHECK-NEXT:    nvvm.mbarrier.arrive %[[OF0]]
  // CHECK:         %[[OF1:.*]] = nvvm.mapa %[[EMPTY]], %c1_i32
  // CHECK-NEXT:    nvvm.mbarrier.arrive %[[OF1]]
  // CHECK-NEXT:    nvvm.tcgen05.commit %[[EMPTY]], multicast_mask = %c3_i16 {group = #nvvm.cta_group<cta_2>}
  mxgpu.kernel @pair(%map: !map, %parity: i32) cluster(2) {
    %in = mxbar.placed_ring "in" offsets [0, 16384] stride(17408) barriers(16896) full(1) empty(1) : !in
    mxgpu.role @load warps(1) {
      %stage = mxbar.get_stage %in[1] : !in
      %full, %empty = mxbar.stage_barriers %in, %stage : !in, !in_stage
      %leaders = mxbar.leader_barrier %full
      mxbar.wait %empty parity(%parity) pair
      mxbar.arrive %leaders expect(16896) : !mxbar.barrier<pair>
      mxbar.arrive %leaders : !mxbar.barrier<pair>
      mxbar.arrive %empty both : !mxbar.barrier
      mxbar.commit %empty pair
    }
  }

  // A descriptor (PTX ISA, tcgen05 shared memory descriptor) is the address in 16-byte units and
  // the buffer offset in its low word, and a constant for the layout. Each instruction reads `a` 32 bytes after the
  // previous instruction. For a full tile, a single extent check covers all instructions. For a
  // partial tile, the extent is checked before each instruction except the first, and the fourth
  // instruction never runs.
  // CHECK-LABEL: llvm.func @mma(
  // CHECK-SAME:    %[[MORE:.*]]: i1, %{{.*}}: i64)
  // CHECK:         %[[TMEM:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
  // CHECK:         %[[D:.*]] = arith.addi %[[TMEM]], %c128_i32
  // CHECK:         %[[UNITS:.*]] = arith.shrui %{{.*}}, %c4_i32
  // CHECK:         %[[SF_UNITS:.*]] = arith.addi %[[UNITS]], %c1024_i32
  // CHECK:         %[[COLUMN:.*]] = arith.addi %[[TMEM]], %c256_i32
  // CHECK:         %[[LOW:.*]] = arith.extui %[[SF_UNITS]]
  // CHECK:         %[[SF:.*]] = arith.ori %[[LOW]], %c70403103916032_i64
  // CHECK:         %[[SCALES:.*]] = llvm.inttoptr %[[COLUMN]]
  // CHECK:         nvvm.tcgen05.cp %[[SCALES]], %[[SF]] {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
  // CHECK:         %[[FULL:.*]] = arith.cmpi uge, %[[EXTENT:.*]], %c128
  // CHECK-NEXT:    scf.if %[[FULL]] {
  // CHECK:           %[[LOW0:.*]] = arith.extui %[[UNITS]]
  // CHECK:           %[[A:.*]] = arith.ori %[[LOW0]], %c4611756662049472512_i64
  // CHECK:           %[[TO:.*]] = llvm.inttoptr %[[D]]
  // CHECK:           nvvm.tcgen05.mma.block_scale %[[TO]], %[[A]], %[[A]], %c144703488_i32, %[[MORE]], %[[SCALES]], %[[SCALES]] {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
  // CHECK:           %[[NEXT:.*]] = arith.addi %[[UNITS]], %c2_i32
  // CHECK:           %[[LOW1:.*]] = arith.extui %[[NEXT]]
  // CHECK:           %[[A1:.*]] = arith.ori %[[LOW1]], %c4611756662049472512_i64
  // CHECK:           nvvm.tcgen05.mma.block_scale %[[TO]], %[[A1]], %[[A1]], %c681574416_i32, %true,
  // CHECK-COUNT-2:   nvvm.tcgen05.mma.block_scale
  // CHECK-NEXT:    } else {
  // CHECK:           nvvm.tcgen05.mma.block_scale %{{.*}}, %[[MORE]],
  // CHECK:           %[[IN1:.*]] = arith.cmpi ugt, %[[EXTENT]], %c32
  // CHECK-NEXT:      scf.if %[[IN1]] {
  // CHECK:             nvvm.tcgen05.mma.block_scale
  // CHECK:             %[[IN2:.*]] = arith.cmpi ugt, %[[EXTENT]], %c64
  // CHECK-NEXT:        scf.if %[[IN2]] {
  // CHECK:               nvvm.tcgen05.mma.block_scale
  // CHECK-NOT:     nvvm.tcgen05.mma
  mxgpu.kernel @mma(%more: i1, %extent: index) {
    %tmem = mxbar.tensor_memory columns(512) slot(69632) warp(0)
    %in = mxbar.placed_ring "in" offsets [0, 16384] stride(17408) barriers(16896) full(1) empty(1) : !in
    %acc = mxbar.placed_ring "acc" offsets [0] stride(16) barriers(69632) full(1) empty(1) : !acc
    mxgpu.role @mma warps(1) elected {
      %stage = mxbar.get_stage %in[1] : !in
      %a, %x = mxbar.stage_buffers %in, %stage : !in, !in_stage
      %to = mxbar.get_stage %acc[1] : !acc
      %d = mxbar.stage_buffers %acc, %to tensor_memory(%tmem) : !acc, !acc_stage
      %sf = mxbar.copy_to_columns %x tensor_memory(%tmem) column(256) : !sf -> !mxgpu.scales<128>
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d accumulate(%more) extent(%extent) : !a, !a, !d
    }
  }

  // The scales of 256 rows need two copies, which are 4 columns and 512 bytes apart. `place`
  // selects an 8-column slot.
  // CHECK-LABEL: llvm.func @places(
  // CHECK-SAME:    %[[PLACE:.*]]: i32)
  // CHECK:         %[[OFFSET:.*]] = arith.muli %[[PLACE]], %c8_i32
  // CHECK:         nvvm.tcgen05.cp
  // CHECK:         nvvm.tcgen05.cp
  // CHECK-NOT:     nvvm.tcgen05.cp
  mxgpu.kernel @places(%place: i32) {
    %tmem = mxbar.tensor_memory columns(32) slot(4000) warp(0)
    %in = mxbar.placed_ring "in" offsets [0] stride(1152) barriers(1024) full(1) empty(1) : !scales
    mxgpu.role @mma warps(1) elected {
      %stage = mxbar.get_stage %in[0] : !scales
      %x = mxbar.stage_buffers %in, %stage : !scales, !mxgpu.stage<!scales>
      %sf = mxbar.copy_to_columns %x tensor_memory(%tmem) column(4) place(%place) : !mxgpu.buffer<smem<1024xi8>> -> !mxgpu.scales<256>
    }
  }

  // Each warp has three 4096-byte staging buffers for bulk stores. Each lane writes its row in
  // 16-byte pieces.
  // CHECK-LABEL: llvm.func @stores(
  // CHECK-SAME:    %[[MAP:[a-z0-9]*]]: !llvm.ptr {{{.*}}}, %[[WARP:[a-z0-9]*]]: i32,
  // CHECK-DAG:     %[[OF_WARP:.*]] = arith.muli %[[WARP]], %c12288_i32
  // CHECK-DAG:     scf.for {{.*}} iter_args(%[[STAGE:.*]] = %c0_i32)
  // CHECK:           %[[OF_STAGE:.*]] = arith.muli %[[STAGE]], %c4096_i32
  // CHECK-COUNT-8:   llvm.store {{.*}} {alignment = 16 : i64}
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]]
  // CHECK:           %[[NEXT:.*]] = arith.addi %[[STAGE]], %c1_i32
  // CHECK:           %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32
  // CHECK:           %[[NEXT_STAGE:.*]] = arith.select %[[WRAPS]], %c0_i32, %[[NEXT]]
  // CHECK-NEXT:      scf.yield %[[NEXT_STAGE]]
  mxgpu.kernel @stores(%map: !out_map, %warp: i32, %n: index, %f: f32) {
    %x = vector.broadcast %f : f32 to vector<32xf32>
    %ring = mxbar.placed_ring "staging" offsets [0] stride(4096) : !out
    mxgpu.role @store warps(4) {
      %first = mxbar.get_stage %ring[0] : !out
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %first) -> !mxgpu.stage<!out> {
        %c = mxbar.stage_buffers %ring, %stage warp(%warp) : !out, !mxgpu.stage<!out>
        %rows1 = mxgpu.from_rows %x : vector<32xf32> -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        mxgpu.store_shared %rows1, %c : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>, !c
        mxgpu.tma_store %c to %map[%i, %n] : !c, !out_map
        %next = mxbar.next_stage %stage : !mxgpu.stage<!out>
        scf.yield %next : !mxgpu.stage<!out>
      }
    }
  }
}
