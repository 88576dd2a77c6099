// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-insert-proxy-fences --verify-roundtrip | FileCheck %s

// Inserts a fence before a commit, release or copy that orders an access of a thread
// (generic proxy) before an access of a copy or MMA (async proxy).

!loaded = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!loaded_stage = !mxgpu.stage<!loaded>
!filled = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = threads(64), consumer = async_threads(128)>
!filled_stage = !mxgpu.stage<!filled>
!read = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = threads(128)>
!read_stage = !mxgpu.stage<!read>
!between = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = threads(64), consumer = threads(128)>
!between_stage = !mxgpu.stage<!between>
!staged = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!staged_stage = !mxgpu.stage<!staged>
!work_tiles = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!units_stage = !mxgpu.stage<!work_tiles>
!work_tile = !mxgpu.buffer<smem<16xi8>>
!c = !mxgpu.buffer<smem<32x32xf32, sw128>>
!c_map = !mxgpu.tensor_map<32x32xf32, sw128>
!map = !mxgpu.tensor_map<128x64xbf16, sw128>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns]>>
!acc = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
!part = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // Copies fill the stages and wgmma reads them, so no fence is needed.
  // CHECK-LABEL: mxgpu.kernel @loaded(
  // CHECK-NOT:     nvvm.fence
  mxgpu.kernel @loaded(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !loaded
    mxgpu.role @multiply warps(4) {
      %a = "make"() : () -> !a
      %zero = mxgpu.zero_fragment : !acc
      %stage, %b = mxgpu.consumer_wait %ring : !loaded
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !acc -> !acc
      %done = mxgpu.mma_wait %new pending(0) : !acc
      mxgpu.consumer_release %stage : !loaded_stage
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !loaded
      mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !loaded_stage
      mxgpu.producer_commit %stage : !loaded_stage
    }
  }

  // Threads fill the stage for wgmma, so the fence precedes the commit.
  // CHECK-LABEL: mxgpu.kernel @filled(
  // CHECK:         mxgpu.mma_wait
  // CHECK-NEXT:    mxgpu.consumer_release
  // CHECK:         mxgpu.store_shared
  // CHECK-NEXT:    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT:    mxgpu.producer_commit
  mxgpu.kernel @filled(%i: index) {
    %x = "make"() : () -> vector<8xbf16>
    %ring = mxgpu.ring "ring" : !filled
    mxgpu.role @multiply warps(4) {
      %a = "make"() : () -> !a
      %zero = mxgpu.zero_fragment : !acc
      %stage, %b = mxgpu.consumer_wait %ring : !filled
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !acc -> !acc
      %done = mxgpu.mma_wait %new pending(0) : !acc
      mxgpu.consumer_release %stage : !filled_stage
    }
    mxgpu.role @fill warps(2) {
      %stage, %b = mxgpu.producer_acquire %ring : !filled
      mxgpu.store_shared %x, %b at [%i, %i] : vector<8xbf16>, !b
      mxgpu.producer_commit %stage : !filled_stage
    }
  }

  // Threads of two roles read copied stages. Role @used needs no fence, because its
  // store depends on the loaded value and precedes the release.
  // CHECK-LABEL: mxgpu.kernel @read(
  // CHECK:         mxgpu.role @used
  // CHECK:           mxgpu.store_shared
  // CHECK-NEXT:      mxgpu.consumer_release
  // CHECK:         mxgpu.role @under_way
  // CHECK:           mxgpu.load_shared
  // CHECK-NEXT:      nvvm.fence.proxy
  // CHECK-NEXT:      mxgpu.consumer_release
  // CHECK:         mxgpu.role @load
  // CHECK-NOT:       nvvm.fence
  mxgpu.kernel @read(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !read
    %out = mxgpu.ring "out" : !between
    mxgpu.role @used warps(4) {
      %stage, %b = mxgpu.consumer_wait %ring : !read
      %x = mxgpu.load_shared %b at [%i, %i] : !b -> vector<8xbf16>
      %s, %c = mxgpu.producer_acquire %out : !between
      %y = "use"(%x) : (vector<8xbf16>) -> vector<8xbf16>
      mxgpu.store_shared %y, %c at [%i, %i] : vector<8xbf16>, !b
      mxgpu.consumer_release %stage : !read_stage
      mxgpu.producer_commit %s : !between_stage
    }
    mxgpu.role @under_way warps(4) {
      %stage, %b = mxgpu.consumer_wait %ring : !read
      %x = mxgpu.load_shared %b at [%i, %i] : !b -> vector<8xbf16>
      mxgpu.consumer_release %stage : !read_stage
      %y = "use"(%x) : (vector<8xbf16>) -> vector<8xbf16>
      "end"(%y) : (vector<8xbf16>) -> ()
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !read
      mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !read_stage
      mxgpu.producer_commit %stage : !read_stage
    }
  }

  // MMAs that start after the last read hide the fence.
  // CHECK-LABEL: mxgpu.kernel @hidden(
  // CHECK:         mxgpu.load_shared
  // CHECK-NEXT:    mxgpu.mma #mxgpu.wgmma
  // CHECK-NEXT:    nvvm.fence.proxy
  // CHECK-NEXT:    mxgpu.mma_wait
  // CHECK-NEXT:    mxgpu.consumer_release
  mxgpu.kernel @hidden(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !loaded
    mxgpu.role @multiply warps(4) {
      %a = "make"() : () -> !a
      %zero = mxgpu.zero_fragment : !acc
      %stage, %b = mxgpu.consumer_wait %ring : !loaded
      %x = mxgpu.load_shared %b at [%i, %i] : !b -> vector<8xbf16>
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !acc -> !acc
      %done = mxgpu.mma_wait %new pending(0) : !acc
      mxgpu.consumer_release %stage : !loaded_stage
      "use"(%x) : (vector<8xbf16>) -> ()
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !loaded
      mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !loaded_stage
      mxgpu.producer_commit %stage : !loaded_stage
    }
  }

  // Arithmetic on the first sum needs the values read, and the next MMA overwrites the sum, so the reads are complete.
  // CHECK-LABEL: mxgpu.kernel @promoted(
  // CHECK-NOT:     nvvm.fence
  mxgpu.kernel @promoted(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !loaded
    mxgpu.role @multiply warps(4) {
      %a = "make"() : () -> !a
      %zero = mxgpu.zero_fragment : !acc
      %stage, %b = mxgpu.consumer_wait %ring : !loaded
      %x = mxgpu.load_shared %b at [%i, %i] : !b -> vector<2xbf16>
      %factor = vector.extract %x[0] : bf16 from vector<2xbf16>
      %other = vector.extract %x[1] : bf16 from vector<2xbf16>
      %first = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !acc -> !acc
      %sum = mxgpu.mma_wait %first pending(0) : !acc
      %scaled = "scale"(%sum, %factor, %other) : (!acc, bf16, bf16) -> !acc
      %kept = mxgpu.mma_wait %scaled pending(0) : !acc
      %second = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %sum : !a, !b, !acc -> !acc
      %done = mxgpu.mma_wait %second pending(0) : !acc
      mxgpu.consumer_release %stage : !loaded_stage
      "use"(%kept, %done, %factor, %other) : (!acc, !acc, bf16, bf16) -> ()
    }
    mxgpu.role @load warps(1) elected {
      %stage, %b = mxgpu.producer_acquire %ring : !loaded
      mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !loaded_stage
      mxgpu.producer_commit %stage : !loaded_stage
    }
  }

  // The deferred release and the tail follow reads of earlier steps, so each needs a fence.
  // CHECK-LABEL: mxgpu.kernel @deferred(
  // CHECK:           mxgpu.load_shared
  // CHECK-NEXT:      nvvm.fence.proxy
  // CHECK-NEXT:      mxgpu.consumer_release %{{.*}} deferred(1)
  // CHECK:         nvvm.fence.proxy
  // CHECK-NEXT:    mxgpu.consumer_tail
  mxgpu.kernel @deferred(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !read
    mxgpu.role @rows warps(4) {
      mxgpu.for_each_k (%k, %extent, %first) from %i to %i step 64 {
        %stage, %b = mxgpu.consumer_wait %ring : !read
        %x = mxgpu.load_shared %b at [%i, %i] : !b -> vector<8xbf16>
        mxgpu.consumer_release %stage deferred(1) : !read_stage
        "use"(%x) : (vector<8xbf16>) -> ()
      }
      mxgpu.consumer_tail %ring : !read
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %i to %i step 64 {
        %stage, %b = mxgpu.producer_acquire %ring : !read
        mxgpu.tma_load %map[%i, %i] into %b for %stage : !map, !b, !read_stage
        mxgpu.producer_commit %stage : !read_stage
      }
    }
  }

  // The fence precedes the copy from the stage of a warp.
  // CHECK-LABEL: mxgpu.kernel @staged(
  // CHECK:         mxgpu.store_shared
  // CHECK-NEXT:    nvvm.fence.proxy
  // CHECK-NEXT:    mxgpu.tma_store
  // CHECK-NEXT:    mxgpu.producer_commit
  mxgpu.kernel @staged(%i: index, %map: !c_map) {
    %ring = mxgpu.ring "ring" : !staged
    mxgpu.role @store warps(4) {
      %stage, %c = mxgpu.producer_acquire %ring : !staged
      %x = "make"() : () -> !part
      mxgpu.store_shared %x, %c : !part, !c
      mxgpu.tma_store %c to %map[%i, %i] : !c, !c_map
      mxgpu.producer_commit %stage : !staged_stage
    }
  }

  // The hardware writes responses through the async proxy, so their release needs a fence.
  // CHECK-LABEL: mxgpu.kernel @answers(
  // CHECK:         mxgpu.producer_commit
  // CHECK:         "read"
  // CHECK-NEXT:    nvvm.fence.proxy
  // CHECK-NEXT:    mxgpu.consumer_release
  mxgpu.kernel @answers() {
    %ring = mxgpu.ring "ring" : !work_tiles
    mxgpu.role @schedule warps(1) elected {
      %request, %u = mxgpu.producer_acquire %ring : !work_tiles
      mxgpu.producer_commit %request : !units_stage
      %answer, %work_tile = mxgpu.consumer_wait %ring : !work_tiles
      "read"(%work_tile) : (!work_tile) -> ()
      mxgpu.consumer_release %answer : !units_stage
    }
  }
}
