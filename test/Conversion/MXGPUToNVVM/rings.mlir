// RUN: mx-opt %s -split-input-file --mxgpu-allocate --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// Set-up, a producer that is the copy engine, and a consumer that is the tensor
// core. Shared memory: 4 slots, 17408 bytes from one to the next (16912 rounded up
// to 1024); in each, a at 0, sf at 16384, the full barrier at 16896, the empty one
// at 16904.

// CHECK-LABEL: gpu.module @load
// CHECK-SAME:    llvm.data_layout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
// CHECK:         llvm.mlir.global external @mx_dynamic_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK:         llvm.func @load(
// CHECK-SAME:      %[[MAP:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[SCALES:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[N:.*]]: i64)
// CHECK-SAME:      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>}
// CHECK-DAG:       %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:       %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:       %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG:       %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG:       %[[SLOT_BYTES:.*]] = arith.constant 16896 : i32
// CHECK-DAG:       %[[TRUE:.*]] = arith.constant true
// CHECK-DAG:       %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>

// One thread initializes the barriers and makes them visible to the copy engine;
// the CTA waits for it.
// CHECK:           %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[TID]], %[[C0]]
// CHECK:           scf.if %[[FIRST]] {
// CHECK-NEXT:        nvvm.prefetch tensormap, %[[MAP]]
// CHECK-NEXT:        nvvm.prefetch tensormap, %[[SCALES]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][16896]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][16904]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][34304]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][34312]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][51712]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][51720]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][69120]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        %[[B:.*]] = llvm.getelementptr %[[SHARED]][69128]
// CHECK-NEXT:        nvvm.mbarrier.init %[[B]], %[[C1]]
// CHECK-NEXT:        nvvm.fence.mbarrier.init
// CHECK-NEXT:      }
// CHECK-NEXT:      nvvm.bar.warp.sync
// CHECK-NEXT:      nvvm.barrier

// The role is warp 0, and one thread of it.
// CHECK:           %[[WARP:.*]] = arith.shrui %[[TID]]
// CHECK:           %[[IS_LOAD:.*]] = arith.cmpi ult, %[[WARP]], %[[C1]]
// CHECK:           scf.if %[[IS_LOAD]] {
// CHECK-NEXT:        %[[ELECTED:.*]] = nvvm.elect.sync
// CHECK-NEXT:        scf.if %[[ELECTED]] {

// The role keeps the first slot and the end of the last one in registers. It starts
// with the first slot; a producer waits for parity 1, the phase before the first,
// which is complete at first.
// CHECK-NEXT:          %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] : (!llvm.ptr<3>) -> !llvm.ptr<3>
// CHECK-NEXT:          %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][69632]
// CHECK-NEXT:          %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] : (!llvm.ptr<3>) -> !llvm.ptr<3>
// CHECK-NEXT:          llvm.store %[[FIRST_SLOT]], %[[SLOT_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:          llvm.store %[[C1]], %[[PARITY_P:.*]] : i32, !llvm.ptr

// acquire: waits until the slot is empty, steps to the next one (behind the last
// to the first, with the other parity), and announces the bytes before anything
// can arrive.
// CHECK-NEXT:          %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:          %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:          %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][16904]
// CHECK-NEXT:          scf.while : () -> () {
// CHECK-NEXT:            %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[EMPTY_B]], %[[PARITY]] :
// CHECK-NEXT:            %[[AGAIN:.*]] = arith.xori %[[DONE]], %[[TRUE]]
// CHECK-NEXT:            scf.condition(%[[AGAIN]])
// CHECK-NEXT:          } do {
// CHECK-NEXT:            scf.yield
// CHECK-NEXT:          }
// CHECK-NEXT:          %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][17408]
// CHECK-NEXT:          %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:          %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK-NEXT:          %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:          %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:          llvm.store %[[NEXT_SLOT]], %[[SLOT_P]] :
// CHECK-NEXT:          llvm.store %[[NEXT_PARITY]], %[[PARITY_P]] :
// CHECK-NEXT:          %[[FULL_B:.*]] = llvm.getelementptr %[[SLOT]][16896]
// CHECK-NEXT:          nvvm.mbarrier.arrive.expect_tx %[[FULL_B]], %[[SLOT_BYTES]]

