// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Verifies the bounds of accumulator reads and their convergence within a warp.

// -----

// TEMPLATE columns
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %t = mxgpu.thread_id
      %odd = arith.cmpi ult, %t, %c32 : index
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.consumer_wait %acc : !acc
        // BLOCK read
        // END
        mxgpu.consumer_release %d : !stage
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %s_a, %s_sf = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s_a for %s : !tile, !a, !in_stage
        mxgpu.tma_load %scale_tile[%n] into %s_sf for %s : !scale_tile, !sf, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %d, %d_d = mxgpu.producer_acquire %acc : !acc
        %s, %s_a, %s_sf = mxgpu.consumer_wait %in : !in
        %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_a scales(%sf, %sf : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !a, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %d : !stage
      }
    }
  }
}

// -----

// CASES columns read
// Accepts reads up to the last column.
scf.for %i = %c0 to %c128 step %c32 {
  %f_fragment = mxgpu.load_accumulator %d_d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
  %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
}

// Rejects a read beyond the end of the stage.
scf.for %i = %c24 to %c128 step %c32 {
  // kernel C47
  // expected-error @below {{'mxgpu.load_accumulator' op expected columns 0 to 127, found columns 24 to 151}}
  %f_fragment = mxgpu.load_accumulator %d_d column(%i) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
  %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
}

// kernel C46
// expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on the column, found a value that may depend on the thread}}
%f_fragment = mxgpu.load_accumulator %d_d column(%t) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>

// kernel C46
// expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on `empty`, found a value that may depend on the thread}}
%f_fragment = mxgpu.load_accumulator %d_d column(%c0) empty(%odd) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
%f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>

// -----

// TEMPLATE overlap
!acc = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 64>
!stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x256xf32>>
!a_map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!b_map = !mxgpu.tensor_map<256x128xf8E4M3FN, sw128>
!sfa_map = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!sfb_map = !mxgpu.tensor_map<4x256xf8E8M0FNU>
!in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<256x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<1024xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<256x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<1024xf8E8M0FNU>>
!fragment = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%am: !a_map, %bm: !b_map, %sfam: !sfa_map, %sfbm: !sfb_map, %n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %d = mxgpu.consumer_wait %acc : !acc
        // BLOCK read
        // END
        mxgpu.consumer_release %s : !stage
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %s, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %am[%n] into %a for %s : !a_map, !a, !in_stage
        mxgpu.tma_load %bm[%n] into %b for %s : !b_map, !b, !in_stage
        mxgpu.tma_load %sfam[%n] into %sfa for %s : !sfa_map, !sfa, !in_stage
        mxgpu.tma_load %sfbm[%n] into %sfb for %s : !sfb_map, !sfb, !in_stage
        mxgpu.producer_commit %s : !in_stage
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %scheduler {
        %t, %d = mxgpu.producer_acquire %acc : !acc
        %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
        %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
        %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<256>
        mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<256>) into %d : !a, !b, !d
        mxgpu.consumer_release %s : !in_stage
        mxgpu.producer_commit %t : !stage
      }
    }
  }
}

// -----

// CASES overlap read
// Rejects a read across the end of the shared columns, which are not adjacent to the other columns.
%c48 = arith.constant 48 : index
%at = mxgpu.epilogue_column %s, %c48 : !stage
// kernel C48
// expected-error @below {{'mxgpu.load_accumulator' op expected all places before or all places after the end of the overlap, found places 48 to 79 with overlap 64}}
%f = mxgpu.load_accumulator %d column(%at) : !d -> !fragment

// Rejects a read in a loop of another dialect, because its convergence is unknown.
scf.while : () -> () {
  %true = arith.constant true
  scf.condition(%true)
} do {
  %c0 = arith.constant 0 : index
  // kernel C45
  // expected-error @below {{'mxgpu.load_accumulator' op expected to be nested only in loops and scf.if, found scf.while}}
  %f = mxgpu.load_accumulator %d column(%c0) : !d -> !fragment
  scf.yield
}
