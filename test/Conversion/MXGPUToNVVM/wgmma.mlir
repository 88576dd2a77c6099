// RUN: mx-opt %s --mxgpu-allocate --mxgpu-lower-work --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// wgmma.mma_async: what one product of a stage becomes, for each pair of types.

!bf16_in = !mxgpu.ring<2 x (a: smem<2x64x64xbf16, sw128>, b: smem<2x8x64xbf16, sw128>), producer = tma, consumer = wgmma(128)>
!bf16_input = !mxgpu.stage<!bf16_in>
!bf16_a = !mxgpu.buffer<smem<2x64x64xbf16, sw128>>
!bf16_b = !mxgpu.buffer<smem<2x8x64xbf16, sw128>>
!bf16_sums = !mxgpu.fragment<64x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows]>>
!f16_in = !mxgpu.ring<2 x (a: smem<64x64xf16, sw128>, b: smem<256x64xf16, sw128>), producer = tma, consumer = wgmma(128)>
!f16_input = !mxgpu.stage<!f16_in>
!f16_a = !mxgpu.buffer<smem<64x64xf16, sw128>>
!f16_b = !mxgpu.buffer<smem<256x64xf16, sw128>>
!f16_sums = !mxgpu.fragment<64x256xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 32: 8 columns]>>
!f8_in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<64x128xf8E5M2, sw128>), producer = tma, consumer = wgmma(128)>
!f8_input = !mxgpu.stage<!f8_in>
!f8_a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!f8_b = !mxgpu.buffer<smem<64x128xf8E5M2, sw128>>
!f8_sums = !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // A stage has two panels of A and of B: four instructions to each, 32 bytes apart, with
  // descriptors in units of 16 bytes. All of them are one chain through the registers,
  // between a fence and a commit in the block of the loop.
  // CHECK-LABEL: llvm.func @bf16(
  // CHECK:       scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %[[OLD:.*]] = %{{.*}}) -> (!llvm.ptr<3>, i32, vector<4xf32>)
  // CHECK:       %[[ADDRESS:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i64
  // CHECK-NEXT:  %[[IN_CTA:.*]] = arith.andi %[[ADDRESS]], %c262143_i64
  // CHECK-NEXT:  %[[UNITS:.*]] = arith.shrui %[[IN_CTA]], %c4_i64
  // CHECK-DAG:   %[[A0:.*]] = arith.addi %[[UNITS]], %c4611686293305294848_i64 : i64
  // CHECK-DAG:   %[[B0:.*]] = arith.addi %[[UNITS]], %c4611686293305295872_i64 : i64
  // CHECK-DAG:   %[[A1:.*]] = arith.addi %[[UNITS]], %c4611686293305294850_i64 : i64
  // CHECK-DAG:   %[[B1:.*]] = arith.addi %[[UNITS]], %c4611686293305295874_i64 : i64
  // CHECK-DAG:   %[[A2:.*]] = arith.addi %[[UNITS]], %c4611686293305294852_i64 : i64
  // CHECK-DAG:   %[[B2:.*]] = arith.addi %[[UNITS]], %c4611686293305295876_i64 : i64
  // CHECK-DAG:   %[[A3:.*]] = arith.addi %[[UNITS]], %c4611686293305294854_i64 : i64
  // CHECK-DAG:   %[[B3:.*]] = arith.addi %[[UNITS]], %c4611686293305295878_i64 : i64
  // CHECK-DAG:   %[[A4:.*]] = arith.addi %[[UNITS]], %c4611686293305295360_i64 : i64
  // CHECK-DAG:   %[[B4:.*]] = arith.addi %[[UNITS]], %c4611686293305295936_i64 : i64
  // CHECK-DAG:   %[[A5:.*]] = arith.addi %[[UNITS]], %c4611686293305295362_i64 : i64
  // CHECK-DAG:   %[[B5:.*]] = arith.addi %[[UNITS]], %c4611686293305295938_i64 : i64
  // CHECK-DAG:   %[[A6:.*]] = arith.addi %[[UNITS]], %c4611686293305295364_i64 : i64
  // CHECK-DAG:   %[[B6:.*]] = arith.addi %[[UNITS]], %c4611686293305295940_i64 : i64
  // CHECK-DAG:   %[[A7:.*]] = arith.addi %[[UNITS]], %c4611686293305295366_i64 : i64
  // CHECK-DAG:   %[[B7:.*]] = arith.addi %[[UNITS]], %c4611686293305295942_i64 : i64
  // CHECK-DAG:   nvvm.wgmma.fence.aligned
  // CHECK:       %[[R3:.*]] = llvm.extractelement %[[OLD]][%c3_i32 : i32] : vector<4xf32>
  // CHECK:       %[[D0:.*]] = llvm.insertvalue %[[R3]], %{{.*}}[3]
  // CHECK-NEXT:  %[[D1:.*]] = nvvm.wgmma.mma_async %[[A0]], %[[B0]], %[[D0]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D2:.*]] = nvvm.wgmma.mma_async %[[A1]], %[[B1]], %[[D1]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D3:.*]] = nvvm.wgmma.mma_async %[[A2]], %[[B2]], %[[D2]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D4:.*]] = nvvm.wgmma.mma_async %[[A3]], %[[B3]], %[[D3]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D5:.*]] = nvvm.wgmma.mma_async %[[A4]], %[[B4]], %[[D4]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D6:.*]] = nvvm.wgmma.mma_async %[[A5]], %[[B5]], %[[D5]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D7:.*]] = nvvm.wgmma.mma_async %[[A6]], %[[B6]], %[[D6]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NEXT:  %[[D8:.*]] = nvvm.wgmma.mma_async %[[A7]], %[[B7]], %[[D7]], <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK-NOT:   nvvm.wgmma.mma_async
  // CHECK:       %[[STARTED:.*]] = llvm.insertelement {{.*}}[%c3_i32 : i32] : vector<4xf32>
  // CHECK-NEXT:  nvvm.wgmma.commit.group.sync.aligned
  // Nothing reads the registers before the wait: an empty instruction takes them behind it.
  // CHECK-NEXT:  nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NEXT:  %[[W0:.*]] = llvm.extractelement %[[STARTED]][%c0_i32 : i32]
  // CHECK-NEXT:  %[[W1:.*]] = llvm.extractelement %[[STARTED]][%c1_i32 : i32]
  // CHECK-NEXT:  %[[W2:.*]] = llvm.extractelement %[[STARTED]][%c2_i32 : i32]
  // CHECK-NEXT:  %[[W3:.*]] = llvm.extractelement %[[STARTED]][%c3_i32 : i32]
  // CHECK-NEXT:  %[[TIED:.*]] = llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,0,1,2,3" %[[W0]], %[[W1]], %[[W2]], %[[W3]]
  // CHECK-NEXT:  llvm.extractvalue %[[TIED]][0]
  // The stage goes back after that.
  // CHECK:       nvvm.mbarrier.arrive
  mxgpu.kernel @bf16(%out: memref<?x?xf32>, %i: index, %j: index, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !bf16_in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !bf16_sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !bf16_sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !bf16_in
        %started = mxgpu.mma #mxgpu.wgmma<n = 8, k = 16> %a, %b into %old : !bf16_a, !bf16_b, !bf16_sums -> !bf16_sums
        %new = mxgpu.mma_wait %started pending(0) : !bf16_sums
        mxgpu.consumer_release %stage : !bf16_input
        mxgpu.yield %new : !bf16_sums
      }
      %rows:2 = mxgpu.to_rows %sums : !bf16_sums -> vector<2xf32>, vector<2xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<2xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<2xf32>, memref<?x?xf32>
    }
  }

  // The largest N: all 128 registers are tied.
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
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !f16_sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !f16_in
        %started = mxgpu.mma #mxgpu.wgmma<n = 256, k = 16> %a, %b into %old : !f16_a, !f16_b, !f16_sums -> !f16_sums
        %new = mxgpu.mma_wait %started pending(0) : !f16_sums
        mxgpu.consumer_release %stage : !f16_input
        mxgpu.yield %new : !f16_sums
      }
      %rows:2 = mxgpu.to_rows %sums : !f16_sums -> vector<64xf32>, vector<64xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<64xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<64xf32>, memref<?x?xf32>
    }
  }

  // Each operand has a type of its own. Rows of A begin at a row: 8 units of 16 bytes each.
  // CHECK-LABEL: llvm.func @f8(
  // CHECK-SAME:    %{{[a-z0-9]*}}: !llvm.ptr, %{{[a-z0-9]*}}: i64, %{{[a-z0-9]*}}: i64, %[[I:[a-z0-9]*]]: i64,
  // CHECK:       %[[INDEX:.*]] = arith.index_cast %[[I]] : i64 to index
  // CHECK:       %[[UNITS:.*]] = arith.shrui %{{.*}}, %c4_i64
  // CHECK-NEXT:  %[[START:.*]] = arith.addi %[[UNITS]], %c4611686293305294848_i64
  // CHECK-NEXT:  %[[ROW:.*]] = arith.index_cast %[[INDEX]] : index to i32
  // CHECK-NEXT:  %[[ROWS:.*]] = arith.muli %[[ROW]], %c8_i32
  // CHECK-NEXT:  %[[MORE:.*]] = arith.extui %[[ROWS]] : i32 to i64
  // CHECK-NEXT:  %[[A0:.*]] = arith.addi %[[START]], %[[MORE]]
  // CHECK:       nvvm.wgmma.fence.aligned
  // CHECK:       %[[A1:.*]] = arith.addi %[[A0]], %c2_i64
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
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !f8_sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !f8_in
        %started = mxgpu.mma #mxgpu.wgmma<n = 64, k = 32> %a row(%i), %b into %old : !f8_a, !f8_b, !f8_sums -> !f8_sums
        %new = mxgpu.mma_wait %started pending(0) : !f8_sums
        mxgpu.consumer_release %stage : !f8_input
        mxgpu.yield %new : !f8_sums
      }
      %rows:2 = mxgpu.to_rows %sums : !f8_sums -> vector<16xf32>, vector<16xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %j] when(%yes) : vector<16xf32>, memref<?x?xf32>
      mxgpu.store_fragment %rows#1, %out[%j, %i] when(%yes) : vector<16xf32>, memref<?x?xf32>
    }
  }
}
