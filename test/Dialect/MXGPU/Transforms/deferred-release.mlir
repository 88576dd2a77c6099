// RUN: mx-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// A stage that goes back in the next iteration, when what read it is finished.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(1) : !sums
        mxgpu.consumer_release %stage deferred : !input
        mxgpu.yield %last : !sums
      }
      %end = mxgpu.mma_wait %sums pending(0) : !sums
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!sums) -> ()
    }
  }
}

// -----

// The release stands before the wait of the next iteration.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %stage deferred : !input
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait with pending(0) in its block, between it and the release of the stage that it reads, found none}}
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(1) : !sums
        mxgpu.yield %last : !sums
      }
      %end = mxgpu.mma_wait %sums pending(0) : !sums
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!sums) -> ()
    }
  }
}

// -----

// Two may be under way: the last iteration's is.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait with pending(0) in its block, between it and the release of the stage that it reads, found none}}
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(2) : !sums
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %stage deferred : !input
        mxgpu.yield %last : !sums
      }
      %end = mxgpu.mma_wait %sums pending(0) : !sums
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!sums) -> ()
    }
  }
}

// -----

// The last stage goes back before the wait behind the loop.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait with pending(0) in its block, between it and the release of the stage that it reads, found none}}
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(1) : !sums
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %stage deferred : !input
        mxgpu.yield %last : !sums
      }
      mxgpu.consumer_tail %in : !in
      %end = mxgpu.mma_wait %sums pending(0) : !sums
    }
  }
}

// -----

// One stage cannot be kept while the next is waited for.

!in = !mxgpu.ring<1 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(1) : !sums
        // kernel C70
        // expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 2 stages for a deferred release, found 1}}
        mxgpu.consumer_release %stage deferred : !input
        mxgpu.yield %last : !sums
      }
      %end = mxgpu.mma_wait %sums pending(0) : !sums
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!sums) -> ()
    }
  }
}

// -----

// The last stage stays.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(1) : !sums
        // kernel C72
        // expected-error @below {{'mxgpu.consumer_release' op expected one mxgpu.consumer_tail of the ring after the loop, in its block, found 0}}
        mxgpu.consumer_release %stage deferred : !input
        mxgpu.yield %last : !sums
      }
      %end = mxgpu.mma_wait %sums pending(0) : !sums
    }
  }
}

// -----

// Two tails.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(1) : !sums
        // kernel C72
        // expected-error @below {{'mxgpu.consumer_release' op expected one mxgpu.consumer_tail of the ring after the loop, in its block, found 2}}
        mxgpu.consumer_release %stage deferred : !input
        mxgpu.yield %last : !sums
      }
      %end = mxgpu.mma_wait %sums pending(0) : !sums
      mxgpu.consumer_tail %in : !in
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// A tail of what went back at once.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %sums = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !sums) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !sums -> !sums
        %last = mxgpu.mma_wait %new pending(0) : !sums
        mxgpu.consumer_release %stage : !input
        mxgpu.yield %last : !sums
      }
      // kernel C73
      // expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring in a loop before it, found none}}
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Not in a loop.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!sums = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %k = arith.constant 0 : index
        %s, %a, %b = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a for %s : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b for %s : !b_map, !b, !input
        mxgpu.producer_commit %s : !input
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !sums
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      %new = mxgpu.mma #wgmma %a, %b into %zero : !a, !b, !sums -> !sums
      %end = mxgpu.mma_wait %new pending(0) : !sums
      // kernel C71
      // expected-error @below {{'mxgpu.consumer_release' op expected a deferred release in mxgpu.for_each_k, found mxgpu.role}}
      mxgpu.consumer_release %stage deferred : !input
      mxgpu.consumer_tail %in : !in
    }
  }
}