// Copies: innermost coordinate first, missing ones 0. publish is nothing more.
// CHECK-NEXT:          %[[ROW:.*]] = arith.index_cast
// CHECK-NEXT:          nvvm.cp.async.bulk.tensor.shared.cluster.global %[[SLOT]], %[[MAP]], %[[FULL_B]], box[%[[C64]], %[[ROW]]] {isCTAOnly = true}
// CHECK-NEXT:          %[[SF:.*]] = llvm.getelementptr %[[SLOT]][16384]
// CHECK-NEXT:          nvvm.cp.async.bulk.tensor.shared.cluster.global %[[SF]], %[[SCALES]], %[[FULL_B]], box[%[[C0]], %[[C0]], %[[C0]], %[[ROW]]] {isCTAOnly = true}

// Before the CTA ends every slot has been emptied: no arrival is under way.
// CHECK-NEXT:          scf.for %{{.*}} = %[[C0]] to %[[C4]] step %[[C1]]
// CHECK-NEXT:            %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:            %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:            %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][16904]
// CHECK:                   nvvm.mbarrier.try_wait %[[EMPTY_B]], %[[PARITY]] :
// CHECK:                 %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][17408]
// CHECK-NEXT:            %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:            %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK-NEXT:            %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:            %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:            llvm.store %[[NEXT_SLOT]], %[[SLOT_P]] :
// CHECK-NEXT:            llvm.store %[[NEXT_PARITY]], %[[PARITY_P]] :
// CHECK:             nvvm.bar.warp.sync

// consume and release of the tensor core: a consumer waits for parity 0, the first
// phase.
// CHECK:             nvvm.elect.sync
// CHECK:               %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] :
// CHECK-NEXT:          %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][69632]
// CHECK-NEXT:          %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] :
// CHECK-NEXT:          llvm.store %[[FIRST_SLOT]], %[[SLOT_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:          llvm.store %[[C0]], %[[PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:          %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:          %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:          %[[FULL_B:.*]] = llvm.getelementptr %[[SLOT]][16896]
// CHECK:                 nvvm.mbarrier.try_wait %[[FULL_B]], %[[PARITY]] :
// CHECK:               %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][17408]
// CHECK-NEXT:          %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:          %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK-NEXT:          %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:          %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:          llvm.store %[[NEXT_SLOT]], %[[SLOT_P]] :
// CHECK-NEXT:          llvm.store %[[NEXT_PARITY]], %[[PARITY_P]] :
// CHECK-NEXT:          nvvm.tcgen05.fence <after>
// CHECK-NEXT:          %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][16904]
// CHECK-NEXT:          nvvm.tcgen05.commit %[[EMPTY_B]] :
// CHECK-NOT:       nvvm.tcgen05.{{alloc|dealloc}}
// CHECK:           llvm.return
!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_map = !mxgpu.tensor_map<1x1x2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<1x1x2x256xf8E8M0FNU>), producer = tma, consumer = mma>
gpu.module @load [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @load(%map: !map, %sf: !scale_map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %c64 = arith.constant 64 : index
      %s = mxgpu.acquire %in : !in
      mxgpu.tma_load %map[%n, %c64] into %s["a"] : !map, !mxgpu.slot<!in>
      mxgpu.tma_load %sf[%n] into %s["sf"] : !scale_map, !mxgpu.slot<!in>
      mxgpu.publish %s : !mxgpu.slot<!in>
    }
    mxgpu.role @mma warps(1) elected {
      %s = mxgpu.consume %in : !in
      mxgpu.release %s : !mxgpu.slot<!in>
    }
  }
}

