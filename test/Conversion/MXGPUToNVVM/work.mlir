// RUN: mx-opt %s -split-input-file --mxgpu-allocate --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// A CTA counts its units in 32 bits without sign: CTA i takes units i, i + CTAs
// and so on. Places in the problem are indices.

// CHECK-LABEL: llvm.func @linear(
// CHECK-DAG:     %[[C127:.*]] = arith.constant 127 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %[[C191:.*]] = arith.constant 191 : index
// CHECK-DAG:     %[[C192:.*]] = arith.constant 192 : index
// CHECK-DAG:     %[[M:.*]] = arith.index_cast %arg0 : i64 to index
// CHECK-DAG:     %[[N:.*]] = arith.index_cast %arg1 : i64 to index
// CHECK:         %[[M1:.*]] = arith.addi %[[M]], %[[C127]]
// CHECK-NEXT:    %[[M2:.*]] = arith.divui %[[M1]], %[[C128]]
// CHECK-NEXT:    %[[ROWS:.*]] = arith.index_cast %[[M2]] : index to i32
// CHECK-NEXT:    %[[N1:.*]] = arith.addi %[[N]], %[[C191]]
// CHECK-NEXT:    %[[N2:.*]] = arith.divui %[[N1]], %[[C192]]
// CHECK-NEXT:    %[[COLUMNS:.*]] = arith.index_cast %[[N2]] : index to i32
// CHECK-NEXT:    %[[UNITS:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]] : i32
// CHECK-NEXT:    %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK-NEXT:    %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK:         scf.while (%[[NEXT:.*]] = %[[CTA]]) : (i32) -> i32 {
// CHECK-NEXT:      %[[IS_UNIT:.*]] = arith.cmpi ult, %[[NEXT]], %[[UNITS]] : i32
// CHECK-NEXT:      scf.condition(%[[IS_UNIT]]) %[[NEXT]] : i32
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%[[UNIT:.*]]: i32):
// CHECK-NEXT:      %[[ROW:.*]] = arith.divui %[[UNIT]], %[[COLUMNS]] : i32
// CHECK-NEXT:      %[[BEFORE:.*]] = arith.muli %[[ROW]], %[[COLUMNS]] : i32
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.subi %[[UNIT]], %[[BEFORE]] : i32
// CHECK-NEXT:      %[[ROW64:.*]] = arith.index_castui %[[ROW]] : i32 to index
// CHECK-NEXT:      %[[R:.*]] = arith.muli %[[ROW64]], %[[C128]] : index
// CHECK-NEXT:      %[[COLUMN64:.*]] = arith.index_castui %[[COLUMN]] : i32 to index
// CHECK-NEXT:      %[[C:.*]] = arith.muli %[[COLUMN64]], %[[C192]] : index
// CHECK-NEXT:      %[[SUM:.*]] = arith.addi %[[R]], %[[C]] : index
// CHECK-NEXT:      memref.store %[[SUM]]
// CHECK-NEXT:      %[[AFTER:.*]] = arith.addi %[[UNIT]], %[[CTAS]] : i32
// CHECK-NEXT:      scf.yield %[[AFTER]] : i32
// CHECK-NEXT:    }

// Bands of 8 rows, fewer if there are not so many; the last has what is left.

// CHECK-LABEL: llvm.func @supergroup(
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG:     %[[UNITS:.*]] = arith.muli %[[ROWS:.*]], %[[COLUMNS:.*]] : i32
// CHECK:         ^bb0(%[[UNIT:.*]]: i32):
// CHECK-NEXT:      %[[HEIGHT:.*]] = arith.minui %[[ROWS]], %[[C8]] : i32
// CHECK-NEXT:      %[[SIZE:.*]] = arith.muli %[[HEIGHT]], %[[COLUMNS]] : i32
// CHECK-NEXT:      %[[BAND:.*]] = arith.divui %[[UNIT]], %[[SIZE]] : i32
// CHECK-NEXT:      %[[BEFORE:.*]] = arith.muli %[[BAND]], %[[SIZE]] : i32
// CHECK-NEXT:      %[[IN_BAND:.*]] = arith.subi %[[UNIT]], %[[BEFORE]] : i32
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %[[BAND]], %[[HEIGHT]] : i32
// CHECK-NEXT:      %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]] : i32
// CHECK-NEXT:      %[[HERE:.*]] = arith.minui %[[HEIGHT]], %[[LEFT]] : i32
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.divui %[[IN_BAND]], %[[HERE]] : i32
// CHECK-NEXT:      %[[ABOVE:.*]] = arith.muli %[[COLUMN]], %[[HERE]] : i32
// CHECK-NEXT:      %[[IN_COLUMN:.*]] = arith.subi %[[IN_BAND]], %[[ABOVE]] : i32
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %[[FIRST]], %[[IN_COLUMN]] : i32

