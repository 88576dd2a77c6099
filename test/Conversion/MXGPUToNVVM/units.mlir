// RUN: mx-opt %s --mxgpu-allocate --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// How CTAs come by units of work other than by their own number.

!tickets = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = tickets, consumer = roles>
!slot = !mxgpu.slot<!tickets>
!groups = !mxgpu.ring<2 x (unit: smem<32xi8>), producer = groups, consumer = roles>
!found = !mxgpu.slot<!groups>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // A counter that is 0 again when each of the units but those that CTAs began
  // with, and each CTA's last question, has been drawn.
  // CHECK-LABEL: llvm.func @tickets(
  // CHECK:         %[[FIRST:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK:         scf.while (%{{.*}} = %[[FIRST]]) : (i32) -> i32 {
  // CHECK:           %[[PLACE:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<1>
  // CHECK:           %[[TICKET:.*]] = llvm.atomicrmw uinc_wrap %[[PLACE]], %[[LAST:.*]] syncscope("device") monotonic : !llvm.ptr<1>, i32
  // CHECK-NEXT:      %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
  // CHECK-NEXT:      %[[UNIT:.*]] = arith.addi %[[TICKET]], %[[CTAS]]
  // CHECK-NEXT:      %[[IS_UNIT:.*]] = arith.cmpi ult, %[[UNIT]], %[[UNITS:.*]] : i32
  // CHECK-NEXT:      %[[ANSWER:.*]] = arith.select %[[IS_UNIT]], %[[UNIT]], %c-1_i32
  // CHECK:           llvm.store %[[ANSWER]], %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
  // CHECK:           nvvm.mbarrier.arrive
  // CHECK:           %[[TAKEN:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  // CHECK-NEXT:      %[[MORE:.*]] = arith.cmpi ne, %[[TAKEN]], %c-1_i32
  // CHECK:           scf.condition(%[[MORE]]) %[[TAKEN]]
  mxgpu.kernel @tickets(%counter: memref<1xi32>, %n: index, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %tickets = mxgpu.ring "tickets" : !tickets
    %work = mxgpu.work_source tickets(%tickets, %counter : !tickets, memref<1xi32>) raster = linear tile [128, 128] of(%n, %n, %c0)
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %v = arith.index_cast %row : index to i64
        memref.store %v, %out[%row, %column] : memref<?x?xi64>
        %request = mxgpu.acquire %tickets : !tickets
        mxgpu.publish %request : !slot
        %answer = mxgpu.consume %tickets : !tickets
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
      }
    }
  }

  // The one unit of a CTA needs no loop; one column of tiles after the other.
  // CHECK-LABEL: llvm.func @single(
  // CHECK-NOT:     scf.while
  // CHECK:         %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK-NEXT:    %[[COLUMN:.*]] = arith.divui %[[CTA]], %[[ROWS:.*]] : i32
  // CHECK-NEXT:    %[[BEFORE:.*]] = arith.muli %[[COLUMN]], %[[ROWS]]
  // CHECK-NEXT:    %[[ROW:.*]] = arith.subi %[[CTA]], %[[BEFORE]]
  // CHECK:         llvm.return
  mxgpu.kernel @single(%n: index, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source single raster = columns tile [128, 128] of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %v = arith.index_cast %row : index to i64
        memref.store %v, %out[%row, %column] : memref<?x?xi64>
      }
    }
  }

  // Each lane has a group's tiles, 5 shuffles give their sums, and a vote says
  // whose group has the tile; if none has, on to the next 32. An end is no
  // further than the last row, and not before the end of the group before.
  // CHECK-LABEL: llvm.func @ragged(
  // CHECK:         %[[FOUND:.*]]:6 = scf.while
  // CHECK:           arith.minui %{{.*}}, %[[ROWS:.*]] : i32
  // CHECK:           arith.minui %{{.*}}, %[[ROWS]] : i32
  // CHECK:           arith.maxsi
  // CHECK-COUNT-5:   nvvm.shfl.sync up
  // CHECK:           nvvm.vote.sync
  // CHECK:           scf.condition
  // CHECK:         %[[EXISTS:.*]] = arith.cmpi ne, %[[FOUND]]#2, %c0_i32
  // CHECK:         %[[LANE:.*]] = {{.*}}cttz{{.*}}%[[FOUND]]#2
  // CHECK:         nvvm.shfl.sync idx %{{.*}}, %[[FOUND]]#3, %[[LANE]]
  // CHECK:         arith.minsi
  // CHECK:         %[[TAKES:.*]] = arith.andi %{{.*}}, %[[EXISTS]]
  // CHECK-NEXT:    scf.if %[[TAKES]] {
  // CHECK:           memref.store
  mxgpu.kernel @ragged(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source single raster = columns tile [128, 128] ragged(%offsets : memref<?xi32>) of(%n, %n, %c0)
    mxgpu.role @write warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
      }
    }
  }

  // All warps find the first unit; the others come as words by shared memory,
  // from a warp that looks for them.
  // CHECK-LABEL: llvm.func @groups(
  // CHECK:         %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %c-1_i32
  // CHECK:         %[[EXISTS:.*]] = arith.cmpi ne, %[[FIRST]], %c-1_i32
  // CHECK:         scf.if %[[EXISTS]] {
  // CHECK:           scf.while ({{.*}}, %[[NUMBER:[^ ]*]] = %[[FIRST]])
  // CHECK:             %[[COUNT:.*]] = nvvm.read.ptx.sreg.nctaid.x
  // CHECK:             arith.addi %[[NUMBER]], %[[COUNT]]
  // CHECK-COUNT-5:     nvvm.shfl.sync up
  // CHECK:             %[[NEXT:.*]] = arith.select %{{.*}}, %{{.*}}, %c-1_i32
  // CHECK:             scf.if
  // CHECK-COUNT-2:       llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
  // CHECK:               nvvm.mbarrier.arrive
  // CHECK:             llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
  // CHECK:             llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
  // CHECK:             %[[MORE:.*]] = arith.cmpi ne, %[[TAKEN:.*]], %c-1_i32
  // CHECK:             scf.condition(%[[MORE]]) {{.*}}, %[[TAKEN]] : i32
  mxgpu.kernel @groups(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %units = mxgpu.ring "units" : !groups
    %work = mxgpu.work_source groups(%units : !groups) raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) of(%n, %n, %n)
    mxgpu.role @schedule warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
        %request = mxgpu.acquire %units : !groups
        mxgpu.publish %request : !found
        %answer = mxgpu.consume %units : !groups
        mxgpu.next_unit %answer : !found
        mxgpu.release %answer : !found
      }
    }
  }

  // Groups of a reduction have all outputs: the unit's number alone says which
  // group has it, and sums over the groups before where its part begins.
  // CHECK-LABEL: llvm.func @reduction(
  // CHECK:         arith.divui
  // CHECK:         scf.while
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  mxgpu.kernel @reduction(%n: index, %offsets: memref<?xi32>, %out: memref<?x?xi64>) {
    %units = mxgpu.ring "units" : !groups
    %work = mxgpu.work_source groups(%units : !groups) raster = linear tile [128, 128] ragged(%offsets : memref<?xi32>) over_reduction of(%n, %n, %n)
    mxgpu.role @schedule warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %v = arith.index_cast %s : index to i64
        memref.store %v, %out[%start, %end] : memref<?x?xi64>
        %request = mxgpu.acquire %units : !groups
        mxgpu.publish %request : !found
        %answer = mxgpu.consume %units : !groups
        mxgpu.next_unit %answer : !found
        mxgpu.release %answer : !found
      }
    }
  }
}
