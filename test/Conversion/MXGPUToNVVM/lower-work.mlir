// RUN: mx-opt %s -split-input-file --mxgpu-lower-work --canonicalize --cse --verify-roundtrip | FileCheck %s

// Loops over work tiles and over the reduction become scf loops. Stage operations are unchanged.

gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // CTA c visits units c, c + number of CTAs, and so on, and computes the work tile from the unit.
  // The loop is an scf.while, because scf.for compares signed integers.
  // CHECK-LABEL: mxgpu.kernel @static(
  // CHECK-SAME:    %{{.*}}: index, %{{.*}}: index, %[[K:.*]]: index,
  // CHECK:         %[[UNITS:.*]] = arith.muli %{{.*}}, %{{.*}}
  // CHECK:         %[[FIRST:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK:         %[[STEP:.*]] = nvvm.read.ptx.sreg.nctaid.x
  // CHECK:         scf.while (%[[UNIT:.*]] = %[[FIRST]])
  // CHECK:           %[[IS_UNIT:.*]] = arith.cmpi ult, %[[UNIT]], %[[UNITS]]
  // CHECK-NEXT:      scf.condition(%[[IS_UNIT]]) %[[UNIT]]
  // CHECK:         ^bb0(%[[UNIT:.*]]: i32):
  // CHECK:           %[[ROW:.*]] = arith.muli %{{.*}}, %c128
  // CHECK:           %[[COLUMN:.*]] = arith.muli %{{.*}}, %c192
  // CHECK:           memref.store %[[ROW]]
  // CHECK:           memref.store %[[COLUMN]]
  // CHECK:           memref.store %[[K]]
  // CHECK:           %[[NEXT:.*]] = arith.addi %[[UNIT]], %[[STEP]]
  // CHECK-NEXT:      scf.yield %[[NEXT]]
  mxgpu.kernel @static(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %k0, %k1) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
        memref.store %column, %out[%c0] : memref<1xindex>
        memref.store %k1, %out[%c0] : memref<1xindex>
      }
    }
  }

  // Both CTAs of a pair visit the same units.
  // CHECK-LABEL: mxgpu.kernel @pair(
  // CHECK:         %[[FIRST:.*]] = nvvm.read.ptx.sreg.clusterid.x
  // CHECK:         %[[STEP:.*]] = nvvm.read.ptx.sreg.nclusterid.x
  // CHECK:         scf.while (%{{.*}} = %[[FIRST]])
  // CHECK:           arith.addi %{{.*}}, %[[STEP]]
  mxgpu.kernel @pair(%m: index, %n: index, %k: index, %out: memref<1xindex>) cluster(2) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [256, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %k0, %k1) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
      }
    }
  }

  // The reduction is split into three parts. Part i begins at step i * steps / 3 and ends at the
  // start of the next part or at the end of the reduction. The units of a part have adjacent numbers.
  // CHECK-LABEL: mxgpu.kernel @split(
  // CHECK-SAME:    %[[K:[a-z0-9]*]]: index, %{{[a-z0-9]*}}: memref
  // CHECK:         %[[TILES:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
  // CHECK:         %[[UNITS:.*]] = arith.muli %[[TILES]], %c3_i32
  // CHECK:           arith.cmpi ult, %{{.*}}, %[[UNITS]]
  // CHECK:         ^bb0(%[[UNIT:.*]]: i32):
  // CHECK:           %[[PART:.*]] = arith.divui %[[UNIT]], %[[TILES]]
  // CHECK:           %[[SLICE:.*]] = arith.index_castui %[[PART]]
  // CHECK:           %[[STEPS:.*]] = arith.index_castui %{{.*}} : i32 to index
  // CHECK:           %[[START1:.*]] = arith.muli %[[STEPS]], %[[SLICE]]
  // CHECK:           %[[START2:.*]] = arith.divui %[[START1]], %c3
  // CHECK:           %[[START:.*]] = arith.muli %[[START2]], %c256
  // CHECK:           %[[NEXT:.*]] = arith.addi %[[SLICE]], %c1
  // CHECK:           %[[END1:.*]] = arith.muli %[[STEPS]], %[[NEXT]]
  // CHECK:           %[[END2:.*]] = arith.divui %[[END1]], %c3
  // CHECK:           %[[END3:.*]] = arith.muli %[[END2]], %c256
  // CHECK:           %[[END:.*]] = arith.minui %[[END3]], %[[K]]
  // CHECK:           memref.store %[[SLICE]]
  // CHECK:           memref.store %[[START]]
  // CHECK:           memref.store %[[END]]
  mxgpu.kernel @split(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [128, 192] split(3 step 256) of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %k0, %k1) in %scheduler {
        memref.store %s, %out[%c0] : memref<1xindex>
        memref.store %k0, %out[%c0] : memref<1xindex>
        memref.store %k1, %out[%c0] : memref<1xindex>
      }
    }
  }

  // Units are numbered column by column within bands of 8 rows. The last band may have fewer rows.
  // CHECK-LABEL: mxgpu.kernel @group_m(
  // CHECK:         ^bb0(%{{.*}}: i32):
  // CHECK:           %[[HEIGHT:.*]] = arith.minui %[[ROWS:.*]], %c8_i32
  // CHECK:           %[[LEFT:.*]] = arith.subi %[[ROWS]], %{{.*}}
  // CHECK:           arith.minui %[[HEIGHT]], %[[LEFT]]
  mxgpu.kernel @group_m(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler static raster = group_m(8) tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %k0, %k1) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
        memref.store %column, %out[%c0] : memref<1xindex>
      }
    }
  }

  // A Hilbert curve halves the grid until one row or column is left. Unit tests check the order of
  // the tiles.
  // CHECK-LABEL: mxgpu.kernel @hilbert(
  // CHECK:         ^bb0(%[[UNIT:.*]]: i32):
  // CHECK:           scf.while (%{{.*}} = %[[UNIT]],
  // CHECK:             %[[LESS:.*]] = arith.minui
  // CHECK:             %[[MORE:.*]] = arith.cmpi ugt, %[[LESS]], %c1_i32
  // CHECK-NEXT:        scf.condition(%[[MORE]])
  mxgpu.kernel @hilbert(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler static raster = hilbert tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %k0, %k1) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
      }
    }
  }

  // With a single unit for each CTA, no loop is needed. The unit is computed once for all roles.
  // CHECK-LABEL: mxgpu.kernel @single(
  // CHECK:         %[[UNIT:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK:         %[[COLUMN:.*]] = arith.divui %[[UNIT]], %[[ROWS:.*]] : i32
  // CHECK:         mxgpu.role @write
  // CHECK-NOT:     scf.
  mxgpu.kernel @single(%n: index, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %row : index to i64
        memref.store %v, %out[%row, %column] : memref<?x?xi64>
      }
    }
  }

  // A warp searches 32 expert groups at a time for the group of its tile. CTAs
  // beyond the last expert group do nothing.
  // CHECK-LABEL: mxgpu.kernel @ragged(
  // CHECK:         %[[FOUND:.*]]:7 = scf.while
  // CHECK:           nvvm.shfl.sync up
  // CHECK:           nvvm.vote.sync ballot
  // CHECK:           arith.addi %{{.*}}, %c32_i32
  // CHECK:         %[[EXISTS:.*]] = arith.cmpi ne, %[[FOUND]]#3, %c0_i32
  // CHECK:         mxgpu.role @write
  // CHECK-NEXT:      scf.if %[[EXISTS]] {
  // CHECK:             memref.store
  // CHECK-NOT:     scf.
  mxgpu.kernel @ragged(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%offsets : memref<?xi32>) of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
      }
    }
  }

  // The tiles of rows below a limit are the whole grid. A kernel for the other tiles adds the limit,
  // and repeats until a tile is missing.
  // CHECK-LABEL: mxgpu.kernel @limited(
  // CHECK-SAME:    %{{.*}}: index, %[[INDEX:.*]]: index, %{{.*}}: memref<8xi32>,
  // CHECK:         %[[LIMIT:.*]] = arith.index_cast %[[INDEX]] : index to i32
  // CHECK:         arith.divui %{{.*}}, %[[LIMIT]]
  // CHECK-NOT:     mxgpu.yield
  // CHECK-LABEL: mxgpu.kernel @rest(
  // CHECK-SAME:    %{{.*}}: index, %[[INDEX:.*]]: index, %{{.*}}: memref<8xi32>,
  // CHECK:         %[[LIMIT:.*]] = arith.index_cast %[[INDEX]] : index to i32
  // CHECK:         arith.addi %{{.*}}, %[[LIMIT]]
  // CHECK:         %[[EXISTS:.*]] = arith.cmpi ne
  // CHECK:         scf.if %[[EXISTS]]
  // CHECK:         mxgpu.yield %[[EXISTS]] : i1
  mxgpu.kernel @limited(%n: index, %limit: index, %offsets: memref<8xi32>, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%offsets : memref<8xi32>) limit(%limit) of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %row : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
      }
    }
  }
  mxgpu.kernel @rest(%n: index, %limit: index, %offsets: memref<8xi32>, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler single repeated raster = linear tile [128, 128] ragged(%offsets : memref<8xi32>) limit(%limit) of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %row : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
      }
    }
  }

  // Up to 32 expert groups need no loop. Each offset is limited by the last offset, and a running
  // maximum of the offsets yields the ends of the groups.
  // CHECK-LABEL: mxgpu.kernel @few(
  // CHECK-NOT:     scf.while
  // CHECK:         %[[LAST:.*]] = llvm.load
  // CHECK:         %[[LIMIT:.*]] = arith.minsi %[[LAST]],
  // CHECK:         %[[OFFSET:.*]] = llvm.load
  // CHECK:         arith.minsi %[[OFFSET]], %[[LIMIT]]
  // CHECK:         %[[BELOW:.*]] = nvvm.shfl.sync up
  // CHECK:         arith.maxsi %{{.*}}, %[[BELOW]]
  // CHECK:         nvvm.vote.sync ballot
  // CHECK-NOT:     scf.while
  // CHECK:         mxgpu.role @write
  mxgpu.kernel @few(%n: index, %offsets: memref<8xi32>, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %scheduler = mxgpu.tile_scheduler single raster = columns tile [128, 128] ragged(%offsets : memref<8xi32>) of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
      }
    }
  }
}

