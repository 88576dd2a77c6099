// RUN: mx-opt %s -split-input-file --mxgpu-allocate --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// The tensor core and the epilogue. 4 slots of in, 17408 bytes from one to the
// next; in each, a at 0, sf at 16384, the full barrier at 16896, the empty one at
// 16904 (rings.mlir has more of them). Behind them the barriers of acc, 16 bytes from
// one slot to the next: full at 69632, empty at 69640; the address of tensor memory
// at 69664.

// CHECK-LABEL: llvm.func @mma(
// CHECK-SAME:    %[[OUT:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %[[NONE:.*]]: i1, %[[MORE:.*]]: i1, %{{.*}}: i64)
// CHECK-SAME:    nvvm.reqntid = array<i32: 160, 1, 1>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : i32
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant 512 : i32
// CHECK-DAG:     %[[TRUE:.*]] = arith.constant true
// CHECK-DAG:     %[[SCALE_COLUMN:.*]] = arith.constant 256 : i32
// Descriptors (PTX ISA, tcgen05 shared memory descriptor): a tile of scales, 8
// rows 128 bytes apart; a tile of elements, swizzle 128B, groups of 8 rows 1024
// bytes apart. Their last 14 bits are an address in units of 16 bytes, so that a
// field's place in its slot is in the constant, too: 16384 / 16 for sf, 0 for a.
// Blocks of a are 32 bytes apart.
// CHECK-DAG:     %[[SF_LAYOUT:.*]] = arith.constant 70403103917056 : i64
// CHECK-DAG:     %[[A_LAYOUT:.*]] = arith.constant 4611756662049472512 : i64
// CHECK-DAG:     %[[A_LAYOUT1:.*]] = arith.constant 4611756662049472514 : i64
// CHECK-DAG:     %[[A_LAYOUT2:.*]] = arith.constant 4611756662049472516 : i64
// CHECK-DAG:     %[[A_LAYOUT3:.*]] = arith.constant 4611756662049472518 : i64
// CHECK-DAG:     %[[IN_CTA:.*]] = arith.constant 262143 : i64
// CHECK-DAG:     %[[UNIT_BITS:.*]] = arith.constant 4 : i64
// Instruction descriptors: M = 128, N = 128, E4M3, UE8M0, scales 0 to 3.
// CHECK-DAG:     %[[I0:.*]] = arith.constant 144703488 : i32
// CHECK-DAG:     %[[I1:.*]] = arith.constant 681574416 : i32
// CHECK-DAG:     %[[I2:.*]] = arith.constant 1218445344 : i32
// CHECK-DAG:     %[[I3:.*]] = arith.constant 1755316272 : i32
// CHECK-DAG:     %[[SHARED:.*]] = llvm.mlir.addressof @mx_dynamic_shared : !llvm.ptr<3>

// The epilogue's four warps arrive at the empty barriers of acc.
// CHECK:           %[[B:.*]] = llvm.getelementptr %[[SHARED]][69632]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][69640]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C4]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][69648]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C1]] :
// CHECK-NEXT:      %[[B:.*]] = llvm.getelementptr %[[SHARED]][69656]
// CHECK-NEXT:      nvvm.mbarrier.init %[[B]], %[[C4]] :
// CHECK-NEXT:      nvvm.fence.mbarrier.init

// The warp of the role that fills tensor memory allocates it.
// CHECK:         %[[IS_MMA:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:    scf.if %[[IS_MMA]] {
// CHECK-NEXT:      %[[ADDRESS:.*]] = llvm.getelementptr %[[SHARED]][69664]
// CHECK-NEXT:      nvvm.tcgen05.alloc %[[ADDRESS]], %[[COLUMNS]]
// CHECK-NEXT:      nvvm.tcgen05.relinquish_alloc_permit
// CHECK-NEXT:    }
// CHECK-NEXT:    nvvm.tcgen05.fence <before>
// CHECK-NEXT:    nvvm.barrier
// CHECK-NEXT:    nvvm.tcgen05.fence <after>
// CHECK-NEXT:    %[[ADDRESS:.*]] = llvm.getelementptr %[[SHARED]][69664]
// CHECK-NEXT:    %[[TMEM:.*]] = llvm.load %[[ADDRESS]] : !llvm.ptr<3> -> i32