// -----

// Slots that share columns: the producer of slot 0 waits for the release of slot 1 in
// the round before, the producer of slot 1 for that of slot 0 in this round. The
// parity that it keeps begins with 1 and is that of slot 0; slot 1 waits for the other.

// CHECK-LABEL: llvm.func @overlap(
// CHECK-SAME:    %[[NONE:.*]]: i1)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG:     %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>
// CHECK:           nvvm.mbarrier.init %[[SHARED]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][8]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C4]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][16]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][24]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C4]] :
// The consumer waits for its own slot.
// CHECK:         llvm.store %[[C0]], %[[SLOT_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C0]], %[[PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:    %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[SLOT]], %[[C16]]
// CHECK-NEXT:    %[[FULL_B:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK:           nvvm.mbarrier.try_wait %[[FULL_B]], %[[PARITY]] :
// CHECK:         %[[EMPTY_B:.*]] = llvm.getelementptr %[[FULL_B]][8]
// CHECK:         nvvm.mbarrier.arrive %[[EMPTY_B]] :
// CHECK:         nvvm.elect.sync
// CHECK:           llvm.store %[[C0]], %[[SLOT_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:      llvm.store %[[C1]], %[[PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:      %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> i32
// CHECK-NEXT:      %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:      %[[OTHER:.*]] = arith.xori %[[SLOT]], %[[C1]]
// CHECK-NEXT:      %[[AWAITED:.*]] = arith.xori %[[PARITY]], %[[SLOT]]
// CHECK-NEXT:      %[[OFFSET:.*]] = arith.muli %[[OTHER]], %[[C16]]
// CHECK-NEXT:      %[[OF_OTHER:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:      %[[EMPTY_B:.*]] = llvm.getelementptr %[[OF_OTHER]][8]
// CHECK:             nvvm.mbarrier.try_wait %[[EMPTY_B]], %[[AWAITED]] :
// CHECK:           %[[NEXT:.*]] = arith.addi %[[SLOT]], %[[C1]]
// CHECK-NEXT:      %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[C2]]
// CHECK-NEXT:      %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
// CHECK-NEXT:      %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:      %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:      llvm.store %[[NEXT_SLOT]], %[[SLOT_P]] :
// CHECK-NEXT:      llvm.store %[[NEXT_PARITY]], %[[PARITY_P]] :
// It fills its own.
// CHECK:           %[[OFFSET:.*]] = arith.muli %[[SLOT]], %[[C16]]
// CHECK-NEXT:      %[[FULL_B:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:      scf.if %[[NONE]] {
// CHECK-NEXT:        nvvm.mbarrier.arrive %[[FULL_B]] :
// CHECK-NEXT:      } else {
// CHECK-NEXT:        nvvm.tcgen05.commit %[[FULL_B]] :
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128), overlap = 32>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @overlap(%none: i1) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %d = mxgpu.consume %acc : !acc
      mxgpu.release %d : !mxgpu.slot<!acc>
    }
    mxgpu.role @mma warps(1) elected {
      %d = mxgpu.acquire %acc : !acc
      mxgpu.publish %d empty(%none) : !mxgpu.slot<!acc>
    }
  }
}

// -----

// One slot comes after itself, with the other parity each time. Shared memory: a at
// 0, b at 4096, barriers at 4112 and 4120; nothing fills up the last slot, so that
// the barriers of acc follow at 4128 and 4136, while the end of in is where a second
// slot would start.

