// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// Round-trips operations on buffers with all attributes, and loops with carried values.

!map = !mxgpu.tensor_map<128x64xbf16, sw128>
!half_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!out_map = !mxgpu.tensor_map<64x128xi8, sw128>
!x = !mxgpu.buffer<smem<2x128x64xbf16, sw128>>
!y = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!q = !mxgpu.buffer<smem<128x128xi8, sw128>>
!f = !mxgpu.buffer<smem<2x1x512xf8E8M0FNU>>
!d = !mxgpu.buffer<tmem<128x256xf32>>
!in = !mxgpu.ring<2 x (x: smem<2x128x64xbf16, sw128>), producer = bulk_copy, consumer = threads(128)>
!pair_in = !mxgpu.ring<2 x (y: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = mma_commit, scope = pair>
!out = !mxgpu.ring<1 x (q: smem<128x128xi8, sw128>, f: smem<2x1x512xf8E8M0FNU>), producer = threads(128), consumer = bulk_store>
!acc = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 64>

gpu.module @kernels {
  // CHECK-LABEL: mxgpu.kernel @tiles(
  mxgpu.kernel @tiles(%map: !map, %out_map: !out_map, %i: index, %n: index, %when: i1, %byte: i8,
                      %to: memref<?x?xi8>, %scales: memref<?x?x32x4x4xf8E8M0FNU>) {
    %c1 = arith.constant 1 : index
    %scale = arith.bitcast %byte : i8 to f8E8M0FNU
    %codes = vector.broadcast %byte : i8 to vector<32xi8>
    %in = mxgpu.ring "in" : !in
    %out = mxgpu.ring "out" : !out
    mxgpu.role @load warps(1) elected {
      // CHECK: %[[STAGE:.*]], %[[X:.*]] = mxgpu.producer_acquire %in : !bulk_copy_ring
      %s, %x = mxgpu.producer_acquire %in : !in
      // CHECK: mxgpu.tma_load %{{.*}}[%{{.*}}, %{{.*}}] into %[[X]] box(%c1) for %[[STAGE]] cache = evict_first :
      mxgpu.tma_load %map[%i, %n] into %x box(%c1) for %s cache = evict_first : !map, !x, !mxgpu.stage<!in>
      // CHECK: mxgpu.producer_commit %[[STAGE]] : !bulk_copy_stage
      mxgpu.producer_commit %s : !mxgpu.stage<!in>
    }
    mxgpu.role @quantize warps(4) {
      // CHECK: %[[STAGE:.*]], %[[Q:.*]], %[[F:.*]] = mxgpu.producer_acquire %out : !threads_ring
      %s, %q, %f = mxgpu.producer_acquire %out : !out
      // CHECK: %{{.*}}, %[[X:.*]] = mxgpu.consumer_wait %in
      %t, %x = mxgpu.consumer_wait %in : !in
      // CHECK: mxgpu.load_shared %[[X]] at[%{{.*}}, %{{.*}}] : !smem{{[0-9]*}} -> vector<32xbf16>
      %row = mxgpu.load_shared %x at [%i, %i] : !x -> vector<32xbf16>
      // CHECK: mxgpu.load_shared %[[X]] at[%{{.*}}, %{{.*}}] rows(%{{.*}}) : !smem{{[0-9]*}} -> vector<32x2xbf16>
      %columns = mxgpu.load_shared %x at [%i, %i] rows(%n) : !x -> vector<32x2xbf16>
      // CHECK: mxgpu.store_shared %{{.*}}, %[[Q]] at[%{{.*}}, %{{.*}}] : vector<32xi8>, !smem
      mxgpu.store_shared %codes, %q at [%i, %i] : vector<32xi8>, !q
      // CHECK: mxgpu.store_scale %{{.*}}, %[[F]] at[%{{.*}}, %{{.*}}] : f8E8M0FNU, !smem
      mxgpu.store_scale %scale, %f at [%i, %i] : f8E8M0FNU, !f
      // CHECK: mxgpu.tma_store %[[Q]] box(1) to %{{.*}}[%{{.*}}, %{{.*}}] when(%{{.*}}) : !smem{{[0-9]*}}, !map
      mxgpu.tma_store %q box(1) to %out_map[%i, %i] when(%when) : !q, !out_map
      // CHECK: mxgpu.store_rows %[[Q]] to %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) when(%{{.*}}) : !smem{{[0-9]*}}, memref<?x?xi8>
      mxgpu.store_rows %q to %to[%i, %i] rows(%n) when(%when) : !q, memref<?x?xi8>
      // CHECK: mxgpu.bulk_store %[[F]] tile(1) to %{{.*}}[%{{.*}}, %{{.*}}] when(%{{.*}}) : !smem{{[0-9]*}}, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.bulk_store %f tile(1) to %scales[%i, %i] when(%when) : !f, memref<?x?x32x4x4xf8E8M0FNU>
      mxgpu.producer_commit %s : !mxgpu.stage<!out>
      mxgpu.consumer_release %t : !mxgpu.stage<!in>
    }
  }

  // CHECK-LABEL: mxgpu.kernel @pair(
  mxgpu.kernel @pair(%map: !half_map, %i: index) cluster(2) {
    %in = mxgpu.ring "in" : !pair_in
    %rank = mxgpu.cta_rank
    mxgpu.role @load warps(1) elected {
      // CHECK: %[[STAGE:.*]], %[[Y:.*]] = mxgpu.producer_acquire %in : !bulk_copy_ring
      %s, %y = mxgpu.producer_acquire %in : !pair_in
      // CHECK: mxgpu.tma_load %{{.*}}[%{{.*}}] into %[[Y]] box(%rank) for %[[STAGE]] multicast cache = evict_last :
      mxgpu.tma_load %map[%i] into %y box(%rank) for %s multicast cache = evict_last : !half_map, !y, !mxgpu.stage<!pair_in>
      mxgpu.producer_commit %s : !mxgpu.stage<!pair_in>
    }
  }

  // Reads equal column parts of an accumulator, and carries values through a loop.
  // CHECK-LABEL: mxgpu.kernel @sums(
  mxgpu.kernel @sums(%place: index, %n: index) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @sum warps(4) {
      // CHECK: %[[STAGE:.*]], %[[D:.*]] = mxgpu.consumer_wait %acc : !mma_commit_ring
      %s, %d = mxgpu.consumer_wait %acc : !acc
      // CHECK: %[[SUMS:.*]]:2 = mxgpu.for_each_k (%k, %extent, %first) from %{{.*}} to %{{.*}} step 64 iter_args(%[[SUM:.*]] = %{{.*}} : vector<32xf32>, %[[COUNT:.*]] = %{{.*}} : index) {
      %accumulator, %count = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%sum = %zero : vector<32xf32>, %so_far = %c0 : index) {
        // CHECK: %[[COLUMN:.*]] = mxgpu.epilogue_column %[[STAGE]], %{{.*}} b 1 of 2 : !mma_commit_stage
        %column = mxgpu.epilogue_column %s, %place b 1 of 2 : !mxgpu.stage<!acc>
        // CHECK: mxgpu.load_accumulator %[[D]] column(%[[COLUMN]]) : !tmem -> !fragment
        %part_fragment = mxgpu.load_accumulator %d column(%column) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
        %part = mxgpu.to_rows %part_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
        // CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}}
        %next = arith.addf %sum, %part : vector<32xf32>
        // CHECK: %[[MORE:.*]] = arith.addi %[[COUNT]], %extent
        %more = arith.addi %so_far, %extent : index
        // CHECK: mxgpu.yield %[[NEXT]], %[[MORE]] : vector<32xf32>, index
        mxgpu.yield %next, %more : vector<32xf32>, index
      }
      // CHECK: arith.addf %[[SUMS]]#0, %[[SUMS]]#0
      %twice = arith.addf %accumulator, %accumulator : vector<32xf32>
      // A loop without carried values prints no yield.
      // CHECK: mxgpu.for_each_k {{.*}} step 64 {
      // CHECK-NEXT: arith.addi %[[SUMS]]#1
      // CHECK-NEXT: }
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %ignored = arith.addi %count, %k : index
        mxgpu.yield
      }
      mxgpu.consumer_release %s : !mxgpu.stage<!acc>
    }
  }
}