// -----

// With cluster launch control, the body runs before the wait for the response. The hardware writes
// the response to the buffer. The next unit is decoded only if the request succeeded.

// CHECK-LABEL: mxgpu.kernel @clc(
// CHECK:         %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:         scf.while (%[[UNIT:.*]] = %[[CTA]]) : (i32) -> i128 {
// CHECK:           memref.store
// CHECK-NEXT:      %[[STAGE:.*]], %[[BUFFER:.*]] = mxgpu.consumer_wait
// CHECK:           %[[ADDRESS:.*]] = mxbar.buffer_address %[[BUFFER]] : !smem -> !llvm.ptr<3>
// CHECK:           %[[ANSWER:.*]] = llvm.load %[[ADDRESS]] {alignment = 16 : i64} : !llvm.ptr<3> -> i128
// CHECK-NEXT:      %[[MORE:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = {{ ?}}is_canceled, %[[ANSWER]] : i1
// CHECK-NEXT:      mxgpu.consumer_release %[[STAGE]]
// CHECK-NEXT:      scf.condition(%[[MORE]]) %[[ANSWER]] : i128
// CHECK:         ^bb0(%[[NEXT:.*]]: i128):
// CHECK-NEXT:      %[[NUMBER:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = {{ ?}}get_first_cta_id_x, %[[NEXT]] : i32
// CHECK-NEXT:      scf.yield %[[NUMBER]] : i32

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @clc(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    %scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @work warps(2) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
}

