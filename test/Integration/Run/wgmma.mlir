// Computes C = A * B^T + bias with bf16 A and B and wgmma accumulators in registers.
// The loop over K carries the accumulator as a fragment, and the epilogue computes
// the positions of its elements from the fragment's layout. Results are compared
// with float64; this test uses the simulator, and the script supports other devices.

// REQUIRES: numpy
// RUN: mx-compile %s --chip=sm_90a -o %t
// RUN: %python %S/Inputs/wgmma.py %t --device=sim

!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
!c_map = !mxgpu.tensor_map<16x32xf32, sw128>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!c = !mxgpu.buffer<smem<16x32xf32, sw128>>
!inputs = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>),
                      producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!inputs>
!outputs = !mxgpu.ring<2 x (c: smem<16x32xf32, sw128>),
                       producer = threads(32), consumer = bulk_store, scope = warp>
!output = !mxgpu.stage<!outputs>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
#accumulator = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
                               values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
#part = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
                               values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
!accumulator = !mxgpu.fragment<64x128xf32, #accumulator>
!part = !mxgpu.fragment<64x32xf32, #part>

module attributes {gpu.container_module} {
  // The epilogue stores the result from registers, in the order of the fragment.
  func.func @direct(%at: tensor<?x?xbf16>, %bt: tensor<?x?xbf16>, %biast: tensor<?xf32>, %ct: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %a = bufferization.to_buffer %at read_only : tensor<?x?xbf16> to memref<?x?xbf16>
    %b = bufferization.to_buffer %bt read_only : tensor<?x?xbf16> to memref<?x?xbf16>
    %bias = bufferization.to_buffer %biast read_only : tensor<?xf32> to memref<?xf32>
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
    mxgpu.launch @kernels::@direct grid(%grid) args(%a_map, %b_map, %bias, %c, %k : !a_map, !b_map, memref<?xf32>, memref<?x?xf32>, index)
    %y = bufferization.to_tensor %c restrict : memref<?x?xf32> to tensor<?x?xf32>
    return %y : tensor<?x?xf32>
  }

