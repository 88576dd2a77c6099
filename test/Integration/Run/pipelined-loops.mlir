// Computes bf16 C = A * B^T with wgmma. Main loops have forms that pipelining passes
// produce: two wgmma groups in flight, or a first step before the loop (unroll-k.py
// covers several steps in an iteration). Simulated results are compared with float64.

// REQUIRES: numpy
// RUN: mx-opt %s --mx-to-nvvm | mx-translate --mx-to-ptx | FileCheck %s
// RUN: mx-compile %s --chip=sm_90a -o %t
// RUN: %python %S/Inputs/pipelined-loops.py %t

// CHECK-LABEL: .entry deep(
// CHECK:         wgmma.wait_group.sync.aligned 2;
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK-LABEL: .entry peeled(
// CHECK:         wgmma.wait_group.sync.aligned 2;
// CHECK:         wgmma.wait_group.sync.aligned 2;
// CHECK:         wgmma.wait_group.sync.aligned 0;

!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
!c_map = !mxgpu.tensor_map<16x32xf32, sw128>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!c = !mxgpu.buffer<smem<16x32xf32, sw128>>
!inputs = !mxgpu.ring<3 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>),
                      producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!inputs>
!outputs = !mxgpu.ring<2 x (c: smem<16x32xf32, sw128>),
                       producer = threads(32), consumer = bulk_store, scope = warp>
!output = !mxgpu.stage<!outputs>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
#acc = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
                               values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
#part = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
                               values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
!acc = !mxgpu.fragment<64x128xf32, #acc>
!part = !mxgpu.fragment<64x32xf32, #part>

module attributes {gpu.container_module} {
  func.func @deep(%at: tensor<?x?xbf16>, %bt: tensor<?x?xbf16>, %ct: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %a = bufferization.to_buffer %at read_only : tensor<?x?xbf16> to memref<?x?xbf16>
    %b = bufferization.to_buffer %bt read_only : tensor<?x?xbf16> to memref<?x?xbf16>
    %c = bufferization.to_buffer %ct : tensor<?x?xf32> to memref<?x?xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %c, %c0 : memref<?x?xf32>
    %n = memref.dim %c, %c1 : memref<?x?xf32>
    %k = memref.dim %a, %c1 : memref<?x?xbf16>
    %rows = arith.ceildivui %m, %c64 : index
    %columns = arith.ceildivui %n, %c128 : index
    %tiles = arith.muli %rows, %columns : index
    %sms = mxgpu.sm_count
    %grid = arith.minui %tiles, %sms : index
    %a_map = mxgpu.encode_tensor_map %a : memref<?x?xbf16> -> !a_map
    %b_map = mxgpu.encode_tensor_map %b : memref<?x?xbf16> -> !b_map
    %c_map = mxgpu.encode_tensor_map %c : memref<?x?xf32> -> !c_map
    mxgpu.launch @kernels::@deep grid(%grid) args(%a_map, %b_map, %c_map, %m, %n, %k : !a_map, !b_map, !c_map, index, index, index)
    %y = bufferization.to_tensor %c restrict : memref<?x?xf32> to tensor<?x?xf32>
    return %y : tensor<?x?xf32>
  }