// -----

// The unit of a CTA pair is half the number of its first CTA.

// CHECK-LABEL: mxgpu.kernel @clc_pair(
// CHECK:         %[[PAIR:.*]] = nvvm.read.ptx.sreg.clusterid.x
// CHECK:         scf.while (%{{.*}} = %[[PAIR]])
// CHECK:           %[[NUMBER:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = {{ ?}}get_first_cta_id_x
// CHECK:           %[[HALF:.*]] = arith.shrui %[[NUMBER]], %c1_i32
// CHECK-NEXT:      scf.yield %[[HALF]]

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = clc, consumer = roles, scope = pair>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @clc_pair(%m: index, %n: index, %k: index, %out: memref<1xindex>) cluster(2) {
    %c0 = arith.constant 0 : index
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    %scheduler = mxgpu.tile_scheduler clc(%work_tiles : !ring) raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @work warps(2) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
}

// -----

// Units are drawn from an atomic counter, which wraps to 0 after the last unit. The drawn unit is
// written to the buffer before the stage is committed, and -1 ends the loop.

// CHECK-LABEL: mxgpu.kernel @tickets(
// CHECK:         scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32 {
// CHECK:           %[[STAGE:.*]], %[[BUFFER:.*]] = mxgpu.producer_acquire
// CHECK:           %[[UNITS:.*]] = arith.muli
// CHECK:           %[[LAST:.*]] = arith.subi %[[UNITS]], %c1_i32
// CHECK:           %[[TICKET:.*]] = llvm.atomicrmw uinc_wrap %{{.*}}, %[[LAST]] syncscope("device") monotonic
// CHECK:           %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK:           %[[NUMBER:.*]] = arith.addi %[[TICKET]], %[[CTAS]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[NUMBER]], %[[UNITS]]
// CHECK:           %[[TOLD:.*]] = arith.select %[[EXISTS]], %[[NUMBER]], %c-1_i32
// CHECK:           %[[ADDRESS:.*]] = mxbar.buffer_address %[[BUFFER]]
// CHECK:           llvm.store %[[TOLD]], %[[ADDRESS]]
// CHECK-NEXT:      mxgpu.producer_commit %[[STAGE]]
// CHECK-NEXT:      %{{.*}}, %[[BUFFER:.*]] = mxgpu.consumer_wait
// CHECK:           %[[ADDRESS:.*]] = mxbar.buffer_address %[[BUFFER]]
// CHECK:           %[[NEXT:.*]] = llvm.load %[[ADDRESS]]
// CHECK:           %[[MORE:.*]] = arith.cmpi ne, %[[NEXT]], %c-1_i32
// CHECK:           scf.condition(%[[MORE]]) %[[NEXT]]

