// RUN: mx-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-verify-pipelines

// A stage that goes back in the next iteration, when what read it is finished.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(1) : !acc
        mxgpu.consumer_release %stage deferred(1) : !input
        mxgpu.yield %last : !acc
      }
      %end = mxgpu.mma_wait %total pending(0) : !acc
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!acc) -> ()
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
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %stage deferred(1) : !input
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is given back, found none}}
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(1) : !acc
        mxgpu.yield %last : !acc
      }
      %end = mxgpu.mma_wait %total pending(0) : !acc
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!acc) -> ()
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
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is given back, found none}}
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(2) : !acc
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %stage deferred(1) : !input
        mxgpu.yield %last : !acc
      }
      %end = mxgpu.mma_wait %total pending(0) : !acc
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!acc) -> ()
    }
  }
}

// -----

// The last stage goes back before the wait after the loop.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is given back, found none}}
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(1) : !acc
        mxgpu.consumer_release %stage deferred(1) : !input
        mxgpu.yield %last : !acc
      }
      // expected-note @below {{given back here}}
      mxgpu.consumer_tail %in : !in
      %end = mxgpu.mma_wait %total pending(0) : !acc
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
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(1) : !acc
        // kernel C70
        // expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 2 stages for a release deferred by 1, found 1}}
        mxgpu.consumer_release %stage deferred(1) : !input
        mxgpu.yield %last : !acc
      }
      %end = mxgpu.mma_wait %total pending(0) : !acc
      mxgpu.consumer_tail %in : !in
      "use"(%end) : (!acc) -> ()
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
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(1) : !acc
        // kernel C72
        // expected-error @below {{'mxgpu.consumer_release' op expected an mxgpu.consumer_tail of the ring after it or after the loops around it, found none}}
        mxgpu.consumer_release %stage deferred(1) : !input
        mxgpu.yield %last : !acc
      }
      %end = mxgpu.mma_wait %total pending(0) : !acc
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
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(1) : !acc
        mxgpu.consumer_release %stage deferred(1) : !input
        mxgpu.yield %last : !acc
      }
      %end = mxgpu.mma_wait %total pending(0) : !acc
      mxgpu.consumer_tail %in : !in
      // kernel C73
      // expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring before it, and no other tail between, found none}}
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
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
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
      %zero = mxgpu.zero_fragment : !acc
      %total = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %stage, %a, %b = mxgpu.consumer_wait %in : !in
        %new = mxgpu.mma #wgmma %a, %b into %old : !a, !b, !acc -> !acc
        %last = mxgpu.mma_wait %new pending(0) : !acc
        mxgpu.consumer_release %stage : !input
        mxgpu.yield %last : !acc
      }
      // kernel C73
      // expected-error @below {{'mxgpu.consumer_tail' op expected a deferred release of the ring before it, and no other tail between, found none}}
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Two and three steps later.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
        mxgpu.consumer_release %t0 deferred(2) : !input
        mxgpu.yield %sum0 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Three, of as many stages as are kept and one more.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(3) : !acc
        mxgpu.consumer_release %t0 deferred(3) : !input
        mxgpu.yield %sum0 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Unrolled by two on both sides.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        %s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
        mxgpu.producer_commit %s1 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
        mxgpu.consumer_release %t0 deferred(1) : !input
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
        mxgpu.consumer_release %t1 deferred(1) : !input
        mxgpu.yield %sum1 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Unrolled by two on one side, of a known extent, and two under way.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %c512 step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %c512 step 128 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
        mxgpu.consumer_release %t0 deferred(2) : !input
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
        mxgpu.consumer_release %t1 deferred(2) : !input
        mxgpu.yield %sum1 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// The first step is peeled off, on one side: how many there are is known.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %c512 step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
      %new0 = mxgpu.mma #wgmma %x0, %y0 into %zero : !a, !b, !acc -> !acc
      %sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
      mxgpu.consumer_release %t0 deferred(1) : !input
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c64 to %c512 step 64 iter_args(%old = %sum0 : !acc) {
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %old : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
        mxgpu.consumer_release %t1 deferred(1) : !input
        mxgpu.yield %sum1 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// The last step is peeled off, on both sides.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
      %s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %a_map[%c0, %n] into %a1 for %s1 : !a_map, !a, !input
      mxgpu.tma_load %b_map[%c0, %n] into %b1 for %s1 : !b_map, !b, !input
      mxgpu.producer_commit %s1 : !input
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %most = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
        mxgpu.consumer_release %t0 deferred(2) : !input
        mxgpu.yield %sum0 : !acc
      }
      %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
      %new1 = mxgpu.mma #wgmma %x1, %y1 into %most : !a, !b, !acc -> !acc
      %sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
      mxgpu.consumer_release %t1 deferred(2) : !input
      %end = mxgpu.mma_wait %sum1 pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Three steps kept where there are three stages.