  func.func @peeled(%at: tensor<?x?xbf16>, %bt: tensor<?x?xbf16>, %ct: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %a = bufferization.to_buffer %at read_only : tensor<?x?xbf16> to memref<?x?xbf16>
    %b = bufferization.to_buffer %bt read_only : tensor<?x?xbf16> to memref<?x?xbf16>
    %c = bufferization.to_buffer %ct : tensor<?x?xf32> to memref<?x?xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %c, %c0 : memref<?x?xf32>
    %n = memref.dim %c, %c1 : memref<?x?xf32>
    %k = memref.dim %a, %c1 : memref<?x?xbf16>
    %rows = arith.ceildivui %m, %c64 : index
    %columns = arith.ceildivui %n, %c128 : index
    %tiles = arith.muli %rows, %columns : index
    %sms = mxgpu.sm_count
    %grid = arith.minui %tiles, %sms : index
    %a_map = mxgpu.encode_tensor_map %a : memref<?x?xbf16> -> !a_map
    %b_map = mxgpu.encode_tensor_map %b : memref<?x?xbf16> -> !b_map
    %c_map = mxgpu.encode_tensor_map %c : memref<?x?xf32> -> !c_map
    mxgpu.launch @kernels::@peeled grid(%grid) args(%a_map, %b_map, %c_map, %m, %n, %k : !a_map, !b_map, !c_map, index, index, index)
    %y = bufferization.to_tensor %c restrict : memref<?x?xf32> to tensor<?x?xf32>
    return %y : tensor<?x?xf32>
  }

  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">] {
    // Two wgmma groups are in flight in addition to the current one, so all stages are in use.
    mxgpu.kernel @deep(%a_map: !a_map, %b_map: !b_map, %c_map: !c_map, %m: index, %n: index, %reduction: index) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, 128] of(%m, %n, %reduction)
      %in = mxgpu.ring "in" : !inputs
      %out = mxgpu.ring "out" : !outputs
      mxgpu.role @multiply warps(4) {
        %zero = mxgpu.zero_fragment : !acc
        %thread = mxgpu.thread_id
        %warp = arith.divui %thread, %c32 : index
        %warp_row = arith.muli %warp, %c16 : index
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {
          %total = mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 64 iter_args(%old = %zero : !acc) {
            %stage, %a, %b = mxgpu.consumer_wait %in : !inputs
            %started = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
            %new = mxgpu.mma_wait %started pending(2) : !acc
            mxgpu.consumer_release %stage deferred(2) : !input
            mxgpu.yield %new : !acc
          }
          %finished = mxgpu.mma_wait %total pending(0) : !acc
          mxgpu.consumer_tail %in : !inputs
          %first_row = arith.addi %row, %warp_row : index
          scf.for %j = %c0 to %c128 step %c32 {
            %part = mxgpu.extract_columns %finished at(%j) : !acc -> !part
            %first_column = arith.addi %column, %j : index
            %stage, %rows = mxgpu.producer_acquire %out : !outputs
            mxgpu.store_shared %part, %rows : !part, !c
            mxgpu.tma_store %rows to %c_map[%first_row, %first_column] : !c, !c_map
            mxgpu.producer_commit %stage : !output
          }
        }
      }
      mxgpu.role @load warps(1) elected {
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {
          mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 64 {
            %stage, %a, %b = mxgpu.producer_acquire %in : !inputs
            mxgpu.tma_load %a_map[%row, %k] into %a for %stage : !a_map, !a, !input
            mxgpu.tma_load %b_map[%column, %k] into %b for %stage : !b_map, !b, !input
            mxgpu.producer_commit %stage : !input
          }
        }
      }
    }

    // The first step is before the loop, and the loop may execute no iteration.
    mxgpu.kernel @peeled(%a_map: !a_map, %b_map: !b_map, %c_map: !c_map, %m: index, %n: index, %reduction: index) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, 128] of(%m, %n, %reduction)
      %in = mxgpu.ring "in" : !inputs
      %out = mxgpu.ring "out" : !outputs
      mxgpu.role @multiply warps(4) {
        %zero = mxgpu.zero_fragment : !acc
        %thread = mxgpu.thread_id
        %warp = arith.divui %thread, %c32 : index
        %warp_row = arith.muli %warp, %c16 : index
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {
          %next = arith.addi %start, %c64 : index
          %stage0, %a0, %b0 = mxgpu.consumer_wait %in : !inputs
          %started0 = mxgpu.mma #wgmma %a0, %b0 into %zero : !a, !b, !acc -> !acc
          %new0 = mxgpu.mma_wait %started0 pending(2) : !acc
          mxgpu.consumer_release %stage0 deferred(2) : !input
          %total = mxgpu.for_each_k (%k, %extent, %first) from %next to %end step 64 iter_args(%old = %new0 : !acc) {
            %stage1, %a1, %b1 = mxgpu.consumer_wait %in : !inputs
            %started1 = mxgpu.mma #wgmma %a1, %b1 into %old : !a, !b, !acc -> !acc
            %new1 = mxgpu.mma_wait %started1 pending(2) : !acc
            mxgpu.consumer_release %stage1 deferred(2) : !input
            mxgpu.yield %new1 : !acc
          }
          %finished = mxgpu.mma_wait %total pending(0) : !acc
          mxgpu.consumer_tail %in : !inputs
          %first_row = arith.addi %row, %warp_row : index
          scf.for %j = %c0 to %c128 step %c32 {
            %part = mxgpu.extract_columns %finished at(%j) : !acc -> !part
            %first_column = arith.addi %column, %j : index
            %stage, %rows = mxgpu.producer_acquire %out : !outputs
            mxgpu.store_shared %part, %rows : !part, !c
            mxgpu.tma_store %rows to %c_map[%first_row, %first_column] : !c, !c_map
            mxgpu.producer_commit %stage : !output
          }
        }
      }
      mxgpu.role @load warps(1) elected {
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {
          %next = arith.addi %start, %c64 : index
          %stage0, %a0, %b0 = mxgpu.producer_acquire %in : !inputs
          mxgpu.tma_load %a_map[%row, %start] into %a0 for %stage0 : !a_map, !a, !input
          mxgpu.tma_load %b_map[%column, %start] into %b0 for %stage0 : !b_map, !b, !input
          mxgpu.producer_commit %stage0 : !input
          mxgpu.for_each_k (%k, %extent, %first) from %next to %end step 64 {
            %stage1, %a1, %b1 = mxgpu.producer_acquire %in : !inputs
            mxgpu.tma_load %a_map[%row, %k] into %a1 for %stage1 : !a_map, !a, !input
            mxgpu.tma_load %b_map[%column, %k] into %b1 for %stage1 : !b_map, !b, !input
            mxgpu.producer_commit %stage1 : !input
          }
        }
      }
    }
  }
}