!ring = !mxgpu.ring<2 x (work_tile: smem<16xi8>), producer = atomic_counter, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<16xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @tickets(%counter: memref<1xi32>, %n: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %tickets = mxgpu.ring "tickets" : !ring
    %scheduler = mxgpu.tile_scheduler atomic_counter(%tickets, %counter : !ring, memref<1xi32>) raster = linear tile [128, 128] of(%n, %n, %c0)
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        memref.store %row, %out[%c0] : memref<1xindex>
        %request, %to = mxgpu.producer_acquire %tickets : !ring
        mxgpu.producer_commit %request : !stage
        %answer, %work_tile = mxgpu.consumer_wait %tickets : !ring
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
}

// -----

!ring = !mxgpu.ring<2 x (work_tile: smem<32xi8>), producer = groups, consumer = roles>
!stage = !mxgpu.stage<!ring>
!work_tile = !mxgpu.buffer<smem<32xi8>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // A warp of each CTA finds the next unit among the expert groups, and its first lane publishes
  // the unit in the buffer. The loops of all roles carry the unit and its group as iteration
  // arguments. A role without a first unit does not iterate.
  // CHECK-LABEL: mxgpu.kernel @groups(
  // CHECK:         nvvm.vote.sync ballot
  // CHECK:         mxgpu.role @schedule
  // CHECK:           %[[ANY:.*]] = arith.cmpi ne, %[[FIRST:.*]], %c-1_i32
  // CHECK-NEXT:      scf.if %[[ANY]] {
  // CHECK-NEXT:        scf.while ({{.*}}, %[[NUMBER:[^ ]*]] = %[[FIRST]]) : (i32, i32, i32, i32) -> (i32, i32, i32, i32)
  // CHECK:               memref.store
  // CHECK:               %[[STAGE:.*]], %[[BUFFER:.*]] = mxgpu.producer_acquire
  // CHECK:               %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
  // CHECK:               arith.addi %[[NUMBER]], %[[CTAS]]
  // CHECK:               nvvm.vote.sync ballot
  // CHECK:               scf.if
  // CHECK:                 %[[TO:.*]] = mxbar.buffer_address %[[BUFFER]]
  // CHECK:                 llvm.store %{{.*}}, %[[TO]] {alignment = 16 : i64} : vector<4xi32>
  // CHECK:                 llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>
  // CHECK:               mxgpu.producer_commit %[[STAGE]]
  // CHECK-NEXT:          %{{.*}}, %[[BUFFER:.*]] = mxgpu.consumer_wait
  // CHECK:               %[[FROM:.*]] = mxbar.buffer_address %[[BUFFER]]
  // CHECK:               llvm.load %[[FROM]] {alignment = 16 : i64}
  // CHECK:               %[[MORE:.*]] = arith.cmpi ne, %[[NEXT:.*]], %c-1_i32
  // CHECK:               scf.condition(%[[MORE]]) {{.*}}, %[[NEXT]] :
  mxgpu.kernel @groups(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    %scheduler = mxgpu.tile_scheduler groups(%work_tiles : !ring) raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) of(%n, %n, %n)
    mxgpu.role @schedule warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
        %request, %to = mxgpu.producer_acquire %work_tiles : !ring
        mxgpu.producer_commit %request : !stage
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }

  // If expert groups divide the reduction, each group covers all tiles. The unit determines the
  // expert group, so the search only finds the start of the group.
  // CHECK-LABEL: mxgpu.kernel @reduction(
  // CHECK:         %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK:         %[[TILES:.*]] = arith.muli
  // CHECK:         arith.divui %[[CTA]], %[[TILES]]
  // CHECK:         nvvm.shfl.sync bfly
  // CHECK-NOT:     nvvm.vote.sync
  mxgpu.kernel @reduction(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %work_tiles = mxgpu.ring "work_tiles" : !ring
    %scheduler = mxgpu.tile_scheduler groups(%work_tiles : !ring) raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) over_reduction of(%n, %n, %n)
    mxgpu.role @schedule warps(1) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
        %request, %to = mxgpu.producer_acquire %work_tiles : !ring
        mxgpu.producer_commit %request : !stage
        %answer, %work_tile = mxgpu.consumer_wait %work_tiles : !ring
        mxgpu.next_work_tile %work_tile : !work_tile
        mxgpu.consumer_release %answer : !stage
      }
    }
  }
}