// CHECK-LABEL: llvm.func @one_stage(
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG:     %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>
// CHECK:           %[[B:.*]] = llvm.getelementptr %[[SHARED]][4112]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][4120]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][4128]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][4136]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C4]] :
// CHECK-NEXT:      nvvm.fence.mbarrier.init
// CHECK:         %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] :
// CHECK-NEXT:    %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][5120]
// CHECK-NEXT:    %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] :
// CHECK-NEXT:    llvm.store %[[FIRST_SLOT]], %[[IN_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C0]], %[[IN_PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C0]], %[[ACC_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C1]], %[[ACC_PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:    %[[ACC:.*]] = llvm.load %[[ACC_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[PARITY:.*]] = llvm.load %[[ACC_PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[ACC]], %[[C16]]
// CHECK-NEXT:    %[[BARRIERS:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:    %[[EMPTY_B:.*]] = llvm.getelementptr %[[BARRIERS]][4136]
// CHECK:           nvvm.mbarrier.try_wait %[[EMPTY_B]], %[[PARITY]] :
// CHECK:         %[[NEXT:.*]] = arith.addi %[[ACC]], %[[C1]]
// CHECK-NEXT:    %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[C1]]
// CHECK-NEXT:    %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
// CHECK-NEXT:    %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:    %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:    llvm.store %[[NEXT_SLOT]], %[[ACC_P]] :
// CHECK-NEXT:    llvm.store %[[NEXT_PARITY]], %[[ACC_PARITY_P]] :
// CHECK:         %[[IN:.*]] = llvm.load %[[IN_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:    %[[PARITY:.*]] = llvm.load %[[IN_PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[FULL_B:.*]] = llvm.getelementptr %[[IN]][4112]
// CHECK:           nvvm.mbarrier.try_wait %[[FULL_B]], %[[PARITY]] :
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %[[IN]][5120]
// CHECK-NEXT:    %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:    %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK-NEXT:    %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:    %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:    llvm.store %[[NEXT_SLOT]], %[[IN_P]] :
// CHECK-NEXT:    llvm.store %[[NEXT_PARITY]], %[[IN_PARITY_P]] :
// CHECK:         %[[EMPTY_B:.*]] = llvm.getelementptr %[[IN]][4120]
// CHECK-NEXT:    nvvm.tcgen05.commit %[[EMPTY_B]] :
// CHECK-NEXT:    %[[FULL_B:.*]] = llvm.getelementptr %[[BARRIERS]][4128]
// CHECK:         nvvm.tcgen05.commit %[[FULL_B]] :
!in = !mxgpu.ring<1 x (a: smem<32x128xi8, sw128>, b: smem<16xi8>), producer = tma, consumer = mma>
!acc = !mxgpu.ring<1 x (d: tmem<128x32xf32>), producer = mma, consumer = threads(128)>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @one_stage(%none: i1) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %d = mxgpu.acquire %acc : !acc
      %s = mxgpu.consume %in : !in
      mxgpu.release %s : !mxgpu.slot<!in>
      mxgpu.publish %d empty(%none) : !mxgpu.slot<!acc>
    }
    mxgpu.role @epilogue warps(4) {
      %d = mxgpu.consume %acc : !acc
      mxgpu.release %d : !mxgpu.slot<!acc>
    }
  }
}

// -----

// A CTA pair. Each CTA waits at its own barriers; bulk copies and threads arrive at
// the leader's (bit 24 of an address in the cluster is the rank), the tensor core at
// both. The constant comes behind the mask, where instructions take it as part of the
// address. Slots of in: a at 1024, barriers at 17408 and 17416, the next slot at
// 18432; barriers of acc at 36864 and 36872.