// A loop down to the tile, without divisions.

// CHECK-LABEL: llvm.func @hilbert(
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NOT:       arith.divui
// CHECK:           scf.while
// CHECK:             scf.condition
// CHECK-COUNT-3:     arith.shrui
// CHECK-NOT:       arith.divui
// CHECK:         llvm.return
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @linear(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %sum = arith.addi %row, %column : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
  mxgpu.kernel @supergroup(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = supergroup(8) tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %sum = arith.addi %row, %column : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
  mxgpu.kernel @hilbert(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = hilbert tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %sum = arith.addi %row, %column : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
}

// -----

// Cluster launch control: the first unit is the CTA's own, the next is in the
// answer, and only an answer that is a cluster is asked for its number. Two
// warps and a thread empty a slot. Slots are 128 bytes from one to the next; in
// each, the answer at 0, the full barrier at 16, the empty one at 24.

// CHECK-LABEL: llvm.func @clc(
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : i32
// CHECK-DAG:     %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>
// CHECK:         %[[B:.*]] = llvm.getelementptr %[[SHARED]][16]
// CHECK-NEXT:    nvvm.mbarrier.init %[[B]], %c1_i32 :
// CHECK-NEXT:    %[[B:.*]] = llvm.getelementptr %[[SHARED]][24]
// CHECK-NEXT:    nvvm.mbarrier.init %[[B]], %[[C3]] :
// CHECK-NEXT:    %[[B:.*]] = llvm.getelementptr %[[SHARED]][144]
// CHECK-NEXT:    nvvm.mbarrier.init %[[B]], %c1_i32 :
// CHECK-NEXT:    %[[B:.*]] = llvm.getelementptr %[[SHARED]][152]
// CHECK-NEXT:    nvvm.mbarrier.init %[[B]], %[[C3]] :
// CHECK:         %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] :
// CHECK-NEXT:    %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][256]
// CHECK-NEXT:    %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] :
// CHECK-NEXT:    llvm.store %[[FIRST_SLOT]], %[[SLOT_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:    llvm.store %c0_i32, %{{.*}} : i32, !llvm.ptr
// CHECK:         %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:         scf.while (%[[UNIT:.*]] = %[[CTA]]) : (i32) -> i128 {
// CHECK:           arith.divui %[[UNIT]], %{{.*}} : i32
// CHECK:           memref.store
// CHECK-NEXT:      %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:      %[[PARITY:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK-NEXT:      %[[FULL_B:.*]] = llvm.getelementptr %[[SLOT]][16]
// CHECK:             nvvm.mbarrier.try_wait %[[FULL_B]], %[[PARITY]] :
// CHECK:           %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][128]
// CHECK-NEXT:      %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:      arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK:           %[[ANSWER:.*]] = llvm.load %[[SLOT]] {alignment = 16 : i64} : !llvm.ptr<3> -> i128
// CHECK-NEXT:      %[[MORE:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %[[ANSWER]] : i1
// CHECK-NEXT:      %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][24]
// CHECK-NEXT:      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT:      nvvm.bar.warp.sync
// CHECK:           scf.if
// CHECK-NEXT:        nvvm.mbarrier.arrive %[[EMPTY_B]] :
// CHECK:           scf.condition(%[[MORE]]) %[[ANSWER]] : i128
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%[[NEXT:.*]]: i128):
// CHECK-NEXT:      %[[NUMBER:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_x, %[[NEXT]] : i32
// CHECK-NEXT:      scf.yield %[[NUMBER]] : i32
// The role that asks expects 16 bytes, asks, and waits for the answer.
// CHECK:         %[[FIRST_SLOT:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[SHARED]] :
// CHECK-NEXT:    %[[BEHIND:.*]] = llvm.getelementptr %[[SHARED]][256]
// CHECK-NEXT:    %[[END:.*]] = llvm.inline_asm "mov.b64 $0, $1;", "=l,l" %[[BEHIND]] :
// CHECK-NEXT:    llvm.store %[[FIRST_SLOT]], %[[ANSWER_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:    llvm.store %c0_i32, %{{.*}} : i32, !llvm.ptr
// CHECK-NEXT:    llvm.store %[[FIRST_SLOT]], %[[REQUEST_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:    llvm.store %c1_i32, %{{.*}} : i32, !llvm.ptr
// CHECK:         scf.while
// CHECK-NEXT:      %[[SLOT:.*]] = llvm.load %[[REQUEST_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:      %[[PARITY:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK-NEXT:      %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][24]
// CHECK:             nvvm.mbarrier.try_wait %[[EMPTY_B]], %[[PARITY]] :
// CHECK:           %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][128]
// CHECK-NEXT:      %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:      arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK:           %[[FULL_B:.*]] = llvm.getelementptr %[[SLOT]][16]
// CHECK-NEXT:      nvvm.mbarrier.arrive.expect_tx %[[FULL_B]], %[[C16]]
// CHECK-NEXT:      nvvm.clusterlaunchcontrol.try.cancel %[[SLOT]], %[[FULL_B]]
// CHECK-NEXT:      %[[SLOT:.*]] = llvm.load %[[ANSWER_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK-NEXT:      %[[PARITY:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK-NEXT:      %[[FULL_B:.*]] = llvm.getelementptr %[[SLOT]][16]
// CHECK:             nvvm.mbarrier.try_wait %[[FULL_B]], %[[PARITY]] :
// CHECK:           %[[NEXT:.*]] = llvm.getelementptr %[[SLOT]][128]
// CHECK-NEXT:      %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[END]]
// CHECK-NEXT:      arith.select %[[WRAPS]], %[[FIRST_SLOT]], %[[NEXT]]
// CHECK:           %[[ANSWER:.*]] = llvm.load %[[SLOT]] {alignment = 16 : i64} : !llvm.ptr<3> -> i128
// CHECK-NEXT:      nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %[[ANSWER]] : i1
// CHECK-NEXT:      %[[EMPTY_B:.*]] = llvm.getelementptr %[[SLOT]][24]
// CHECK:           nvvm.mbarrier.arrive %[[EMPTY_B]] :
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @clc(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @other warps(2) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        memref.store %row, %out[%c0] : memref<1xindex>
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
      }
    }
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %request = mxgpu.acquire %units : !ring
        mxgpu.publish %request : !slot
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
      }
    }
  }
}

