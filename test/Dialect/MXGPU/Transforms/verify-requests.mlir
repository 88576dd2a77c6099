// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Cluster launch control: one role asks, all take the answers.

!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @right(%n: index) {
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @other warps(4) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
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

// Nobody waits for the answer before the next request is made.
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @two_in_flight(%n: index) {
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    %other = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @other warps(4) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
      }
    }
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %other {
        %request = mxgpu.acquire %units : !ring
        // expected-error @below {{'mxgpu.publish' op expected its role to consume the answer in the same iteration}}
        mxgpu.publish %request : !slot
      }
    }
  }
}

// -----

// The answer that is waited for is that of the next request.
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @before(%n: index) {
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
        %request = mxgpu.acquire %units : !ring
        // expected-error @below {{'mxgpu.publish' op expected its role to consume the answer in the same iteration}}
        mxgpu.publish %request : !slot
      }
    }
  }
}

// -----

!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @twice(%n: index) {
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        %request = mxgpu.acquire %units : !ring
        mxgpu.publish %request : !slot
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
        // expected-error @below {{'mxgpu.consume' op expected one mxgpu.consume of the ring in role "schedule", found another}}
        %second = mxgpu.consume %units : !ring
        mxgpu.release %second : !slot
      }
    }
  }
}

// -----

// A role that takes answers but keeps one.
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kept(%n: index) {
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @other warps(4) {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        // expected-error @below {{'mxgpu.consume' op expected the slot to be given back by mxgpu.release, found no use of it}}
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
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

// One thread asks.
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @many(%n: index) {
    %units = mxgpu.ring "units" : !ring
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.role' op expected an elected role for clc of ring "units"}}
    mxgpu.role @schedule warps(1) {
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

// Answers wait for a role that waits for another which comes after its answer.
!map = !mxgpu.tensor_map<128x16xi8>
!in = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!ring = !mxgpu.ring<2 x (unit: smem<16xi8>), producer = clc, consumer = roles>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @circle(%map: !map, %n: index) {
    %units = mxgpu.ring "units" : !ring
    %in = mxgpu.ring "in" : !in
    %work = mxgpu.work_source clc(%units : !ring) raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        // expected-error @below {{'mxgpu.consume' op expected not to wait for itself through other roles, found a deadlock}}
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
        %a = mxgpu.acquire %in : !in
        mxgpu.tma_load %map[%n] into %a["a"] : !map, !in_slot
        // expected-note @below {{which waits for this}}
        mxgpu.publish %a : !in_slot
      }
    }
    mxgpu.role @schedule warps(1) elected {
      mxgpu.for_each_work (%s, %row, %column, %start, %end) in %work {
        // expected-note @below {{which waits for this}}
        %a = mxgpu.consume %in : !in
        mxgpu.release %a : !in_slot
        // expected-note @below {{which waits for this}}
        %request = mxgpu.acquire %units : !ring
        // expected-note @below {{which waits for this}}
        mxgpu.publish %request : !slot
        %answer = mxgpu.consume %units : !ring
        mxgpu.next_unit %answer : !slot
        mxgpu.release %answer : !slot
      }
    }
  }
}
