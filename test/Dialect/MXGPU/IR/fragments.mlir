// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --canonicalize | FileCheck %s --check-prefix=FOLDED

// Round-trips wgmma instructions and operations on fragments, and folds operations on fragments.

// CHECK: #layout = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
// CHECK: #layout2 = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>
!inputs = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!inputs>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
#accumulator = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>
#part = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>
#rows = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>
!accumulator = !mxgpu.fragment<64x128xf32, #accumulator>
!part = !mxgpu.fragment<64x32xf32, #part>
!rows = !mxgpu.fragment<128x32xf32, #rows>

!held_inputs = !mxgpu.ring<4 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(256)>
!held = !mxgpu.fragment<256x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns, 2: 64 rows]>>
!held_sums = !mxgpu.fragment<256x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows], values = [2: 1 column, 2: 8 rows, 2: 64 rows, 16: 8 columns]>>
!held_part = !mxgpu.fragment<256x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows], values = [2: 1 column, 2: 8 rows, 2: 64 rows, 4: 8 columns]>>

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  mxgpu.kernel @kernel(%out: memref<?x?xf32>, %k: index, %n: index) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !inputs
    mxgpu.role @multiply warps(4) {
      // CHECK: %[[ZERO:.*]] = mxgpu.zero_fragment : !fragment
      %zero = mxgpu.zero_fragment : !accumulator
      // CHECK: mxgpu.for_each_k {{.*}} iter_args(%[[OLD:.*]] = %[[ZERO]] : !fragment)
      %accumulator = mxgpu.for_each_k (%at, %extent, %first) from %c0 to %k step 64 iter_args(%old = %zero : !accumulator) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !inputs
        // CHECK: %[[SUMS:.*]] = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %{{.*}}, %{{.*}} into %[[OLD]] : !smem, !smem{{.*}}, !fragment -> !fragment
        %started = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !accumulator -> !accumulator
        // CHECK: mxgpu.mma_wait %[[SUMS]] pending(0) : !fragment
        %new = mxgpu.mma_wait %started pending(0) : !accumulator
        mxgpu.consumer_release %stage : !input
        mxgpu.yield %new : !accumulator
      }
      // CHECK: mxgpu.extract_columns %{{.*}} at(%c0) : !fragment -> !fragment1
      %part = mxgpu.extract_columns %accumulator at(%c0) : !accumulator -> !part
      // CHECK: mxgpu.to_rows %{{.*}} : !fragment1 -> vector<8xf32>, vector<8xf32>
      %v:2 = mxgpu.to_rows %part : !part -> vector<8xf32>, vector<8xf32>
      // CHECK: mxgpu.fragment_row 1 of !fragment1
      %row = mxgpu.fragment_row 1 of !part
      // CHECK: mxgpu.fragment_column 3 of !fragment1
      // FOLDED: mxgpu.fragment_column 3
      %column = mxgpu.fragment_column 3 of !part
      // Each thread holds a whole row, so the column does not depend on the thread
      // and folds to a constant.
      // FOLDED-NOT: mxgpu.fragment_column
      %first = mxgpu.fragment_column 0 of !rows
      // FOLDED-NOT: mxgpu.from_rows
      // CHECK: mxgpu.from_rows %{{.*}}, %{{.*}} : vector<8xf32>, vector<8xf32> -> !fragment1
      %again = mxgpu.from_rows %v#0, %v#1 : vector<8xf32>, vector<8xf32> -> !part
      %w:2 = mxgpu.to_rows %again : !part -> vector<8xf32>, vector<8xf32>
      %some = arith.cmpi ult, %row, %n : index
      mxgpu.store_fragment %w#0, %out[%row, %column] when(%some) : vector<8xf32>, memref<?x?xf32>
      mxgpu.store_fragment %w#1, %out[%row, %first] when(%some) aligned(8) : vector<8xf32>, memref<?x?xf32>
    }
  }

  // Two warpgroups multiply together, with A in registers.
  // CHECK: mxgpu.kernel @held
  mxgpu.kernel @held() {
    %c32 = arith.constant 32 : index
    %in = mxgpu.ring "in" : !held_inputs
    mxgpu.role @multiply warps(8) {
      %zero = mxgpu.zero_fragment : !held_sums
      %held = mxgpu.zero_fragment : !held
      %stage, %b = mxgpu.consumer_wait %in : !held_inputs
      // CHECK: mxgpu.mma #mxgpu.wgmma<m = 256, n = 128, k = 16, warpgroups = 2> %{{.*}}, %{{.*}} into %{{.*}} : !fragment{{[0-9]*}}, !smem{{[0-9]*}}, !fragment{{[0-9]*}} -> !fragment
      %started = mxgpu.mma #mxgpu.wgmma<m = 256, n = 128, k = 16, warpgroups = 2> %held, %b into %zero : !held, !b, !held_sums -> !held_sums
      %accumulator = mxgpu.mma_wait %started pending(0) : !held_sums
      %part = mxgpu.extract_columns %accumulator at(%c32) : !held_sums -> !held_part
      %v:4 = mxgpu.to_rows %part : !held_part -> vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
    }
  }
}