// -----

// Three parts: step number part * steps / 3 is the first of a part, the next
// part's first its end. Tiles of one part come one after the other.

// CHECK-LABEL: llvm.func @split(
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C3_I32:.*]] = arith.constant 3 : i32
// CHECK-DAG:     %[[C256:.*]] = arith.constant 256 : index
// CHECK-DAG:     %[[K:.*]] = arith.index_cast %arg2 : i64 to index
// CHECK:         %[[TILES:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:    arith.muli %[[TILES]], %[[C3_I32]] : i32
// CHECK:         ^bb0(%[[UNIT:.*]]: i32):
// CHECK-NEXT:      %[[PART:.*]] = arith.divui %[[UNIT]], %[[TILES]] : i32
// CHECK-NEXT:      %[[BEFORE:.*]] = arith.muli %[[PART]], %[[TILES]] : i32
// CHECK-NEXT:      %[[TILE:.*]] = arith.subi %[[UNIT]], %[[BEFORE]] : i32
// CHECK-NEXT:      %[[SLICE:.*]] = arith.index_castui %[[PART]] : i32 to index
// CHECK:           %[[STEPS:.*]] = arith.index_castui
// CHECK-NEXT:      %[[START1:.*]] = arith.muli %[[STEPS]], %[[SLICE]] : index
// CHECK-NEXT:      %[[START2:.*]] = arith.divui %[[START1]], %[[C3]] : index
// CHECK-NEXT:      %[[START:.*]] = arith.muli %[[START2]], %[[C256]] : index
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[SLICE]], %{{.*}} : index
// CHECK-NEXT:      %[[END1:.*]] = arith.muli %[[STEPS]], %[[NEXT]] : index
// CHECK-NEXT:      %[[END2:.*]] = arith.divui %[[END1]], %[[C3]] : index
// CHECK-NEXT:      %[[END3:.*]] = arith.muli %[[END2]], %[[C256]] : index
// CHECK-NEXT:      %[[END:.*]] = arith.minui %[[END3]], %[[K]] : index
// CHECK-NEXT:      arith.divui %[[TILE]], %{{.*}} : i32
// CHECK:           arith.subi %[[END]], %[[START]] : index
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @split(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = linear tile [128, 192] split(3 step 256) of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %length = arith.subi %k1, %k0 : index
        %sum = arith.addi %row, %length : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
}