!in = !mxgpu.ring<3 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(3) : !acc
        // kernel C70
        // expected-error @below {{'mxgpu.consumer_release' op expected a ring of at least 4 stages for a release deferred by 3, found 3}}
        mxgpu.consumer_release %t0 deferred(3) : !input
        mxgpu.yield %sum0 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Two instructions under way, and the stage of the second goes back.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is given back, found none}}
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(2) : !acc
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %t0 deferred(1) : !input
        mxgpu.yield %sum0 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// The same in a loop that is unrolled: the second release is of the first stage.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        %s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
        mxgpu.producer_commit %s1 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        // kernel C49
        // expected-error @below {{'mxgpu.mma' op expected an mxgpu.mma_wait that finishes it before the stage that it reads is given back, found none}}
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
        mxgpu.consumer_release %t0 deferred(1) : !input
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(2) : !acc
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %t1 deferred(1) : !input
        mxgpu.yield %sum1 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// A stage is used after the next release, which gives it back.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        %s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
        mxgpu.producer_commit %s1 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
        mxgpu.consumer_release %t0 deferred(1) : !input
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(0) : !acc
        // expected-note @below {{given back here}}
        mxgpu.consumer_release %t1 deferred(1) : !input
        // kernel C21
        // expected-error @below {{'mxgpu.mma' op expected to use the stage before it is handed back}}
        %new2 = mxgpu.mma #wgmma %x0, %y0 into %sum1 : !a, !b, !acc -> !acc
        %sum2 = mxgpu.mma_wait %new2 pending(0) : !acc
        mxgpu.yield %sum2 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Two distances in one role.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        %s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
        mxgpu.producer_commit %s1 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
        mxgpu.consumer_release %t0 deferred(1) : !input
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %sum0 : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
        // kernel C71
        // expected-error @below {{'mxgpu.consumer_release' op expected all releases of the ring in a role to be deferred by as many stages, found 2 and 1}}
        mxgpu.consumer_release %t1 deferred(2) : !input
        mxgpu.yield %sum1 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// A tail while a stage is taken.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %sum0 = mxgpu.mma_wait %new0 pending(0) : !acc
        // kernel C74
        // expected-error @below {{'mxgpu.consumer_tail' op expected every stage that is taken to have its release before it, found one after it}}
        mxgpu.consumer_tail %in : !in
        // expected-note @below {{here}}
        mxgpu.consumer_release %t0 deferred(1) : !input
        mxgpu.yield %sum0 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}

// -----

// Two stages are taken before one is released, and there is one.

!in = !mxgpu.ring<1 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 {
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
        // kernel C25
        // expected-error @below {{'mxgpu.producer_acquire' op expected not to wait for itself through other roles, found a deadlock}}
        %s1, %a1, %b1 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a1 for %s1 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b1 for %s1 : !b_map, !b, !input
        // expected-note @below {{which waits for this}}
        mxgpu.producer_commit %s1 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 128 iter_args(%old = %zero : !acc) {
        %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
        // expected-note @below {{which waits for this}}
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new0 = mxgpu.mma #wgmma %x0, %y0 into %old : !a, !b, !acc -> !acc
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %new0 : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(0) : !acc
        // expected-note @below {{which waits for this}}
        mxgpu.consumer_release %t0 : !input
        mxgpu.consumer_release %t1 : !input
        mxgpu.yield %sum1 : !acc
      }
    }
  }
}

// -----

// The first step is peeled off on one side of a loop that may have none.

!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!input = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
#wgmma = #mxgpu.wgmma<n = 128, k = 16>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%a_map: !a_map, %b_map: !b_map, %n: index, %yes: i1) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    // kernel C24
    // expected-error @below {{'mxgpu.ring' op expected as many stages acquired as consumed, in the same loops}}
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %n step 64 {
        // expected-note @below {{acquired here}}
        %s0, %a0, %b0 = mxgpu.producer_acquire %in : !in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %s0 : !a_map, !a, !input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %s0 : !b_map, !b, !input
        mxgpu.producer_commit %s0 : !input
      }
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !acc
      // expected-note @below {{consumed here}}
      %t0, %x0, %y0 = mxgpu.consumer_wait %in : !in
      %new0 = mxgpu.mma #wgmma %x0, %y0 into %zero : !a, !b, !acc -> !acc
      %sum0 = mxgpu.mma_wait %new0 pending(1) : !acc
      mxgpu.consumer_release %t0 deferred(1) : !input
      %all = mxgpu.for_each_k (%k, %extent, %first) from %c64 to %n step 64 iter_args(%old = %sum0 : !acc) {
        %t1, %x1, %y1 = mxgpu.consumer_wait %in : !in
        %new1 = mxgpu.mma #wgmma %x1, %y1 into %old : !a, !b, !acc -> !acc
        %sum1 = mxgpu.mma_wait %new1 pending(1) : !acc
        mxgpu.consumer_release %t1 deferred(1) : !input
        mxgpu.yield %sum1 : !acc
      }
      %end = mxgpu.mma_wait %all pending(0) : !acc
      mxgpu.consumer_tail %in : !in
    }
  }
}