// A slot in tensor memory is a number; its barriers lie 16 bytes times that behind
// those of the first.
// CHECK:           llvm.store %[[C0]], %[[SLOT_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:      llvm.store %[[C0]], %[[PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:      %[[SLOT:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> i32
// CHECK-NEXT:      %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:      %[[OFFSET:.*]] = arith.muli %[[SLOT]], %[[C16]]
// CHECK-NEXT:      %[[BARRIERS:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:      %[[FULL_B:.*]] = llvm.getelementptr %[[BARRIERS]][69632]
// CHECK:             nvvm.mbarrier.try_wait %[[FULL_B]], %[[PARITY]] :
// CHECK:           %[[NEXT:.*]] = arith.addi %[[SLOT]], %[[C1]]
// CHECK-NEXT:      %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[C2]]
// CHECK-NEXT:      %[[NEXT_SLOT:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
// CHECK-NEXT:      %[[FLIP:.*]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-NEXT:      %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT:      llvm.store %[[NEXT_SLOT]], %[[SLOT_P]] :
// CHECK-NEXT:      llvm.store %[[NEXT_PARITY]], %[[PARITY_P]] :
// CHECK-NEXT:      nvvm.tcgen05.fence <after>

// A load and its wait; nothing uses what the load gives but an empty asm behind
// the wait.
// CHECK:           %[[LOADED:.*]] = nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
// CHECK-NEXT:      nvvm.tcgen05.wait <load>
// CHECK-NEXT:      %[[W0:.*]] = llvm.extractelement %[[LOADED]]
// CHECK:           llvm.inline_asm has_side_effects "", "=r,=r,=r,=r,0,1,2,3" %[[W0]],
// CHECK:           %[[F:.*]] = arith.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT:      %[[G:.*]] = arith.truncf %[[F]] : vector<4xf32> to vector<4xbf16>

// Without an alignment each element asks whether its column exists.
// CHECK-COUNT-4:   llvm.inline_asm has_side_effects "@$2 st.global.L1::no_allocate.b16 [$0+{{[0246]}}], $1;", "l,h,b,~{memory}"
// CHECK-NOT:       llvm.inline_asm

// release of threads: what they have read is read before the MMAs that follow.
// CHECK:           %[[EMPTY_B:.*]] = llvm.getelementptr %[[BARRIERS]][69640]
// CHECK-NEXT:      nvvm.tcgen05.fence <before>
// CHECK:           scf.if
// CHECK-NEXT:        nvvm.mbarrier.arrive %[[EMPTY_B]] :