  // The epilogue stores the result through shared memory.
  func.func @staged(%at: tensor<?x?xbf16>, %bt: tensor<?x?xbf16>, %ct: tensor<?x?xf32>) -> tensor<?x?xf32> {
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
    mxgpu.launch @kernels::@staged grid(%grid) args(%a_map, %b_map, %c_map, %m, %n, %k : !a_map, !b_map, !c_map, index, index, index)
    %y = bufferization.to_tensor %c restrict : memref<?x?xf32> to tensor<?x?xf32>
    return %y : tensor<?x?xf32>
  }

  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">] {
    mxgpu.kernel @direct(%a_map: !a_map, %b_map: !b_map, %bias: memref<?xf32>, %c: memref<?x?xf32>, %reduction: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %m = memref.dim %c, %c0 : memref<?x?xf32>
      %n = memref.dim %c, %c1 : memref<?x?xf32>
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, 128] of(%m, %n, %reduction)
      %in = mxgpu.ring "in" : !inputs
      mxgpu.role @multiply warps(4) {
        %row0 = mxgpu.fragment_row 0 of !accumulator
        %row1 = mxgpu.fragment_row 1 of !accumulator
        %zero = mxgpu.zero_fragment : !accumulator
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {
          %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 64 iter_args(%old = %zero : !accumulator) {
            %stage, %a, %b = mxgpu.consumer_wait %in : !inputs
            %started = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !accumulator -> !accumulator
            %new = mxgpu.mma_wait %started pending(0) : !accumulator
            mxgpu.consumer_release %stage : !input
            mxgpu.yield %new : !accumulator
          }
          %r0 = arith.addi %row, %row0 : index
          %r1 = arith.addi %row, %row1 : index
          %has0 = arith.cmpi ult, %r0, %m : index
          %has1 = arith.cmpi ult, %r1, %m : index
          %last = arith.subi %n, %c1 : index
          scf.for %j = %c0 to %c128 step %c32 {
            %part = mxgpu.extract_columns %accumulator at(%j) : !accumulator -> !part
            %v:2 = mxgpu.to_rows %part : !part -> vector<8xf32>, vector<8xf32>
            %first_column = arith.addi %column, %j : index
            // A thread's part of the fragment: four runs of two columns in each of its two rows.
            %in0 = mxgpu.fragment_column 0 of !part
            %at0 = arith.addi %first_column, %in0 : index
            %next0 = arith.addi %at0, %c1 : index
            %i0 = arith.minui %at0, %last : index
            %j0 = arith.minui %next0, %last : index
            %p0 = memref.load %bias[%i0] : memref<?xf32>
            %q0 = memref.load %bias[%j0] : memref<?xf32>
            %add0 = vector.from_elements %p0, %q0 : vector<2xf32>
            %x0 = vector.extract_strided_slice %v#0 {offsets = [0], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %y0 = vector.extract_strided_slice %v#1 {offsets = [0], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %x_sum0 = arith.addf %x0, %add0 : vector<2xf32>
            %y_sum0 = arith.addf %y0, %add0 : vector<2xf32>
            mxgpu.store_fragment %x_sum0, %c[%r0, %at0] when(%has0) : vector<2xf32>, memref<?x?xf32>
            mxgpu.store_fragment %y_sum0, %c[%r1, %at0] when(%has1) : vector<2xf32>, memref<?x?xf32>
            %in1 = mxgpu.fragment_column 1 of !part
            %at1 = arith.addi %first_column, %in1 : index
            %next1 = arith.addi %at1, %c1 : index
            %i1 = arith.minui %at1, %last : index
            %j1 = arith.minui %next1, %last : index
            %p1 = memref.load %bias[%i1] : memref<?xf32>
            %q1 = memref.load %bias[%j1] : memref<?xf32>
            %add1 = vector.from_elements %p1, %q1 : vector<2xf32>
            %x1 = vector.extract_strided_slice %v#0 {offsets = [2], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %y1 = vector.extract_strided_slice %v#1 {offsets = [2], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %x_sum1 = arith.addf %x1, %add1 : vector<2xf32>
            %y_sum1 = arith.addf %y1, %add1 : vector<2xf32>
            mxgpu.store_fragment %x_sum1, %c[%r0, %at1] when(%has0) : vector<2xf32>, memref<?x?xf32>
            mxgpu.store_fragment %y_sum1, %c[%r1, %at1] when(%has1) : vector<2xf32>, memref<?x?xf32>
            %in2 = mxgpu.fragment_column 2 of !part
            %at2 = arith.addi %first_column, %in2 : index
            %next2 = arith.addi %at2, %c1 : index
            %i2 = arith.minui %at2, %last : index
            %j2 = arith.minui %next2, %last : index
            %p2 = memref.load %bias[%i2] : memref<?xf32>
            %q2 = memref.load %bias[%j2] : memref<?xf32>
            %add2 = vector.from_elements %p2, %q2 : vector<2xf32>
            %x2 = vector.extract_strided_slice %v#0 {offsets = [4], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %y2 = vector.extract_strided_slice %v#1 {offsets = [4], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %x_sum2 = arith.addf %x2, %add2 : vector<2xf32>
            %y_sum2 = arith.addf %y2, %add2 : vector<2xf32>
            mxgpu.store_fragment %x_sum2, %c[%r0, %at2] when(%has0) : vector<2xf32>, memref<?x?xf32>
            mxgpu.store_fragment %y_sum2, %c[%r1, %at2] when(%has1) : vector<2xf32>, memref<?x?xf32>
            %in3 = mxgpu.fragment_column 3 of !part
            %at3 = arith.addi %first_column, %in3 : index
            %next3 = arith.addi %at3, %c1 : index
            %i3 = arith.minui %at3, %last : index
            %j3 = arith.minui %next3, %last : index
            %p3 = memref.load %bias[%i3] : memref<?xf32>
            %q3 = memref.load %bias[%j3] : memref<?xf32>
            %add3 = vector.from_elements %p3, %q3 : vector<2xf32>
            %x3 = vector.extract_strided_slice %v#0 {offsets = [6], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %y3 = vector.extract_strided_slice %v#1 {offsets = [6], sizes = [2], strides = [1]} : vector<8xf32> to vector<2xf32>
            %x_sum3 = arith.addf %x3, %add3 : vector<2xf32>
            %y_sum3 = arith.addf %y3, %add3 : vector<2xf32>
            mxgpu.store_fragment %x_sum3, %c[%r0, %at3] when(%has0) : vector<2xf32>, memref<?x?xf32>
            mxgpu.store_fragment %y_sum3, %c[%r1, %at3] when(%has1) : vector<2xf32>, memref<?x?xf32>
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

    mxgpu.kernel @staged(%a_map: !a_map, %b_map: !b_map, %c_map: !c_map, %m: index, %n: index, %reduction: index) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, 128] of(%m, %n, %reduction)
      %in = mxgpu.ring "in" : !inputs
      %out = mxgpu.ring "out" : !outputs
      mxgpu.role @multiply warps(4) {
        %zero = mxgpu.zero_fragment : !accumulator
        %thread = mxgpu.thread_id
        %warp = arith.divui %thread, %c32 : index
        %warp_row = arith.muli %warp, %c16 : index
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {
          %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 64 iter_args(%old = %zero : !accumulator) {
            %stage, %a, %b = mxgpu.consumer_wait %in : !inputs
            %started = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !accumulator -> !accumulator
            %new = mxgpu.mma_wait %started pending(0) : !accumulator
            mxgpu.consumer_release %stage : !input
            mxgpu.yield %new : !accumulator
          }
          %first_row = arith.addi %row, %warp_row : index
          scf.for %j = %c0 to %c128 step %c32 {
            %part = mxgpu.extract_columns %accumulator at(%j) : !accumulator -> !part
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
  }
}