// CHECK-LABEL: llvm.func @pair(
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG:     %[[SLOT_BYTES:.*]] = arith.constant 16400 : i32
// CHECK-DAG:     %[[LEADER:.*]] = arith.constant 4278190079 : i64
// CHECK-DAG:     %[[BOTH:.*]] = arith.constant 3 : i16
// CHECK-DAG:     %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>
// Both CTAs fill a slot of in, the leader empties it; one tensor core fills
// accumulators, the four warps of both empty them.
// CHECK:           %[[B:.*]] = llvm.getelementptr %[[SHARED]][17408]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C2]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][17416]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][35840]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C2]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][35848]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][36864]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][36872]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C8]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][36880]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][36888]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C8]] :
// CHECK-NEXT:      nvvm.fence.mbarrier.init
// CHECK:         nvvm.cluster.wait
// release of threads.
// CHECK:         %[[SLOT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK:         %[[OFFSET:.*]] = arith.muli %[[SLOT]], %[[C16]]
// CHECK-NEXT:    %[[BARRIERS:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:    %[[FULL_B:.*]] = llvm.getelementptr %[[BARRIERS]][36864]
// CHECK:           nvvm.mbarrier.try_wait %[[FULL_B]], %{{.*}} {scope = #nvvm.mem_scope<cluster>}
// CHECK:         %[[OWN:.*]] = llvm.ptrtoint %[[BARRIERS]]
// CHECK-NEXT:    %[[MASKED:.*]] = arith.andi %[[OWN]], %[[LEADER]]
// CHECK-NEXT:    %[[LEADERS:.*]] = llvm.inttoptr %[[MASKED]] : i64 to !llvm.ptr<3>
// CHECK-NEXT:    %[[EMPTY_B:.*]] = llvm.getelementptr %[[LEADERS]][36872]
// CHECK:           %[[INT:.*]] = llvm.ptrtoint %[[EMPTY_B]]
// CHECK-NEXT:      %[[CLUSTER:.*]] = llvm.inttoptr %[[INT]] : i64 to !llvm.ptr<7>
// CHECK-NEXT:      nvvm.mbarrier.arrive %[[CLUSTER]] {scope = #nvvm.mem_scope<cluster>}
// acquire for bulk copies, and one of them.
// CHECK:         %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] :
// CHECK-NEXT:    %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][36864]
// CHECK-NEXT:    %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] :
// CHECK-NEXT:    llvm.store %[[FIRST_SLOT]], %[[SLOT_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C1]], %{{.*}} : i32, !llvm.ptr
// CHECK-NEXT:    %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK:         %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][17416]
// CHECK:           nvvm.mbarrier.try_wait %[[EMPTY_B]], %{{.*}} {scope = #nvvm.mem_scope<cluster>}
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][18432]
// CHECK-NEXT:    %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:    arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK:         %[[OWN:.*]] = llvm.ptrtoint %[[SLOT]]
// CHECK-NEXT:    %[[MASKED:.*]] = arith.andi %[[OWN]], %[[LEADER]]
// CHECK-NEXT:    %[[LEADERS:.*]] = llvm.inttoptr %[[MASKED]] : i64 to !llvm.ptr<3>
// CHECK-NEXT:    %[[FULL_B:.*]] = llvm.getelementptr %[[LEADERS]][17408]
// CHECK-NEXT:    %[[INT:.*]] = llvm.ptrtoint %[[FULL_B]]
// CHECK-NEXT:    %[[CLUSTER:.*]] = llvm.inttoptr %[[INT]] : i64 to !llvm.ptr<7>
// CHECK-NEXT:    nvvm.mbarrier.arrive.expect_tx %[[CLUSTER]], %[[SLOT_BYTES]] {scope = #nvvm.mem_scope<cluster>}
// CHECK:         %[[A:.*]] = llvm.getelementptr %[[SLOT]][1024]
// CHECK-NEXT:    %[[INT:.*]] = llvm.ptrtoint %[[A]]
// CHECK-NEXT:    %[[CLUSTER:.*]] = llvm.inttoptr %[[INT]] : i64 to !llvm.ptr<7>
// CHECK-NEXT:    nvvm.cp.async.bulk.tensor.shared.cluster.global %[[CLUSTER]], %{{.*}}, %[[FULL_B]], box[
// The tensor core of the leader.
// CHECK:         nvvm.read.ptx.sreg.cluster.ctarank
// CHECK:         %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] :
// CHECK-NEXT:    %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][36864]
// CHECK-NEXT:    %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] :
// CHECK-NEXT:    llvm.store %[[FIRST_SLOT]], %[[SLOT_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C0]], %{{.*}} : i32, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C0]], %[[ACC_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[C1]], %{{.*}} : i32, !llvm.ptr
// CHECK-NEXT:    %[[ACC:.*]] = llvm.load %[[ACC_P]] : !llvm.ptr -> i32
// CHECK:         %[[OFFSET:.*]] = arith.muli %[[ACC]], %[[C16]]
// CHECK-NEXT:    %[[BARRIERS:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:    %[[EMPTY_B:.*]] = llvm.getelementptr %[[BARRIERS]][36872]
// CHECK:           nvvm.mbarrier.try_wait %[[EMPTY_B]], %{{.*}} {scope = #nvvm.mem_scope<cluster>}
// CHECK:         %[[SLOT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr<3>
// CHECK:         %[[FULL_B:.*]] = llvm.getelementptr %[[SLOT]][17408]
// CHECK:           nvvm.mbarrier.try_wait %[[FULL_B]], %{{.*}} {scope = #nvvm.mem_scope<cluster>}
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][18432]
// CHECK-NEXT:    %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:    arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK:         %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][17416]
// CHECK-NEXT:    nvvm.tcgen05.commit %[[EMPTY_B]], multicast_mask = %[[BOTH]]
// CHECK-NEXT:    %[[FULL_B:.*]] = llvm.getelementptr %[[BARRIERS]][36864]
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      %[[AT0:.*]] = nvvm.mapa %[[FULL_B]], %[[C0]]
// CHECK-NEXT:      nvvm.mbarrier.arrive %[[AT0]] {scope = #nvvm.mem_scope<cluster>}
// CHECK-NEXT:      %[[AT1:.*]] = nvvm.mapa %[[FULL_B]], %[[C1]]
// CHECK-NEXT:      nvvm.mbarrier.arrive %[[AT1]] {scope = #nvvm.mem_scope<cluster>}
// CHECK-NEXT:    } else {
// CHECK-NEXT:      nvvm.tcgen05.commit %[[FULL_B]], multicast_mask = %[[BOTH]]
!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<2 x (pad: smem<16xi8>, a: smem<128x128xf8E4M3FN, sw128>), producer = tma, consumer = mma, scope = pair>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128), scope = pair>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @pair(%map: !map, %n: index, %none: i1) cluster(2) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %d = mxgpu.consume %acc : !acc
      mxgpu.release %d : !mxgpu.slot<!acc>
    }
    mxgpu.role @load warps(1) elected {
      %s = mxgpu.acquire %in : !in
      mxgpu.tma_load %map[%n] into %s["a"] : !map, !mxgpu.slot<!in>
      mxgpu.publish %s : !mxgpu.slot<!in>
    }
    mxgpu.role @mma warps(1) elected on_leader {
      %d = mxgpu.acquire %acc : !acc
      %s = mxgpu.consume %in : !in
      mxgpu.release %s : !mxgpu.slot<!in>
      mxgpu.publish %d empty(%none) : !mxgpu.slot<!acc>
    }
  }
}