// CHECK:           nvvm.elect.sync
// CHECK:             llvm.store %{{.*}}, %[[IN_P:.*]] : !llvm.ptr<3>, !llvm.ptr
// CHECK-NEXT:        llvm.store %[[C0]], %{{.*}} : i32, !llvm.ptr
// CHECK-NEXT:        llvm.store %[[C0]], %[[SLOT_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:        llvm.store %[[C1]], %[[PARITY_P:.*]] : i32, !llvm.ptr
// CHECK-NEXT:        %[[ACC:.*]] = llvm.load %[[SLOT_P]] : !llvm.ptr -> i32
// CHECK-NEXT:        %[[PARITY:.*]] = llvm.load %[[PARITY_P]] : !llvm.ptr -> i32
// CHECK-NEXT:        %[[OFFSET:.*]] = arith.muli %[[ACC]], %[[C16]]
// CHECK-NEXT:        %[[BARRIERS:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK-NEXT:        %[[EMPTY_B:.*]] = llvm.getelementptr %[[BARRIERS]][69640]
// CHECK:               nvvm.mbarrier.try_wait %[[EMPTY_B]], %[[PARITY]] :
// CHECK:             nvvm.tcgen05.fence <after>
// CHECK-NEXT:        %[[IN:.*]] = llvm.load %[[IN_P]] : !llvm.ptr -> !llvm.ptr<3>
// CHECK:             nvvm.tcgen05.fence <after>
// CHECK-NEXT:        %[[IN64:.*]] = llvm.ptrtoint %[[IN]] : !llvm.ptr<3> to i64
// CHECK-NEXT:        %[[IN18:.*]] = arith.andi %[[IN64]], %[[IN_CTA]]
// CHECK-NEXT:        %[[UNITS:.*]] = arith.shrui %[[IN18]], %[[UNIT_BITS]]
// CHECK-NEXT:        %[[SF_D:.*]] = arith.addi %[[UNITS]], %[[SF_LAYOUT]]
// CHECK-NEXT:        %[[SF_C:.*]] = arith.addi %[[TMEM]], %[[SCALE_COLUMN]]
// CHECK-NEXT:        %[[SF:.*]] = llvm.inttoptr %[[SF_C]] : i32 to !llvm.ptr<6>
// CHECK-NEXT:        nvvm.tcgen05.cp %[[SF]], %[[SF_D]] {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
// CHECK-NEXT:        %[[A:.*]] = arith.addi %[[UNITS]], %[[A_LAYOUT]]
// CHECK-NEXT:        %[[D_C:.*]] = arith.muli %[[ACC]], %[[C128]]
// CHECK-NEXT:        %[[D_A:.*]] = arith.addi %[[TMEM]], %[[D_C]]
// A full tile asks once for all its instructions.
// CHECK-NEXT:        %[[FULL:.*]] = arith.cmpi uge, %[[EXTENT:.*]], %c128 : index
// CHECK-NEXT:        scf.if %[[FULL]] {
// CHECK-NEXT:          %[[D:.*]] = llvm.inttoptr %[[D_A]] : i32 to !llvm.ptr<6>
// CHECK-NEXT:          nvvm.tcgen05.mma.block_scale %[[D]], %[[A]], %[[A]], %[[I0]], %[[MORE]], %[[SF]], %[[SF]] {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
// CHECK-NEXT:          %[[A1:.*]] = arith.addi %[[UNITS]], %[[A_LAYOUT1]]
// CHECK-NEXT:          nvvm.tcgen05.mma.block_scale %[[D]], %[[A1]], %[[A1]], %[[I1]], %[[TRUE]],{{.*}}
// CHECK-NEXT:          %[[A2:.*]] = arith.addi %[[UNITS]], %[[A_LAYOUT2]]
// CHECK-NEXT:          nvvm.tcgen05.mma.block_scale %[[D]], %[[A2]], %[[A2]], %[[I2]], %[[TRUE]],{{.*}}
// CHECK-NEXT:          %[[A3:.*]] = arith.addi %[[UNITS]], %[[A_LAYOUT3]]
// CHECK-NEXT:          nvvm.tcgen05.mma.block_scale %[[D]], %[[A3]], %[[A3]], %[[I3]], %[[TRUE]],{{.*}}
// The first block always lies within the extent; the others are asked for, and
// the last never does.
// CHECK-NEXT:        } else {
// CHECK-NEXT:          %[[D:.*]] = llvm.inttoptr %[[D_A]] : i32 to !llvm.ptr<6>
// CHECK-NEXT:          nvvm.tcgen05.mma.block_scale %[[D]], %[[A]], %[[A]], %[[I0]], %[[MORE]],{{.*}}
// CHECK-NEXT:          %[[IN1:.*]] = arith.cmpi ugt, %[[EXTENT]], %c32 : index
// CHECK-NEXT:          scf.if %[[IN1]] {
// CHECK-NEXT:            %[[A1:.*]] = arith.addi %[[UNITS]], %[[A_LAYOUT1]]
// CHECK-NEXT:            nvvm.tcgen05.mma.block_scale %[[D]], %[[A1]], %[[A1]], %[[I1]], %[[TRUE]],{{.*}}
// CHECK-NEXT:            %[[IN2:.*]] = arith.cmpi ugt, %[[EXTENT]], %c64 : index
// CHECK-NEXT:            scf.if %[[IN2]] {
// CHECK-NEXT:              %[[A2:.*]] = arith.addi %[[UNITS]], %[[A_LAYOUT2]]
// CHECK-NEXT:              nvvm.tcgen05.mma.block_scale %[[D]], %[[A2]], %[[A2]], %[[I2]], %[[TRUE]],{{.*}}
// CHECK-NOT:         nvvm.tcgen05.mma
// CHECK:             %[[IN_EMPTY:.*]] = llvm.getelementptr %[[IN]][16904]
// CHECK-NEXT:        nvvm.tcgen05.commit %[[IN_EMPTY]] :
// publish: what was never started cannot complete.
// CHECK-NEXT:        %[[FULL_B:.*]] = llvm.getelementptr %[[BARRIERS]][69632]
// CHECK-NEXT:        scf.if %[[NONE]] {
// CHECK-NEXT:          nvvm.mbarrier.arrive %[[FULL_B]] :
// CHECK-NEXT:        } else {
// CHECK-NEXT:          nvvm.tcgen05.commit %[[FULL_B]] :
// CHECK-NEXT:        }

