// RUN: mx-opt %s -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Nothing is given back.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-error @below {{'mxgpu.acquire' op expected the slot to be given back by mxgpu.publish, found no use of it}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-error @below {{'mxgpu.consume' op expected the slot to be given back by mxgpu.release, found no use of it}}
        %s = mxgpu.consume %ring : !ring
      }
    }
  }
}

// -----

// Twice.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        // expected-note @below {{first here}}
        mxgpu.release %s : !slot
        // expected-error @below {{'mxgpu.release' op expected the slot to be given back once, found a second time}}
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// In another iteration.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-error @below {{'mxgpu.release' op expected to be in the block that takes the slot}}
          mxgpu.release %s : !slot
        }
      }
    }
  }
}

// -----

// Used after it was given back.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        // expected-note @below {{given back here}}
        mxgpu.publish %s : !slot
        // expected-error @below {{'mxgpu.tma_load' op expected to use the slot before it is given back}}
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Under a condition, which the other side does not know.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %yes: i1, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        scf.if %yes {
          // expected-error @below {{'mxgpu.consume' op expected only mxgpu loops around it, found scf.if}}
          %s = mxgpu.consume %ring : !ring
          mxgpu.release %s : !slot
        }
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      scf.for %i = %n to %n step %n {
        // expected-error @below {{'mxgpu.consume' op expected only mxgpu loops around it, found scf.for}}
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Nobody on one side.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected a role that consumes its slots, found none}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected a role that produces its slots, found none}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected a role that produces its slots, found none}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @idle warps(1) elected {

    }
  }
}

// -----

// Two on one side, in two roles or in one.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{here}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @load2 warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-error @below {{'mxgpu.acquire' op expected one mxgpu.acquire of the ring, found another}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{here}}
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
        // expected-error @below {{'mxgpu.consume' op expected one mxgpu.consume of the ring, found another}}
        %t = mxgpu.consume %ring : !ring
        mxgpu.release %t : !slot
      }
    }
  }
}

// -----

// One role on both sides.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected different roles to produce and consume, found "both" twice}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @both warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
        %t = mxgpu.consume %ring : !ring
        mxgpu.release %t : !slot
      }
    }
  }
}

// -----

// One loop against two.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{acquired here}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-note @below {{consumed here}}
          %s = mxgpu.consume %ring : !ring
          mxgpu.release %s : !slot
        }
      }
    }
  }
}

// -----

// A loop over other steps.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-note @below {{acquired here}}
          %s = mxgpu.acquire %ring : !ring
          mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
          mxgpu.publish %s : !slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 64 {
          // expected-note @below {{consumed here}}
          %s = mxgpu.consume %ring : !ring
          mxgpu.release %s : !slot
        }
      }
    }
  }
}

// -----

// A loop that ends elsewhere.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-note @below {{acquired here}}
          %s = mxgpu.acquire %ring : !ring
          mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
          mxgpu.publish %s : !slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %row step 128 {
          // expected-note @below {{consumed here}}
          %s = mxgpu.consume %ring : !ring
          mxgpu.release %s : !slot
        }
      }
    }
  }
}

// -----

// Other work.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %other = mxgpu.work_source static raster = linear tile [128, 256] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{acquired here}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %other {
        // expected-note @below {{consumed here}}
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Loops of different kinds.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 {
        // expected-note @below {{acquired here}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{consumed here}}
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Arguments of corresponding loops, but not the same ones.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          mxgpu.for_each_k (%k2, %extent2, %first2) from %k to %end step 128 {
            // expected-note @below {{acquired here}}
            %s = mxgpu.acquire %ring : !ring
            mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
            mxgpu.publish %s : !slot
          }
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          mxgpu.for_each_k (%k2, %extent2, %first2) from %extent to %end step 128 {
            // expected-note @below {{consumed here}}
            %s = mxgpu.consume %ring : !ring
            mxgpu.release %s : !slot
          }
        }
      }
    }
  }
}

// -----

// One thread drives the copy engine.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    // expected-error @below {{'mxgpu.role' op expected an elected role for tma of ring "ring"}}
    mxgpu.role @load warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    // expected-error @below {{'mxgpu.role' op expected an elected role for mma of ring "ring"}}
    mxgpu.role @mma warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// A field that nobody loads.
!map = !mxgpu.tensor_map<128x16xi8>
!two = !mxgpu.ring<2 x (a: smem<128x16xi8>, b: smem<128x16xi8>), producer = tma, consumer = mma>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !two
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !two
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !mxgpu.slot<!two>
        // expected-error @below {{'mxgpu.publish' op expected a load into field "b" before it, found none}}
        mxgpu.publish %s : !mxgpu.slot<!two>
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !two
        mxgpu.release %s : !mxgpu.slot<!two>
      }
    }
  }
}