// -----

// Slots of a warp have no barriers and are known by their number: 3 of 4096 bytes for
// each of the role's 4 warps, the second warp of the CTA and those after it.

// CHECK-LABEL: llvm.func @staging(
// CHECK-NOT:     nvvm.mbarrier
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : i32
// CHECK-DAG:     %[[SLOT_BYTES:.*]] = arith.constant 4096 : i32
// CHECK-DAG:     %[[WARP_BYTES:.*]] = arith.constant 12288 : i32
// CHECK-DAG:     %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>
// CHECK:         %[[WARP:.*]] = arith.shrui
// CHECK-NEXT:    %[[IS_LOAD:.*]] = arith.cmpi ult, %[[WARP]], %[[C1]]
// CHECK-NEXT:    scf.if %[[IS_LOAD]] {
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[IN_ROLE:.*]] = arith.subi %[[WARP]], %[[C1]]
// CHECK:         llvm.store %[[C0]], %[[SLOT_P:.*]] : i32, !llvm.ptr
// CHECK:         nvvm.cp.async.bulk.wait_group 2 {read}
// CHECK:         %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[SLOT]], %[[C1]]
// CHECK-NEXT:    %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[C3]]
// CHECK-NEXT:    %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
// CHECK-NEXT:    llvm.store %[[NEXT_SLOT]], %[[SLOT_P]] :
// CHECK-NEXT:    %[[OF_WARP:.*]] = arith.muli %[[IN_ROLE]], %[[WARP_BYTES]]
// CHECK-NEXT:    %[[OF_SLOT:.*]] = arith.muli %[[SLOT]], %[[SLOT_BYTES]]
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.addi %[[OF_WARP]], %[[OF_SLOT]]
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK:         nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[AT]], box[
// CHECK-NOT:     nvvm.mbarrier
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!ring = !mxgpu.ring<3 x (c: smem<32x32xf32, sw128>), producer = threads(32), consumer = tma_store, scope = warp>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @staging(%map: !map, %n: index, %f: f32) {
    %x = vector.broadcast %f : f32 to vector<32xf32>
    %staging = mxgpu.ring "staging" : !ring
    mxgpu.role @idle warps(1) {
    }
    mxgpu.role @epilogue warps(4) {
      %s = mxgpu.acquire %staging : !ring
      mxgpu.store_shared %x, %s["c"] : vector<32xf32>, !mxgpu.slot<!ring>
      mxgpu.tma_store %s["c"] to %map[%n, %n] : !mxgpu.slot<!ring>, !map
      mxgpu.publish %s : !mxgpu.slot<!ring>
    }
  }
}