// Tear-down, by the warp that allocated.
// CHECK:         nvvm.tcgen05.fence <before>
// CHECK-NEXT:    nvvm.barrier
// CHECK-NEXT:    nvvm.tcgen05.fence <after>
// CHECK-NEXT:    scf.if %[[IS_MMA]] {
// CHECK:           nvvm.tcgen05.dealloc %{{.*}}, %[[COLUMNS]]
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<1x1x2x256xf8E8M0FNU>), producer = tma, consumer = mma>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @mma(%c: memref<?x?xbf16>, %n: index, %none: i1, %more: i1, %extent: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %d = mxgpu.consume %acc : !acc
      %f = mxgpu.load_accumulator %d["d"] column(%n) : !mxgpu.slot<!acc> -> vector<4xf32>
      %g = arith.truncf %f : vector<4xf32> to vector<4xbf16>
      mxgpu.store_fragment %g, %c[%n, %n] when(%none) : vector<4xbf16>, memref<?x?xbf16>
      mxgpu.release %d : !mxgpu.slot<!acc>
    }
    mxgpu.role @mma warps(1) elected {
      %d = mxgpu.acquire %acc : !acc
      %s = mxgpu.consume %in : !in
      %sf = mxgpu.copy_scales %s["sf"] : !mxgpu.slot<!in> -> !mxgpu.scales<128>
      mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] accumulate(%more) extent(%extent) : !mxgpu.slot<!in>, !mxgpu.scales<128>, !mxgpu.scales<128>, !mxgpu.slot<!acc>
      mxgpu.release %s : !mxgpu.slot<!in>
      mxgpu.publish %d empty(%none) : !mxgpu.slot<!acc>
    }
  }
}

// -----

// Scales of 256 rows are two copies, 4 columns and 512 bytes apart.

// CHECK-LABEL: llvm.func @two_tiles(
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG:     %[[LAYOUT:.*]] = arith.constant 70403103916032 : i64
// CHECK-DAG:     %[[NEXT_LAYOUT:.*]] = arith.constant 70403103916064 : i64
// CHECK:         %[[TMEM:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK:         %[[DESCRIPTOR:.*]] = arith.addi %[[UNITS:.*]], %[[LAYOUT]] : i64
// CHECK-NEXT:    %[[FIRST_P:.*]] = llvm.inttoptr %[[TMEM]]
// CHECK-NEXT:    nvvm.tcgen05.cp %[[FIRST_P]], %[[DESCRIPTOR]] {multicast
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[TMEM]], %[[C4]] : i32
// CHECK-NEXT:    %[[NEXT_D:.*]] = arith.addi %[[UNITS]], %[[NEXT_LAYOUT]] : i64
// CHECK-NEXT:    %[[NEXT_P:.*]] = llvm.inttoptr %[[NEXT]]
// CHECK-NEXT:    nvvm.tcgen05.cp %[[NEXT_P]], %[[NEXT_D]] {
// CHECK-NOT:     nvvm.tcgen05.cp
!in = !mxgpu.ring<1 x (sf: smem<1024xi8>), producer = tma, consumer = mma>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @two_tiles() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %s = mxgpu.consume %in : !in
      %sf = mxgpu.copy_scales %s["sf"] : !mxgpu.slot<!in> -> !mxgpu.scales<256>
      mxgpu.release %s : !mxgpu.slot<!in>
    }
  }
}

// -----

// Several places for scales: slots take them in turn, however many slots there are.
// A counter for each copy, which begins at 0: 2 places of 4 columns from column 0,
// 3 of 8 from column 8.