// -----

// A field that is loaded twice, or in a loop, or under a condition.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        // expected-error @below {{'mxgpu.tma_load' op expected one load of each field, found a second of "a"}}
        mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        mxgpu.tma_load %map[%n, %n] into %s["a"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-error @below {{'mxgpu.tma_load' op expected to be in the block that takes the slot}}
          mxgpu.tma_load %map[%n] into %s["a"] : !map, !slot
        }
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// An accumulator that nobody writes.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          mxgpu.release %s : !in_slot
        }
        // expected-error @below {{'mxgpu.publish' op expected an mma into field "d" before it, found none}}
        mxgpu.publish %d : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

// An accumulator that may not be written.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          // expected-note @below {{this is in a loop}}
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
          mxgpu.release %s : !in_slot
        }
        // expected-error @below {{'mxgpu.publish' op expected `empty` to say when no mma has run, found none}}
        mxgpu.publish %d : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        mxgpu.publish %s : !in_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.acquire %acc : !acc
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        scf.if %none {
          // expected-error @below {{'mxgpu.mma' op expected only loops between it and its accumulator, found scf.if}}
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
        }
        mxgpu.release %s : !in_slot
        mxgpu.publish %d empty(%none) : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) empty(%none) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
          mxgpu.release %s : !in_slot
        }
        mxgpu.publish %d empty(%none) : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.consume %acc : !acc
        // expected-error @below {{'mxgpu.load_accumulator' op expected `empty`, because the slot may be published empty, found none}}
        %f = mxgpu.load_accumulator %d["d"] column(%n) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

// A load that some threads of a warp do not reach.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
          mxgpu.release %s : !in_slot
        }
        mxgpu.publish %d empty(%none) : !acc_slot
      }
    }
    mxgpu.role @epilogue warps(4) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.consume %acc : !acc
        %thread = mxgpu.thread_id
        %some = arith.cmpi ult, %thread, %n : index
        scf.if %some {
          // expected-error @below {{'mxgpu.load_accumulator' op expected the threads of a role to agree on the condition of the scf.if around it, found one that may depend on the thread}}
          %f = mxgpu.load_accumulator %d["d"] column(%n) empty(%none) : !acc_slot -> vector<32xf32>
        }
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

// Other threads than the ring counts.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
          mxgpu.release %s : !in_slot
        }
        mxgpu.publish %d empty(%none) : !acc_slot
      }
    }
    // expected-error @below {{'mxgpu.role' op expected 128 threads for ring "acc", found 256}}
    mxgpu.role @epilogue warps(8) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) empty(%none) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(128)>
!acc_slot = !mxgpu.slot<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.acquire %in : !in
          mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
          mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
          mxgpu.publish %s : !in_slot
        }
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.acquire %acc : !acc
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          %s = mxgpu.consume %in : !in
          %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
          mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !acc_slot
          mxgpu.release %s : !in_slot
        }
        mxgpu.publish %d empty(%none) : !acc_slot
      }
    }
    // expected-error @below {{'mxgpu.role' op expected 128 threads for ring "acc", found 1}}
    mxgpu.role @epilogue warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %none = arith.cmpi eq, %start, %end : index
        %d = mxgpu.consume %acc : !acc
        %f = mxgpu.load_accumulator %d["d"] column(%n) empty(%none) : !acc_slot -> vector<32xf32>
        mxgpu.release %d : !acc_slot
      }
    }
  }
}

// -----

// Many slots of x for one of y, in opposite orders: x is full before y is
// published, and nobody empties it before y has come.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-note @below {{which waits for this}}
          %sx = mxgpu.acquire %x : !ring
          mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
          mxgpu.publish %sx : !slot
        }
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        // expected-note @below {{which waits for this}}
        mxgpu.publish %sy : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{which waits for this}}
        %sy = mxgpu.consume %y : !ring
        mxgpu.release %sy : !slot
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step 128 {
          // expected-note @below {{which waits for this}}
          %sx = mxgpu.consume %x : !ring
          // expected-error @below {{'mxgpu.release' op expected not to wait for itself through other roles, found a deadlock}}
          mxgpu.release %sx : !slot
        }
      }
    }
  }
}

// -----