// -----

// With one CTA for each tile of each reduction group, the CTA number determines both the tile
// and the group.

// CHECK-LABEL: mxgpu.kernel @segments(
// CHECK:         %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:         %[[TILES:.*]] = arith.muli
// CHECK:         arith.divui %[[CTA]], %[[TILES]]
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         %[[NUMBER:.*]] = arith.select %{{.*}}, %[[CTA]], %c-1_i32
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ne, %[[NUMBER]], %c-1_i32
// CHECK-NOT:     scf.while
// CHECK:         scf.if %[[EXISTS]] {
// CHECK:           memref.store

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @segments(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %scheduler = mxgpu.tile_scheduler single raster = linear tile [1, 1] ragged(%offsets : memref<?xi32>) over_reduction of(%n, %n, %n)
    mxgpu.role @look warps(4) {
      mxgpu.for_each_work_tile (%s, %row, %column, %start, %end) in %scheduler {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
      }
    }
  }
}

// -----

// A loop over the reduction becomes an scf.for over 32-bit integers, because bulk copies take
// 32-bit coordinates. The extent of the last step may be smaller.

// CHECK-LABEL: mxgpu.kernel @reduce(
// CHECK-SAME:    %[[K:.*]]: index, %{{.*}}: memref
// CHECK:         %[[END:.*]] = arith.index_cast %[[K]] : index to i32
// CHECK:         scf.for %[[AT:.*]] = %[[START:.*]] to %[[END]] step %[[STEP:c128_i32]] : i32 {
// CHECK:           %[[LEFT:.*]] = arith.subi %[[END]], %[[AT]]
// CHECK:           %[[EXTENT:.*]] = arith.minui %[[LEFT]], %[[STEP]]
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[AT]], %[[START]]
// CHECK:           %[[AT_INDEX:.*]] = arith.index_castui %[[AT]]
// CHECK:           %[[EXTENT_INDEX:.*]] = arith.index_castui %[[EXTENT]]
// CHECK:           memref.store %[[AT_INDEX]]
// CHECK:           memref.store %[[EXTENT_INDEX]]
// CHECK-NEXT:      scf.if %[[FIRST]] {
// The last iteration argument is the result of the loop.
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} step %c64_i32 iter_args(%[[SO_FAR:.*]] = %c0) -> (index) : i32 {
// CHECK:           %[[NEXT:.*]] = arith.addi %[[SO_FAR]],
// CHECK-NEXT:      scf.yield %[[NEXT]] : index
// CHECK:         memref.store %[[SUM]]
// With `unroll`, the loop contains several steps, and another loop the remaining steps.
// CHECK:         scf.for {{.*}} step %[[TWO:[^ ]+]] iter_args
// CHECK-COUNT-2:   arith.addi %{{.*}} : index
// CHECK:           scf.yield
// CHECK:         scf.for {{.*}} to %{{.*}} step %c64_i32
// CHECK:           arith.addi %{{.*}} : index

gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @reduce(%k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    mxgpu.role @only warps(1) {
      mxgpu.for_each_k (%at, %extent, %first) from %c5 to %k step 128 {
        memref.store %at, %out[%c0] : memref<1xindex>
        memref.store %extent, %out[%c0] : memref<1xindex>
        scf.if %first {
          memref.store %c0, %out[%c0] : memref<1xindex>
        }
      }
      %sum = mxgpu.for_each_k (%at, %extent, %first) from %c5 to %k step 64 iter_args(%so_far = %c0 : index) {
        %next = arith.addi %so_far, %extent : index
        mxgpu.yield %next : index
      }
      memref.store %sum, %out[%c0] : memref<1xindex>
      %unrolled = mxgpu.for_each_k (%at, %extent, %first) from %c5 to %k step 64 iter_args(%so_far = %c0 : index) {
        %next = arith.addi %so_far, %extent : index
        mxgpu.yield %next : index
      } {unroll = 2 : i64}
      memref.store %unrolled, %out[%c0] : memref<1xindex>
    }
  }
}