// CHECK-LABEL: llvm.func @places(
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : i32
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : i32
// Rows 128 bytes apart; sfa at 0, the two tiles of sfb at 512 and 1024 in the slot.
// CHECK-DAG:     %[[SFA_LAYOUT:.*]] = arith.constant 70403103916032 : i64
// CHECK-DAG:     %[[SFB_LAYOUT:.*]] = arith.constant 70403103916064 : i64
// CHECK-DAG:     %[[SFB_LAYOUT1:.*]] = arith.constant 70403103916096 : i64
// CHECK:         llvm.store %[[C0]], %[[SFA_P:.*]] : i32, !llvm.ptr
// CHECK:         llvm.store %[[C0]], %[[SFB_P:.*]] : i32, !llvm.ptr
// CHECK:         %[[TMEM:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK:         %[[UNITS:.*]] = arith.shrui %{{.*}}, %{{.*}} : i64
// CHECK-NEXT:    %[[SFA:.*]] = arith.addi %[[UNITS]], %[[SFA_LAYOUT]]
// CHECK-NEXT:    %[[PLACE:.*]] = llvm.load %[[SFA_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[PLACE]], %[[C1]]
// CHECK-NEXT:    %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[C2]]
// CHECK-NEXT:    %[[NEXT_PLACE:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
// CHECK-NEXT:    llvm.store %[[NEXT_PLACE]], %[[SFA_P]] :
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[PLACE]], %[[C4]]
// CHECK-NEXT:    %[[COLUMN:.*]] = arith.addi %[[TMEM]], %[[OFFSET]]
// CHECK-NEXT:    %[[AT:.*]] = llvm.inttoptr %[[COLUMN]]
// CHECK-NEXT:    nvvm.tcgen05.cp %[[AT]], %[[SFA]] {
// CHECK-NEXT:    %[[SFB:.*]] = arith.addi %[[UNITS]], %[[SFB_LAYOUT]]
// CHECK-NEXT:    %[[FIRST:.*]] = arith.addi %[[TMEM]], %[[C8]]
// CHECK-NEXT:    %[[PLACE:.*]] = llvm.load %[[SFB_P]] : !llvm.ptr -> i32
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[PLACE]], %[[C1]]
// CHECK-NEXT:    %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[C3]]
// CHECK-NEXT:    %[[NEXT_PLACE:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
// CHECK-NEXT:    llvm.store %[[NEXT_PLACE]], %[[SFB_P]] :
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.muli %[[PLACE]], %[[C8]]
// CHECK-NEXT:    %[[COLUMN:.*]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK-NEXT:    %[[AT:.*]] = llvm.inttoptr %[[COLUMN]]
// CHECK-NEXT:    nvvm.tcgen05.cp %[[AT]], %[[SFB]] {
// CHECK-NEXT:    %[[COLUMN1:.*]] = arith.addi %[[COLUMN]], %[[C4]]
// CHECK-NEXT:    %[[SFB1:.*]] = arith.addi %[[UNITS]], %[[SFB_LAYOUT1]]
// CHECK-NEXT:    %[[AT1:.*]] = llvm.inttoptr %[[COLUMN1]]
// CHECK-NEXT:    nvvm.tcgen05.cp %[[AT1]], %[[SFB1]] {
// CHECK-NOT:     nvvm.tcgen05.cp
!in = !mxgpu.ring<3 x (sfa: smem<512xi8>, sfb: smem<1024xi8>), producer = tma, consumer = mma>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @places() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %s = mxgpu.consume %in : !in
      %sfa = mxgpu.copy_scales %s["sfa"] slots(2) : !mxgpu.slot<!in> -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s["sfb"] slots(3) : !mxgpu.slot<!in> -> !mxgpu.scales<256>
      mxgpu.release %s : !mxgpu.slot<!in>
    }
  }
}

// -----

// A role that is not the first, and its loops. What blocks of quantizers become
// is in quantize.mlir.