// Whole loops in opposite orders.
!map = !mxgpu.tensor_map<128x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = tma, consumer = mma>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %x = mxgpu.ring "x" : !ring
    %y = mxgpu.ring "y" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-error @below {{'mxgpu.acquire' op expected not to wait for itself through other roles, found a deadlock}}
        %sx = mxgpu.acquire %x : !ring
        mxgpu.tma_load %map[%n] into %sx["a"] : !map, !slot
        mxgpu.publish %sx : !slot
      }
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %sy = mxgpu.acquire %y : !ring
        mxgpu.tma_load %map[%n] into %sy["a"] : !map, !slot
        // expected-note @below {{which waits for this}}
        mxgpu.publish %sy : !slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{which waits for this}}
        %sy = mxgpu.consume %y : !ring
        mxgpu.release %sy : !slot
      }
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{which waits for this}}
        %sx = mxgpu.consume %x : !ring
        // expected-note @below {{which waits for this}}
        mxgpu.release %sx : !slot
      }
    }
  }
}

// -----

// The load waits for a reply to what it has not sent yet.
!tile = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!scale_tile = !mxgpu.tensor_map<2x256xf8E8M0FNU>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, sf: smem<512xf8E8M0FNU>), producer = tma, consumer = mma>
!in_slot = !mxgpu.slot<!in>
!reply = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma, consumer = threads(1)>
!reply_slot = !mxgpu.slot<!reply>
gpu.module @kernels {
  mxgpu.kernel @kernel(%tile: !tile, %scale_tile: !scale_tile, %n: index) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %in = mxgpu.ring "in" : !in
    %reply = mxgpu.ring "reply" : !reply
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{which waits for this}}
        %r = mxgpu.consume %reply : !reply
        mxgpu.release %r : !reply_slot
        // expected-note @below {{which waits for this}}
        %s = mxgpu.acquire %in : !in
        mxgpu.tma_load %tile[%n] into %s["a"] : !tile, !in_slot
        mxgpu.tma_load %scale_tile[%n] into %s["sf"] : !scale_tile, !in_slot
        // expected-note @below {{which waits for this}}
        mxgpu.publish %s : !in_slot
      }
    }
    mxgpu.role @mma warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %d = mxgpu.acquire %reply : !reply
        // expected-error @below {{'mxgpu.consume' op expected not to wait for itself through other roles, found a deadlock}}
        %s = mxgpu.consume %in : !in
        %sf = mxgpu.copy_scales %s["sf"] : !in_slot -> !mxgpu.scales<128>
        mxgpu.mma %s["a", "a"] scales(%sf, %sf) into %d["d"] : !in_slot, !mxgpu.scales<128>, !mxgpu.scales<128>, !reply_slot
        mxgpu.release %s : !in_slot
        // expected-note @below {{which waits for this}}
        mxgpu.publish %d : !reply_slot
      }
    }
  }
}

// -----

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>, y: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(32)>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @produce warps(2) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.store_shared %x, %s["x"] at [%row, %column] : vector<4xf32>, !slot
        // expected-error @below {{'mxgpu.publish' op expected a store into field "y" before it, found none}}
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(64), consumer = threads(32)>
!slot = !mxgpu.slot<!ring>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %x = vector.broadcast %v : f32 to vector<4xf32>
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    // expected-error @below {{'mxgpu.role' op expected 64 threads for ring "ring", found 32}}
    mxgpu.role @produce warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.store_shared %x, %s["x"] at [%row, %column] : vector<4xf32>, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @read warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// Of all roles that consume a ring together.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = tma, consumer = threads(64)>
!slot = !mxgpu.slot<!ring>
!map = !mxgpu.tensor_map<32x32xf32, sw128>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %map: !map) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%row, %column] into %s["x"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    // expected-error @below {{'mxgpu.role' op expected 64 threads for ring "ring", found 96}}
    mxgpu.role @rows warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
    mxgpu.role @columns warps(2) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
  }
}

// -----

// A role that consumes some slots only would leave the others waiting.
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = tma, consumer = threads(64)>
!slot = !mxgpu.slot<!ring>
!map = !mxgpu.tensor_map<32x32xf32, sw128>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %map: !map) {
    %work = mxgpu.work_source static raster = linear tile [128, 128] of(%n, %n, %n)
    // expected-error @below {{'mxgpu.ring' op expected the same loops around acquire and consume}}
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        // expected-note @below {{acquired here}}
        %s = mxgpu.acquire %ring : !ring
        mxgpu.tma_load %map[%row, %column] into %s["x"] : !map, !slot
        mxgpu.publish %s : !slot
      }
    }
    mxgpu.role @rows warps(1) {
      mxgpu.for_each_work (%e, %row, %column, %start, %end) in %work {
        %s = mxgpu.consume %ring : !ring
        mxgpu.release %s : !slot
      }
    }
    mxgpu.role @columns warps(1) {
      // expected-note @below {{consumed here}}
      %s = mxgpu.consume %ring : !ring
      mxgpu.release %s : !slot
    }
  }
}
