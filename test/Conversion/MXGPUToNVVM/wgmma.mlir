// RUN: mx-opt %s --mxgpu-lower-work --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// Lowers MMAs to wgmma.mma_async for each pair of operand types.

!bf16_in = !mxgpu.ring<2 x (a: smem<2x64x64xbf16, sw128>, b: smem<2x8x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!bf16_input = !mxgpu.stage<!bf16_in>
!bf16_a = !mxgpu.buffer<smem<2x64x64xbf16, sw128>>
!bf16_b = !mxgpu.buffer<smem<2x8x64xbf16, sw128>>
!bf16_sums = !mxgpu.fragment<64x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows]>>
!f16_in = !mxgpu.ring<2 x (a: smem<64x64xf16, sw128>, b: smem<256x64xf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!f16_input = !mxgpu.stage<!f16_in>
!f16_a = !mxgpu.buffer<smem<64x64xf16, sw128>>
!f16_b = !mxgpu.buffer<smem<256x64xf16, sw128>>
!f16_sums = !mxgpu.fragment<64x256xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 32: 8 columns]>>
!f8_in = !mxgpu.ring<2 x (a: smem<64x128xf8E4M3FN, sw128>, b: smem<64x128xf8E5M2, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!f8_input = !mxgpu.stage<!f8_in>
!f8_a = !mxgpu.buffer<smem<64x128xf8E4M3FN, sw128>>
!f8_b = !mxgpu.buffer<smem<64x128xf8E5M2, sw128>>
!f8_sums = !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>
!held_in = !mxgpu.ring<2 x (b: smem<8x32xbf16, sw64>), producer = bulk_copy, consumer = async_threads(256)>
!held_input = !mxgpu.stage<!held_in>
!held_b = !mxgpu.buffer<smem<8x32xbf16, sw64>>
!held = !mxgpu.fragment<256x32xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 2: 16 columns, 2: 64 rows]>>
!held_sums = !mxgpu.fragment<256x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows], values = [2: 1 column, 2: 8 rows, 2: 64 rows]>>
!held_f8_in = !mxgpu.ring<2 x (b: smem<16x32xf8E5M2, sw32>), producer = bulk_copy, consumer = async_threads(128)>
!held_f8_b = !mxgpu.buffer<smem<16x32xf8E5M2, sw32>>
!held_f8 = !mxgpu.fragment<64x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row, 4: 16 rows], values = [4: 1 column, 2: 8 rows, 2: 16 columns]>>
!held_f8_sums = !mxgpu.fragment<64x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>>
!blocks_in = !mxgpu.ring<2 x (a: smem<256x32xbf16, sw64>, b: smem<16x32xbf16, sw64>), producer = bulk_copy, consumer = async_threads(256)>
!blocks_a = !mxgpu.buffer<smem<256x32xbf16, sw64>>
!blocks_b = !mxgpu.buffer<smem<16x32xbf16, sw64>>
!blocks_sums = !mxgpu.fragment<256x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows], values = [2: 1 column, 2: 8 rows, 2: 64 rows, 2: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // A stage contains two panels of A and two of B. Four instructions read each pair of panels at
  // steps of 32 bytes, which descriptors count in 16-byte units. All instructions form one chain
  // through the registers, between a fence and a commit in the loop body.
  // CHECK-LABEL: llvm.func @bf16(
  // CHECK:       scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %[[OLD:.*]] = %{{.*}}) -> (!llvm.ptr<3>, i32, vector<4xf32>)
  // CHECK:       %[[A:.*]] = arith.shrui %{{.*}}, %c4_i32 : i32
  // CHECK:       %[[B:.*]] = arith.addi %[[A]], %c1024_i32 : i32
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK-NEXT:  %[[A_LOW:.*]] = arith.extui %[[A]] : i32 to i64
  // CHECK-NEXT:  %[[A0:.*]] = arith.ori %[[A_LOW]], %c4611686293305294848_i64 : i64
  // CHECK-NEXT:  %[[B_LOW:.*]] = arith.extui %[[B]] : i32 to i64
  // CHECK-NEXT:  %[[B0:.*]] = arith.ori %[[B_LOW]], %c4611686293305294848_i64 : i64
  // CHECK:       %[[LOW:.*]] = arith.addi %[[A]], %c2_i32 : i32
  // CHECK-NEXT:  %[[WIDE:.*]] = arith.extui %[[LOW]]
  // CHECK-NEXT:  %[[A1:.*]] = arith.ori %[[WIDE]], %c4611686293305294848_i64 : i64
  // CHECK:       %[[LOW:.*]] = arith.addi %[[A]], %c1026_i32 : i32
  // CHECK-NEXT:  %[[WIDE:.*]] = arith.extui %[[LOW]]
  // CHECK-NEXT:  %[[B1:.*]] = arith.ori %[[WIDE]], %c4611686293305294848_i64 : i64
  // CHECK:       arith.addi %[[A]], %c512_i32
  // CHECK:       arith.addi %[[A]], %c1088_i32
  // CHECK:       %[[R3:.*]] = llvm.extractelement %[[OLD]][%c3_i32 : i32] : vector<4xf32>
  // CHECK:       %[[D0:.*]] = llvm.insertvalue %[[R3]], %{{.*}}[3]
  // CHECK-NEXT:  %[[D1:.*]] = nvvm.wgmma.mma_async %[[A0]], %[[B0]], %[[D0]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  nvvm.wgmma.mma_async %[[A1]], %[[B1]], %[[D1]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-COUNT-6: nvvm.wgmma.mma_async {{.*}}, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NOT:   nvvm.wgmma.mma_async
  // CHECK:       %[[STARTED:.*]] = llvm.insertelement {{.*}}[%c3_i32 : i32] : vector<4xf32>
  // CHECK-NEXT:  nvvm.wgmma.commit.group.sync.aligned
  // An empty inline asm statement keeps reads of the registers after the wait.
  // CHECK-NEXT:  nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:       %[[W0:.*]] = llvm.extractelement %[[STARTED]][%c0_i32 : i32]
  // CHECK:       %[[TIED:.*]] = llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,0,1,2,3" %[[W0]], %{{.*}}, %{{.*}}, %{{.*}}
  // CHECK:       llvm.extractvalue %[[TIED]][0]
  // The stage is released after the wait.
  // CHECK:       nvvm.mbarrier.arrive
  mxgpu.kernel @bf16(%out: memref<?x?xf32>, %i: index, %j: index, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !bf16_in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !bf16_sums
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !bf16_sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !bf16_in
        %started = mxgpu.mma #mxgpu.wgmma<n = 8, k = 16> %a, %b into %old : !bf16_a, !bf16_b, !bf16_sums -> !bf16_sums
        %new = mxgpu.mma_wait %started pending(0) : !bf16_sums
        mxgpu.consumer_release %stage : !bf16_input
        mxgpu.yield %new : !bf16_sums
      }
      %rows:2 = mxgpu.to_rows %accumulator : !bf16_sums -> vector<2xf32>, vector<2xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<2xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<2xf32>, memref<?x?xf32>
    }
  }

  // With the largest N, all 128 registers are inputs and outputs of the inline asm statement.
  // CHECK-LABEL: llvm.func @f16(
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}}, <m = 64, n = 256, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>]
  // CHECK-NOT:   nvvm.wgmma.mma_async
  // CHECK:       nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:  nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:       llvm.inline_asm has_side_effects "", "{{(=f,){128}(0,1)}},2,{{.*}},126,127" %
  mxgpu.kernel @f16(%out: memref<?x?xf32>, %i: index, %j: index, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !f16_in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !f16_sums
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !f16_sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !f16_in
        %started = mxgpu.mma #mxgpu.wgmma<n = 256, k = 16> %a, %b into %old : !f16_a, !f16_b, !f16_sums -> !f16_sums
        %new = mxgpu.mma_wait %started pending(0) : !f16_sums
        mxgpu.consumer_release %stage : !f16_input
        mxgpu.yield %new : !f16_sums
      }
      %rows:2 = mxgpu.to_rows %accumulator : !f16_sums -> vector<64xf32>, vector<64xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<64xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<64xf32>, memref<?x?xf32>
    }
  }

  // The operands have different types.
  // CHECK-LABEL: llvm.func @f8(
  // CHECK:       %[[UNITS:.*]] = arith.shrui %{{.*}}, %c4_i32
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK:       %[[LOW0:.*]] = arith.extui %[[UNITS]]
  // CHECK:       %[[A0:.*]] = arith.ori %[[LOW0]], %c4611686293305294848_i64
  // CHECK:       %[[NEXT:.*]] = arith.addi %[[UNITS]], %c2_i32
  // CHECK:       %[[LOW1:.*]] = arith.extui %[[NEXT]]
  // CHECK:       %[[A1:.*]] = arith.ori %[[LOW1]], %c4611686293305294848_i64
  // CHECK:       nvvm.wgmma.mma_async %[[A0]], %{{.*}}, <m = 64, n = 64, k = 32>, D[<f32>, <one>], A[<e4m3>, <one>, <row>], B[<e5m2>, <one>, <col>]
  // CHECK-NEXT:  %{{.*}} = nvvm.wgmma.mma_async %[[A1]], %
  // CHECK-COUNT-2: nvvm.wgmma.mma_async
  // CHECK-NOT:   nvvm.wgmma.mma_async
  // CHECK:       nvvm.wgmma.commit.group.sync.aligned
  mxgpu.kernel @f8(%out: memref<?x?xf32>, %i: index, %j: index, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !f8_in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !f8_sums
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !f8_sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !f8_in
        %started = mxgpu.mma #mxgpu.wgmma<n = 64, k = 32> %a, %b into %old : !f8_a, !f8_b, !f8_sums -> !f8_sums
        %new = mxgpu.mma_wait %started pending(0) : !f8_sums
        mxgpu.consumer_release %stage : !f8_input
        mxgpu.yield %new : !f8_sums
      }
      %rows:2 = mxgpu.to_rows %accumulator : !f8_sums -> vector<16xf32>, vector<16xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<16xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<16xf32>, memref<?x?xf32>
    }
  }

  // A is in registers, with two blocks of rows for each of two warpgroups and two K steps. The
  // operand words are tied before the fence. Each block of rows is a separate chain through its
  // four sums.
  // CHECK-LABEL: llvm.func @held(
  // CHECK:       %[[WORDS:.*]] = llvm.inline_asm has_side_effects "", "{{(=r,){16}(0,1)}},{{.*}},14,15" %
  // CHECK:       %[[A0:.*]] = llvm.extractvalue %[[WORDS]][0]
  // CHECK:       %[[A4:.*]] = llvm.extractvalue %[[WORDS]][4]
  // CHECK:       %[[A8:.*]] = llvm.extractvalue %[[WORDS]][8]
  // CHECK:       %[[A12:.*]] = llvm.extractvalue %[[WORDS]][12]
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK:       %[[LOW0:.*]] = arith.extui %[[UNITS:.*]] : i32 to i64
  // CHECK:       %[[B0:.*]] = arith.ori %[[LOW0]], %c-9223371899415822336_i64
  // CHECK:       %[[NEXT:.*]] = arith.addi %[[UNITS]], %c2_i32
  // CHECK:       %[[LOW1:.*]] = arith.extui %[[NEXT]]
  // CHECK:       %[[B1:.*]] = arith.ori %[[LOW1]], %c-9223371899415822336_i64
  // CHECK:       %[[M0:.*]] = llvm.inline_asm has_side_effects "{{.*}}wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0;{{.*}}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l" %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[A0]], %{{.*}}, %{{.*}}, %{{.*}}, %[[B0]]
  // CHECK:       %[[D10:.*]] = llvm.extractvalue %[[M0]][0]
  // CHECK:       llvm.inline_asm has_side_effects "{{.*}}wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0;{{.*}}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l" %[[D10]], %{{.*}}, %{{.*}}, %{{.*}}, %[[A4]], %{{.*}}, %{{.*}}, %{{.*}}, %[[B1]]
  // CHECK:       %[[M2:.*]] = llvm.inline_asm has_side_effects "{{.*}}wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0;{{.*}}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l" %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[A8]], %{{.*}}, %{{.*}}, %{{.*}}, %[[B0]]
  // CHECK:       %[[D30:.*]] = llvm.extractvalue %[[M2]][0]
  // CHECK:       llvm.inline_asm has_side_effects "{{.*}}wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0;{{.*}}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l" %[[D30]], %{{.*}}, %{{.*}}, %{{.*}}, %[[A12]], %{{.*}}, %{{.*}}, %{{.*}}, %[[B1]]
  // CHECK-NOT:   wgmma.mma_async
  // CHECK:       nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:  nvvm.wgmma.wait.group.sync.aligned 0
  mxgpu.kernel @held(%as: memref<?x?xbf16>, %i: index, %out: memref<?x?xf32>, %yes: i1) {
    %in = mxgpu.ring "in" : !held_in
    mxgpu.role @multiply warps(8) {
      %a = vector.load %as[%i, %i] : memref<?x?xbf16>, vector<8xbf16>
      %zero = mxgpu.zero_fragment : !held_sums
      %held = mxgpu.from_rows %a, %a, %a, %a : vector<8xbf16>, vector<8xbf16>, vector<8xbf16>, vector<8xbf16> -> !held
      %stage, %b = mxgpu.consumer_wait %in : !held_in
      %started = mxgpu.mma #mxgpu.wgmma<m = 256, n = 8, k = 16, warpgroups = 2> %held, %b into %zero : !held, !held_b, !held_sums -> !held_sums
      %accumulator = mxgpu.mma_wait %started pending(0) : !held_sums
      mxgpu.consumer_release %stage : !held_input
      %v:4 = mxgpu.to_rows %accumulator : !held_sums -> vector<2xf32>, vector<2xf32>, vector<2xf32>, vector<2xf32>
      mxgpu.store_fragment %v#0, %out[%i, %i] when(%yes) : vector<2xf32>, memref<?x?xf32>
    }
  }

  // A word contains four elements of A, and B is not transposed.
  // CHECK-LABEL: llvm.func @held_f8(
  // CHECK-COUNT-4: llvm.bitcast %{{.*}} : vector<4xi8> to i32
  // CHECK:       llvm.inline_asm has_side_effects "", "=r,=r,=r,=r,0,1,2,3"
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK:       wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 {$0, $1, $2, $3, $4, $5, $6, $7}, {$16, $17, $18, $19}, $20, p, 1, 1;
  // CHECK-NOT:   wgmma.mma_async
  // CHECK:       nvvm.wgmma.commit.group.sync.aligned
  mxgpu.kernel @held_f8(%i: index, %as: memref<?x?xf8E4M3FN>) {
    %in = mxgpu.ring "in" : !held_f8_in
    mxgpu.role @multiply warps(4) {
      %a = vector.load %as[%i, %i] : memref<?x?xf8E4M3FN>, vector<8xf8E4M3FN>
      %zero = mxgpu.zero_fragment : !held_f8_sums
      %held = mxgpu.from_rows %a, %a : vector<8xf8E4M3FN>, vector<8xf8E4M3FN> -> !held_f8
      %stage, %b = mxgpu.consumer_wait %in : !held_f8_in
      %started = mxgpu.mma #mxgpu.wgmma<n = 16, k = 32> %held, %b into %zero : !held_f8, !held_f8_b, !held_f8_sums -> !held_f8_sums
      %accumulator = mxgpu.mma_wait %started pending(0) : !held_f8_sums
      mxgpu.consumer_release %stage : !mxgpu.stage<!held_f8_in>
    }
  }

  // A is in shared memory. Each row takes four 16-byte units. A warpgroup starts at its own 128
  // rows, independent of its position in the CTA. The second block of rows is 64 rows below the
  // first.
  // CHECK-LABEL: llvm.func @blocks(
  // CHECK:       %[[IN_CTA:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK:       %[[THREAD:.*]] = arith.subi %[[IN_CTA]], %c128_i32
  // CHECK:       %[[UNITS:.*]] = arith.shrui %{{.*}}, %c4_i32
  // CHECK:       %[[GROUP:.*]] = arith.shrui %[[THREAD]], %c7_i32
  // CHECK:       %[[ROWS:.*]] = arith.muli %[[GROUP]], %c512_i32
  // CHECK:       %[[START:.*]] = arith.addi %[[UNITS]], %[[ROWS]]
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK:       %[[LOW00:.*]] = arith.extui %[[START]]
  // CHECK:       %[[A00:.*]] = arith.ori %[[LOW00]], %
  // CHECK:       %[[B0:.*]] = arith.ori
  // CHECK:       %[[NEXT:.*]] = arith.addi %[[START]], %c2_i32
  // CHECK:       %[[LOW01:.*]] = arith.extui %[[NEXT]]
  // CHECK:       %[[A01:.*]] = arith.ori %[[LOW01]], %
  // CHECK:       %[[B1:.*]] = arith.ori
  // CHECK:       %[[BLOCK:.*]] = arith.addi %[[START]], %c256_i32
  // CHECK:       %[[LOW10:.*]] = arith.extui %[[BLOCK]]
  // CHECK:       %[[A10:.*]] = arith.ori %[[LOW10]], %
  // CHECK:       %[[LAST:.*]] = arith.addi %[[START]], %c258_i32
  // CHECK:       %[[LOW11:.*]] = arith.extui %[[LAST]]
  // CHECK:       %[[A11:.*]] = arith.ori %[[LOW11]], %
  // CHECK:       %{{.*}} = nvvm.wgmma.mma_async %[[A00]], %[[B0]], %
  // CHECK-NEXT:  %{{.*}} = nvvm.wgmma.mma_async %[[A01]], %[[B1]], %
  // CHECK:       %{{.*}} = nvvm.wgmma.mma_async %[[A10]], %[[B0]], %
  // CHECK-NEXT:  %{{.*}} = nvvm.wgmma.mma_async %[[A11]], %[[B1]], %
  // CHECK-NOT:   nvvm.wgmma.mma_async
  // CHECK:       nvvm.wgmma.commit.group.sync.aligned
  mxgpu.kernel @blocks(%i: index) {
    %in = mxgpu.ring "in" : !blocks_in
    mxgpu.role @first warps(4) {
    }
    mxgpu.role @multiply warps(8) {
      %zero = mxgpu.zero_fragment : !blocks_sums
      %stage, %a, %b = mxgpu.consumer_wait %in : !blocks_in
      %thread = mxgpu.thread_id
      %started = mxgpu.mma #mxgpu.wgmma<m = 256, n = 16, k = 16, warpgroups = 2> %a, %b into %zero thread(%thread) : !blocks_a, !blocks_b, !blocks_sums -> !blocks_sums
      %accumulator = mxgpu.mma_wait %started pending(0) : !blocks_sums
      mxgpu.consumer_release %stage : !mxgpu.stage<!blocks_in>
    }
    mxgpu.assign_warps @first from 0
    mxgpu.assign_warps @multiply from 4
  }
}