// CHECK-LABEL: llvm.func @quantize(
// CHECK-SAME:    %[[X:[^:]*]]: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64, %[[M:[^:]*]]: i64, %{{[^:]*}}: f32, %{{[^:]*}}: i8)
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// No rings: nothing to set up, nothing to wait for.
// CHECK-NOT:     nvvm.{{mbarrier|barrier|tcgen05}}
// CHECK:         %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK:         %[[WARP:.*]] = arith.shrui %[[TID]]
// Each warp takes one way through the roles; this is the second.
// CHECK-NEXT:    %[[IS_FIRST:.*]] = arith.cmpi ult, %[[WARP]], %c1_i32
// CHECK-NEXT:    scf.if %[[IS_FIRST]] {
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[RELATIVE:.*]] = arith.subi %[[WARP]], %c1_i32
// CHECK-NEXT:      %[[MINE:.*]] = arith.cmpi ult, %[[RELATIVE]], %c4_i32
// CHECK-NEXT:      scf.if %[[MINE]] {
// CHECK-NEXT:        %[[IN_ROLE:.*]] = arith.subi %[[TID]], %c32_i32
// CHECK-NEXT:        %[[THREAD:.*]] = arith.index_castui %[[IN_ROLE]]
// work.mlir has the order of units.
// CHECK:           scf.while
// CHECK:             %[[TILE:.*]] = arith.index_castui %{{.*}} : i32 to index
// CHECK-NEXT:        %[[FIRST_ROW:.*]] = arith.muli %[[TILE]], %[[C128]]
// K in 32 bits, as bulk copies have it; what the body sees are indices.
// CHECK-NEXT:        scf.for %[[K32:.*]] = %c0_i32 to %c64_i32 step %c32_i32 : i32 {
// CHECK-NEXT:          %[[LEFT:.*]] = arith.subi %c64_i32, %[[K32]] : i32
// CHECK-NEXT:          %[[EXTENT32:.*]] = arith.minui %[[LEFT]], %c32_i32 : i32
// CHECK-NEXT:          %[[K:.*]] = arith.index_castui %[[K32]] : i32 to index
// CHECK-NEXT:          %[[EXTENT:.*]] = arith.index_castui %[[EXTENT32]] : i32 to index
// CHECK-NEXT:          %[[ROW:.*]] = arith.addi %[[FIRST_ROW]], %[[THREAD]]
// CHECK:               llvm.load
// CHECK:               llvm.store
// CHECK:         llvm.return
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @quantize(%x: memref<?x64xbf16>, %q: memref<?x64xf8E4M3FN>, %s: memref<?x1x32x4x4xf8E8M0FNU>, %m: index, %f: f32, %i: i8) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%m, %c64, %c64)
    mxgpu.role @idle warps(1) {
    }
    mxgpu.role @quantize warps(4) {
      %t = mxgpu.thread_id
      mxgpu.for_each_work (%e, %row, %column, %k0, %k1) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %k0 to %k1 step 32 {
          %r = arith.addi %row, %t : index
          %v = mxgpu.load_block %x[%r, %k] : memref<?x64xbf16> -> vector<32xbf16>
          %e0, %s0 = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xbf16> -> vector<32xf8E4M3FN>, f8E8M0FNU
          mxgpu.store_block %e0, %q[%r, %k] : vector<32xf8E4M3FN>, memref<?x64xf8E4M3FN>
          mxgpu.store_scales %s0 into %s[%r, %extent] of(%m, %c64) : f8E8M0FNU into memref<?x1x32x4x4xf8E8M0FNU>
        }
      }
    }
  }
}

// -----

// An accumulator that may be empty is not read when it is.

// CHECK-LABEL: llvm.func @empty(
// CHECK-SAME:    i1
// CHECK-DAG:     %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<32xf32>
// CHECK:         %{{.*}} = scf.if %{{.*}} -> (vector<32xf32>) {
// CHECK-NEXT:      scf.yield %[[ZEROS]]
// CHECK-NEXT:    } else {
// CHECK:           nvvm.tcgen05.ld
!acc = !mxgpu.ring<1 x (d: tmem<128x32xf32>), producer = mma, consumer = threads(128)>
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @empty(%c: memref<?x?xf32>, %n: index, %none: i1) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %d = mxgpu.consume %acc : !acc
      %f = mxgpu.load_accumulator %d["d"] column(%n) empty(%none) : !mxgpu.slot<!acc> -> vector<32xf32>
      mxgpu.store_fragment %f, %c[%n, %n] when(%none) : vector<32xf32>, memref<?x?xf32>
      mxgpu.release %d : !mxgpu.slot<!acc>
    }
  }
}