// -----

// Threads that fill slots for threads: each of either role arrives, and what is
// stored lies where the slot does.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(128)>
!slot = !mxgpu.slot<!ring>

// CHECK-LABEL: gpu.module @threads
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : i32
// CHECK:         nvvm.mbarrier.init %{{.*}}, %[[C64]]
// CHECK:         nvvm.mbarrier.init %{{.*}}, %[[C128]]
// CHECK:         nvvm.mbarrier.try_wait
// CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT:     nvvm.bar.warp.sync
// CHECK:         nvvm.mbarrier.arrive
// CHECK:         nvvm.mbarrier.try_wait
// CHECK:         nvvm.mbarrier.arrive
gpu.module @threads [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @kernel(%i: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(2) {
      %s = mxgpu.acquire %ring : !ring
      mxgpu.store_shared %x, %s["x"] at [%i, %i] : vector<4xf32>, !slot
      mxgpu.publish %s : !slot
    }
    mxgpu.role @read warps(4) {
      %s = mxgpu.consume %ring : !ring
      mxgpu.release %s : !slot
    }
  }
}

// -----

// Two roles empty a slot: each of their warps arrives.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = tma, consumer = threads(160)>
!map = !mxgpu.tensor_map<32x32xf32, sw128>
!slot = !mxgpu.slot<!ring>

// CHECK-LABEL: gpu.module @two_readers
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C5:.*]] = arith.constant 5 : i32
// CHECK:         nvvm.mbarrier.init %{{.*}}, %[[C1]]
// CHECK:         nvvm.mbarrier.init %{{.*}}, %[[C5]]
gpu.module @two_readers [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @kernel(%i: index, %map: !map) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      %s = mxgpu.acquire %ring : !ring
      mxgpu.tma_load %map[%i, %i] into %s["x"] : !map, !slot
      mxgpu.publish %s : !slot
    }
    mxgpu.role @rows warps(1) {
      %s = mxgpu.consume %ring : !ring
      mxgpu.release %s : !slot
    }
    mxgpu.role @columns warps(4) {
      %s = mxgpu.consume %ring : !ring
      mxgpu.release %s : !slot
    }
  }
}
