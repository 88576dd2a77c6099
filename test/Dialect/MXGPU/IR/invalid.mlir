// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Every error of the operations' verifiers, in the order of MXGPUOps.td.

// -----

// TEMPLATE kernel
// SET head = ()
// SET warps = 1
gpu.module @kernels {
  // BLOCK error
  // END
  mxgpu.kernel @kernel${head} {
    mxgpu.role @role warps(${warps}) {
    }
  }
}

// -----

// USE kernel error
// SET head = (%a: memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2, d1 mod 2)>>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2, d1 mod 2)>>'}}

// -----

// USE kernel error
// SET head = (%a: memref<4xf32, 3>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'memref<4xf32, 3>'}}

// -----

// USE kernel error
// SET head = (%a: memref<*xf32>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'memref<*xf32>'}}

// -----

// USE kernel error
// SET head = (%a: i7)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'i7'}}

// -----

// USE kernel error
// SET head = (%a: si32)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'si32'}}

// -----

// USE kernel error
// SET head = (%a: f8E4M3FN)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'f8E4M3FN'}}

// -----

// USE kernel error
// SET head = (%a: tensor<4xf32>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'tensor<4xf32>'}}

// -----

gpu.module @kernels {
  // kernel C10
  // expected-error @below {{'mxgpu.kernel' op expected at least 1 role, found none}}
  mxgpu.kernel @kernel() {
    %c0 = arith.constant 0 : index
  }
}

// -----

gpu.module @kernels {
  // kernel C11
  // expected-error @below {{'mxgpu.kernel' op expected at most 1024 threads, found 1056}}
  mxgpu.kernel @kernel() {
    mxgpu.role @a warps(32) {
    }
    mxgpu.role @b warps(1) {
    }
  }
}

// -----

// USE kernel error
// SET head = () smem(-1)
// kernel C5
// expected-error @below {{'mxgpu.kernel' op expected smem_bytes of at least 0, found -1}}

// -----

// USE kernel error
// SET head = () attributes {tmem_columns = 128 : i64}
// kernel C7
// expected-error @below {{'mxgpu.kernel' op expected tmem_columns, tmem_slot and tmem_warp together}}

// -----

// USE kernel error
// SET head = () attributes {tmem_columns = 128 : i64, tmem_slot = 0 : i64}
// kernel C7
// expected-error @below {{'mxgpu.kernel' op expected tmem_columns, tmem_slot and tmem_warp together}}

// -----

// USE kernel error
// SET head = () tmem(32 at 0 warp 3)
// SET warps = 3
// kernel C12
// expected-error @below {{'mxgpu.kernel' op expected tmem_warp from 0 to 2, found 3}}

// -----

// USE kernel error
// SET head = () cluster_splits(9)
// kernel C69
// expected-error @below {{'mxgpu.kernel' op expected 2 to 8 parts, of CTAs that are no pairs, found 9}}

// -----

// USE kernel error
// SET head = () cluster(2) cluster_splits(2)
// kernel C69
// expected-error @below {{'mxgpu.kernel' op expected 2 to 8 parts, of CTAs that are no pairs, found 2}}

// -----

// USE kernel error
// SET head = () min_ctas(0)
// kernel C6
// expected-error @below {{'mxgpu.kernel' op expected min_ctas of at least 1, found 0}}

// -----

// USE kernel error
// SET head = () registers(64)
// kernel C13
// expected-error @below {{'mxgpu.kernel' op expected registers only where roles divide them, found 64}}

// -----

// USE kernel error
// SET head = () registers(20)
// SET warps = 1) registers(24
// shared C9
// expected-error @below {{'mxgpu.kernel' op expected registers in multiples of 8 from 24 to 256, found 20}}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // role C2
    // expected-error @below {{'mxgpu.role' op expected a barrier from 1 to 15, found 16}}
    mxgpu.role @role warps(1) first_warp(0) barrier(16) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    mxgpu.role @a warps(1) barrier(2) {
    }
    // role C4
    // expected-error @below {{'mxgpu.role' op expected roles with different barriers, found 2 twice}}
    mxgpu.role @b warps(1) barrier(2) {
    }
  }
}

// -----

// USE kernel error
// SET head = () tmem(16 at 0 warp 0)
// kernel C9
// expected-error @below {{'mxgpu.kernel' op expected a power of two from 32 to 512 tmem_columns, found 16}}

// -----

// USE kernel error
// SET head = () tmem(96 at 0 warp 0)
// kernel C9
// expected-error @below {{'mxgpu.kernel' op expected a power of two from 32 to 512 tmem_columns, found 96}}

// -----

// USE kernel error
// SET head = () tmem(1024 at 0 warp 0)
// kernel C9
// expected-error @below {{'mxgpu.kernel' op expected a power of two from 32 to 512 tmem_columns, found 1024}}

// -----

gpu.module @kernels {
  // kernel C1
  // expected-error @below {{'mxgpu.kernel' op expected no results, found 1}}
  "mxgpu.kernel"() <{sym_name = "kernel", function_type = () -> f32}> ({
    mxgpu.role @role warps(1) {
    }
  }) : () -> ()
}

// -----

gpu.module @kernels {
  // kernel C2
  // expected-error @below {{'mxgpu.kernel' op expected arguments of the kernel's type '(i32) -> ()', found ('index')}}
  "mxgpu.kernel"() <{sym_name = "kernel", function_type = (i32) -> ()}> ({
  ^body(%a: index):
    mxgpu.role @role warps(1) {
    }
  }) : () -> ()
}

// -----

// expected-error @below {{'mxgpu.kernel' op expects parent op 'gpu.module'}}
mxgpu.kernel @kernel() {
  mxgpu.role @role warps(1) {
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // expected-error @below {{'mxgpu.role' op attribute 'warps' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
    mxgpu.role @role warps(0) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // role C1
    // expected-error @below {{'mxgpu.role' op expected at most 32 warps, found 1152921504606846976}}
    mxgpu.role @role warps(1152921504606846976) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // role C3
    // expected-error @below {{'mxgpu.role' op expected 1 warp in an elected role, found 2}}
    mxgpu.role @role warps(2) elected {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    mxgpu.role @role warps(1) {
    }
    // role C5
    // expected-error @below {{'mxgpu.role' op expected roles with different names, found "role" twice}}
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    mxgpu.role @a warps(4) first_warp(0) {
    }
    // role C6
    // expected-error @below {{'mxgpu.role' op expected first_warp 4, which follows the role before, found 5}}
    mxgpu.role @b warps(1) first_warp(5) {
    }
  }
}

// -----

// expected-error @below {{'mxgpu.role' op expects parent op 'mxgpu.kernel'}}
mxgpu.role @role warps(1) {
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    // tile_scheduler C1
    // expected-error @below {{'mxgpu.tile_scheduler' op expected 2 tile sizes, found 1}}
    %work = mxgpu.tile_scheduler static raster = linear tile [128] of(%n, %n, %n)
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    // tile_scheduler C2
    // expected-error @below {{'mxgpu.tile_scheduler' op expected tile sizes of at least 1, found 0}}
    %work = mxgpu.tile_scheduler static raster = linear tile [128, 0] of(%n, %n, %n)
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %work = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @role warps(1) {
      // expected-error @below {{expected 5 arguments, found 2}}
      mxgpu.for_each_work_tile (%row, %column) in %work {
      }
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %work = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    mxgpu.role @role warps(1) {
      // shared C8
      // expected-error @below {{'mxgpu.for_each_work_tile' op expected body arguments of types ('index', 'index', 'index', 'index', 'index'), found ('index')}}
      "mxgpu.for_each_work_tile"(%work) ({
      ^body(%e: index):
      }) : (!mxgpu.tile_scheduler) -> ()
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%yes: i1, %n: index) {
    %a = mxgpu.tile_scheduler static raster = linear tile [128, 128] of(%n, %n, %n)
    %b = mxgpu.tile_scheduler static raster = linear tile [128, 256] of(%n, %n, %n)
    %work = arith.select %yes, %a, %b : !mxgpu.tile_scheduler
    mxgpu.role @role warps(1) {
      // for_each_work_tile C1
      // expected-error @below {{'mxgpu.for_each_work_tile' op expected a work source made in the kernel}}
      mxgpu.for_each_work_tile (%e, %row, %column, %start, %end) in %work {
      }
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    mxgpu.role @role warps(1) {
      // expected-error @below {{expected 3 arguments, found 1}}
      mxgpu.for_each_k (%k) from %n to %n step 128 {
      }
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    mxgpu.role @role warps(1) {
      // expected-error @below {{'mxgpu.for_each_k' op attribute 'step' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
      mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 0 {
      }
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    mxgpu.role @role warps(1) {
      // shared C8
      // expected-error @below {{'mxgpu.for_each_k' op expected body arguments of types ('index', 'index', 'i1'), found ()}}
      "mxgpu.for_each_k"(%n, %n) <{step = 128 : i64}> ({
      ^body:
        "mxgpu.yield"() : () -> ()
      }) : (index, index) -> ()
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    mxgpu.role @role warps(1) {
      // shared C8
      // expected-error @below {{'mxgpu.for_each_k' op expected body arguments of types ('index', 'index', 'i1', 'f32'), found ('index', 'index', 'i1')}}
      %sum = "mxgpu.for_each_k"(%n, %n, %v) <{step = 128 : i64}> ({
      ^body(%k: index, %extent: index, %first: i1):
        "mxgpu.yield"(%v) : (f32) -> ()
      }) : (index, index, f32) -> f32
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    mxgpu.role @role warps(1) {
      // for_each_k C2
      // expected-error @below {{'mxgpu.for_each_k' op expected results of types ('f32'), found ('f32', 'f32')}}
      %accumulator:2 = "mxgpu.for_each_k"(%n, %n, %v) <{step = 128 : i64}> ({
      ^body(%k: index, %extent: index, %first: i1, %sum: f32):
        "mxgpu.yield"(%sum) : (f32) -> ()
      }) : (index, index, f32) -> (f32, f32)
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    mxgpu.role @role warps(1) {
      %sum = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%x = %v : f32) {
        // yield C1
        // expected-error @below {{'mxgpu.yield' op expected values of types ('f32'), found ('index')}}
        mxgpu.yield %k : index
      }
    }
  }
}

// -----

// The implicit end of a body yields nothing.
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    mxgpu.role @role warps(1) {
      // yield C1
      // expected-error @below {{'mxgpu.yield' op expected values of types ('f32'), found ()}}
      %sum = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%x = %v : f32) {
      }
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    mxgpu.role @role warps(1) {
      // expected-error @below {{'mxgpu.for_each_k' op expects regions to end with 'mxgpu.yield', found 'llvm.unreachable'}}
      // expected-note @below {{in custom textual format, the absence of terminator implies 'mxgpu.yield'}}
      "mxgpu.for_each_k"(%n, %n) <{step = 128 : i64}> ({
      ^body(%k: index, %extent: index, %first: i1):
        "llvm.unreachable"() : () -> ()
      }) : (index, index) -> ()
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    mxgpu.role @role warps(1) {
      // expected-error @below {{'mxgpu.yield' op expects parent op 'mxgpu.for_each_k'}}
      mxgpu.yield
    }
  }
}

// -----

// Stages and their buffers stay where they are taken.
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      // for_each_k C1
      // expected-error @below {{'mxgpu.for_each_k' op expected values that loops can carry, found '!mxgpu.stage<}}
      %last = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%s = %stage : !acc_stage) {
        mxgpu.yield %s : !acc_stage
      }
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(4) {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      // for_each_k C1
      // expected-error @below {{'mxgpu.for_each_k' op expected values that loops can carry, found '!mxgpu.buffer<tmem<128x128xf32>>'}}
      %last = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%b = %d : !d) {
        mxgpu.yield %b : !d
      }
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // shared C7
    // expected-error @below {{'mxgpu.thread_id' op expected to be inside a role}}
    %thread = mxgpu.thread_id
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // expected-note @below {{here}}
    mxgpu.role @role warps(1) {
    }
    // wait_dependencies C1
    // expected-error @below {{'mxgpu.wait_dependencies' op expected no role and no access to memory before it, found mxgpu.role}}
    mxgpu.wait_dependencies
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel(%n: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    // expected-note @below {{here}}
    %rows = memref.load %n[%c0] : memref<1xindex>
    // wait_dependencies C1
    // expected-error @below {{'mxgpu.wait_dependencies' op expected no role and no access to memory before it, found memref.load}}
    mxgpu.wait_dependencies
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

gpu.module @kernels {
  mxgpu.kernel @kernel() {
    mxgpu.wait_dependencies
    // shared C7
    // expected-error @below {{'mxgpu.launch_dependents' op expected to be inside a role}}
    mxgpu.launch_dependents
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C10
    // expected-error @below {{'mxgpu.ring' op expected 4 offsets, found 1}}
    %in = mxgpu.ring "in" offsets [0] barriers(0) stride(16) : !in
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C12
    // expected-error @below {{'mxgpu.ring' op expected offsets and barriers together}}
    %acc = mxgpu.ring "acc" offsets [0] stride(16) : !acc
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C13
    // expected-error @below {{'mxgpu.ring' op expected offsets of at least 0, found -4}}
    %acc = mxgpu.ring "acc" offsets [-4] barriers(0) stride(16) : !acc
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C14
    // expected-error @below {{'mxgpu.ring' op expected barriers at 0 or above, found -8}}
    %acc = mxgpu.ring "acc" offsets [0] barriers(-8) stride(16) : !acc
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C11
    // expected-error @below {{'mxgpu.ring' op expected offsets and a stride together}}
    %acc = mxgpu.ring "acc" offsets [0] barriers(0) : !acc
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C15
    // expected-error @below {{'mxgpu.ring' op expected a stride of at least 1, found 0}}
    %acc = mxgpu.ring "acc" offsets [0] barriers(0) stride(0) : !acc
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!staging = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(128), consumer = bulk_store, scope = warp>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // ring C12
    // expected-error @below {{'mxgpu.ring' op expected no barriers for stages of bulk_store}}
    %staging = mxgpu.ring "staging" offsets [0] barriers(0) stride(4096) : !staging
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    mxgpu.role @role warps(1) {
      // shared C6
      // expected-error @below {{'mxgpu.ring' op expected to be directly inside a kernel}}
      %acc = mxgpu.ring "acc" : !acc
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) {
    }
    // shared C7
    // expected-error @below {{'mxgpu.producer_acquire' op expected to be inside a role}}
    %stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) {
    }
    // shared C7
    // expected-error @below {{'mxgpu.consumer_wait' op expected to be inside a role}}
    %stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel(%yes: i1) {
    %a = mxgpu.ring "a" : !in
    %b = mxgpu.ring "b" : !in
    %in = arith.select %yes, %a, %b : !in
    mxgpu.role @role warps(1) {
      // shared C4
      // expected-error @below {{'mxgpu.producer_acquire' op expected a ring made in the kernel}}
      %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.producer_acquire %in : !in
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels {
  mxgpu.kernel @kernel(%yes: i1) {
    %a = mxgpu.ring "a" : !in
    %b = mxgpu.ring "b" : !in
    %in = arith.select %yes, %a, %b : !in
    mxgpu.role @role warps(1) {
      // shared C4
      // expected-error @below {{'mxgpu.consumer_wait' op expected a ring made in the kernel}}
      %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.consumer_wait %in : !in
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) {
      // expected-error @below {{'mxgpu.producer_acquire' op failed to infer returned types}}
      // expected-error @below {{'mxgpu.producer_acquire' op inferred type(s)}}
      %stage = "mxgpu.producer_acquire"(%in) : (!in) -> !acc_stage
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
      // shared C1
      // expected-error @below {{'mxgpu.producer_commit' op expected a stage of mxgpu.producer_acquire}}
      mxgpu.producer_commit %stage : !in_stage
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
      // shared C1
      // expected-error @below {{'mxgpu.consumer_release' op expected a stage of mxgpu.consumer_wait}}
      mxgpu.consumer_release %stage : !in_stage
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
gpu.module @kernels {
  mxgpu.kernel @kernel(%yes: i1) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.producer_acquire %acc : !acc
      %same = scf.if %yes -> !acc_stage {
        scf.yield %stage : !acc_stage
      } else {
        scf.yield %stage : !acc_stage
      }
      // shared C1
      // expected-error @below {{'mxgpu.producer_commit' op expected a stage of mxgpu.producer_acquire}}
      mxgpu.producer_commit %same : !acc_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
      // shared C2
      // expected-error @below {{'mxgpu.tma_load' op expected a buffer of mxgpu.producer_acquire, found one of mxgpu.consumer_wait}}
      mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
      // tma_load C3
      // expected-error @below {{'mxgpu.tma_load' op expected at most 2 coordinates, found 3}}
      mxgpu.tma_load %map[%n, %n, %n] into %a for %stage : !map, !a, !in_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.producer_acquire %acc : !acc
      // tma_load C1
      // expected-error @below {{'mxgpu.tma_load' op expected a buffer in shared memory, found '!mxgpu.buffer<tmem<128x128xf32>>'}}
      mxgpu.tma_load %map[%n, %n] into %d for %stage : !map, !d, !acc_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>), producer = threads(32), consumer = threads(32)>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) {
      %stage, %a = mxgpu.producer_acquire %in : !in
      // tma_load C4
      // expected-error @below {{'mxgpu.tma_load' op expected a ring with producer bulk_copy, found threads}}
      mxgpu.tma_load %map[%n, %n] into %a for %stage : !map, !a, !in_stage
    }
  }
}

// -----

// The buffer of another stage, of no stage, and a stage that is read.
!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    %in2 = mxgpu.ring "in2" : !in
    mxgpu.role @role warps(1) elected {
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
      %t, %t_a, %t_b, %t_sfa, %t_sfb = mxgpu.producer_acquire %in2 : !in
      // tma_load C2
      // expected-error @below {{'mxgpu.tma_load' op expected a buffer of the stage that it fills}}
      mxgpu.tma_load %map[%n, %n] into %s_a for %t : !map, !a, !in_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
      %other = ub.poison : !a
      // tma_load C2
      // expected-error @below {{'mxgpu.tma_load' op expected a buffer of the stage that it fills}}
      mxgpu.tma_load %map[%n, %n] into %other for %stage : !map, !a, !in_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
      %t, %t_a, %t_b, %t_sfa, %t_sfb = mxgpu.consumer_wait %in : !in
      // tma_load C2
      // expected-error @below {{'mxgpu.tma_load' op expected a buffer of the stage that it fills}}
      mxgpu.tma_load %map[%n, %n] into %s_a for %t : !map, !a, !in_stage
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !mxgpu.tensor_map<128x128xf8E4M3FN>, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
      // tma_load C5
      // expected-error @below {{'mxgpu.tma_load' op expected a map with swizzle sw128, found none}}
      mxgpu.tma_load %map[%n, %n] into %a for %stage : !mxgpu.tensor_map<128x128xf8E4M3FN>, !a, !in_stage
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
      // tma_load C7
      // expected-error @below {{'mxgpu.tma_load' op expected a box of 16384 bytes, found 8192}}
      mxgpu.tma_load %map[%n, %n] into %a for %stage : !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>, !a, !in_stage
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.producer_acquire %in : !in
      // shared C2
      // expected-error @below {{'mxgpu.copy_scales' op expected a buffer of mxgpu.consumer_wait, found one of mxgpu.producer_acquire}}
      %sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<128>
    }
  }
}

// -----

// TEMPLATE copy_scales
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.consumer_wait %in : !in
      // BLOCK copy
      // END
    }
  }
}

// -----

// USE copy_scales copy
// scales C1
// expected-error @below {{expected a multiple of 128 rows, found 64}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<64>

// -----

// USE copy_scales copy
// scales C1
// expected-error @below {{expected a multiple of 128 rows, found 0}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<0>

// -----

// USE copy_scales copy
// copy_scales C1
// expected-error @below {{'mxgpu.copy_scales' op expected 1024 bytes of scales in shared memory, found 512 in smem}}
%sfa = mxgpu.copy_scales %stage_sfa : !sfa -> !mxgpu.scales<256>

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      // copy_scales C1
      // expected-error @below {{'mxgpu.copy_scales' op expected 512 bytes of scales in shared memory, found 65536 in tmem}}
      %sfa = mxgpu.copy_scales %d : !d -> !mxgpu.scales<128>
    }
  }
}

// -----

// USE copy_scales copy
// copy_scales C4
// expected-error @below {{'mxgpu.copy_scales' op expected a column that is a multiple of 4, found 2}}
%sfa = mxgpu.copy_scales %stage_sfa column(2) : !sfa -> !mxgpu.scales<128>

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.consumer_wait %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // shared C2
      // expected-error @below {{'mxgpu.mma' op expected a buffer of mxgpu.producer_acquire, found one of mxgpu.consumer_wait}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// TEMPLATE mma
// SET stages = 4
// SET a = 128x128xf8E4M3FN
// SET b = 128x128xf8E4M3FN
// SET sf = 512xf8E8M0FNU
// SET acc_stages = 2
// SET d = 128x128xf32
!in = !mxgpu.ring<${stages} x (a: smem<${a}, sw128>, b: smem<${b}, sw128>, sfa: smem<${sf}>, sfb: smem<${sf}>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<${sf}>>
!sfb = !mxgpu.buffer<smem<${sf}>>
!a = !mxgpu.buffer<smem<${a}, sw128>>
!b = !mxgpu.buffer<smem<${b}, sw128>>
!acc = !mxgpu.ring<${acc_stages} x (d: tmem<${d}>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<${d}>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      // BLOCK wait
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // END
      // BLOCK mma
      // END
    }
  }
}

// -----

// USE mma wait
%s0, %s0_a, %s0_b, %s0_sfa, %s0_sfb = mxgpu.consumer_wait %in : !in
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.producer_acquire %in : !in
%sfa = mxgpu.copy_scales %s0_sfa : !sfa -> !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s0_sfb : !sfb -> !mxgpu.scales<128>
// shared C2
// expected-error @below {{'mxgpu.mma' op expected a buffer of mxgpu.consumer_wait, found one of mxgpu.producer_acquire}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

// USE mma wait
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
%s2, %s2_a, %s2_b, %s2_sfa, %s2_sfb = mxgpu.consumer_wait %in : !in
%sfb = mxgpu.copy_scales %s2_sfb : !sfb -> !mxgpu.scales<128>
// mma C4
// expected-error @below {{'mxgpu.mma' op expected scales of b copied from the stage that holds b}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

// USE mma wait
%s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
%sfa = ub.poison : !mxgpu.scales<128>
%sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
// mma C4
// expected-error @below {{'mxgpu.mma' op expected scales of a copied from the stage that holds a}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // mma C5
      // expected-error @below {{'mxgpu.mma' op expected a to be a matrix or panels of one, found '!mxgpu.buffer<smem<512xf8E8M0FNU>>'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_sfa, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !sfa, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET b = 128x64xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// mma C6
// expected-error @below {{'mxgpu.mma' op expected a and b with the same reduction, found 128 and 64}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

// USE mma mma
// SET stages = 1
// SET b = 256x128xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// tcgen05_mma C8
// expected-error @below {{'mxgpu.mma' op expected an accumulator of 128x256, found 128x128}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1024xi8>, sfb: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<1024xi8>>
!sfb = !mxgpu.buffer<smem<512xi8>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<256>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // tcgen05_mma C14
      // expected-error @below {{'mxgpu.mma' op expected scales of 128 rows for a, found 256}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<256>, !mxgpu.scales<128>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET b = 256x128xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// SET d = 128x256xf32
// tcgen05_mma C14
// expected-error @below {{'mxgpu.mma' op expected scales of 256 rows for b, found 128}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 256> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<384x128xf8E4M3FN, sw128>, sfa: smem<512xi8>, sfb: smem<1536xi8>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xi8>>
!sfb = !mxgpu.buffer<smem<1536xi8>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<384x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x384xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x384xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<384>
      // tcgen05_mma C3
      // expected-error @below {{expected N = 8 to 256 in steps of 8 with kind::mxf8f6f4 and cta_group::1 and M = 128, found 384}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 384> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<384>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET a = 128x128xi8
// SET sf = 512xi8
// SET acc_stages = 1
// tcgen05_mma C10
// expected-error @below {{'mxgpu.mma' op expected elements that the tensor core scales in '!mxgpu.buffer<smem<128x128xi8, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xi8>, sfb: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
!sfa = !mxgpu.buffer<smem<512xi8>>
!sfb = !mxgpu.buffer<smem<512xi8>>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %d, %d_d = mxgpu.producer_acquire %acc : !acc
      %s, %s_a, %s_b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // mma C8
      // expected-error @below {{'mxgpu.mma' op expected rows of operands to be as long as their swizzle, found '!mxgpu.buffer<smem<128x128xf8E4M3FN>>'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d
    }
  }
}

// -----

// USE mma mma
// SET stages = 1
// SET a = 128x64xf8E4M3FN
// SET b = 128x64xf8E4M3FN
// SET sf = 512xi8
// SET acc_stages = 1
// mma C8
// expected-error @below {{'mxgpu.mma' op expected rows of operands to be as long as their swizzle, found '!mxgpu.buffer<smem<128x64xf8E4M3FN, sw128>>'}}
mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %s_a, %s_b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) into %d_d : !a, !b, !d

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.producer_acquire %acc : !acc
      // shared C2
      // expected-error @below {{'mxgpu.load_accumulator' op expected a buffer of mxgpu.consumer_wait, found one of mxgpu.producer_acquire}}
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
    }
  }
}

// -----

!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) elected {
      %stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
      // load_accumulator C1
      // expected-error @below {{'mxgpu.load_accumulator' op expected a buffer in tensor memory, found '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
      %f_fragment = mxgpu.load_accumulator %a column(%n) : !a -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      // load_accumulator C2
      // expected-error @below {{'mxgpu.load_accumulator' op expected elements of 'f32', found 'bf16'}}
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xbf16, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xbf16>
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.consumer_wait %acc : !acc
      // load_accumulator C3
      // expected-error @below {{'mxgpu.load_accumulator' op expected a power of two up to 128 of columns, found 48}}
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x48xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [48: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x48xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [48: 1 column]>> -> vector<48xf32>
    }
  }
}

// -----

!acc48 = !mxgpu.ring<1 x (d: tmem<128x48xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x48xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc48
    mxgpu.role @role warps(1) elected {
      %stage, %d = mxgpu.consumer_wait %acc : !acc48
      // load_accumulator C4
      // expected-error @below {{'mxgpu.load_accumulator' op expected a divisor of 48 columns, found 32}}
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
      %f = mxgpu.to_rows %f_fragment : !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>> -> vector<32xf32>
    }
  }
}

// -----

func.func @f(%c: memref<4x4x4xf32>, %n: index, %p: i1) {
  %f = ub.poison : vector<32xf32>
  // shared C13
  // expected-error @below {{'mxgpu.store_fragment' op expected a matrix with identity layout, found 'memref<4x4x4xf32>'}}
  mxgpu.store_fragment %f, %c[%n, %n] when(%p) : vector<32xf32>, memref<4x4x4xf32>
  return
}

// -----

func.func @f(%c: memref<4x4xf32, strided<[8, 1]>>, %n: index, %p: i1) {
  %f = ub.poison : vector<32xf32>
  // shared C13
  // expected-error @below {{'mxgpu.store_fragment' op expected a matrix with identity layout, found 'memref<4x4xf32, strided<[8, 1]>>'}}
  mxgpu.store_fragment %f, %c[%n, %n] when(%p) : vector<32xf32>, memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @f(%c: memref<4x4xbf16>, %n: index, %p: i1) {
  %f = ub.poison : vector<32xf32>
  // shared C14
  // expected-error @below {{'mxgpu.store_fragment' op expected a matrix of 'f32', found 'bf16'}}
  mxgpu.store_fragment %f, %c[%n, %n] when(%p) : vector<32xf32>, memref<4x4xbf16>
  return
}

// -----

func.func @f(%c: memref<4x64xf32>, %n: index, %p: i1) {
  %f = ub.poison : vector<32xf32>
  // store_fragment C2
  // expected-error @below {{'mxgpu.store_fragment' op expected an alignment of 4, 8, 16 or 32 bytes, found 2}}
  mxgpu.store_fragment %f, %c[%n, %n] when(%p) aligned(2) : vector<32xf32>, memref<4x64xf32>
  return
}

// -----

func.func @f(%c: memref<4x64xf32>, %n: index, %p: i1) {
  %f = ub.poison : vector<4xf32>
  // store_fragment C3
  // expected-error @below {{'mxgpu.store_fragment' op expected a multiple of 32 bytes, found 16}}
  mxgpu.store_fragment %f, %c[%n, %n] when(%p) aligned(32) : vector<4xf32>, memref<4x64xf32>
  return
}

// -----

func.func @store_fragment_add(%c: memref<4x64xbf16>, %n: index, %p: i1) {
  %f = ub.poison : vector<4xbf16>
  // store_fragment C1
  // expected-error @below {{'mxgpu.store_fragment' op expected elements of f32 to add, found 'vector<4xbf16>'}}
  mxgpu.store_fragment %f, %c[%n, %n] when(%p) add : vector<4xbf16>, memref<4x64xbf16>
  return
}

// -----

func.func @f(%x: memref<128x64xf32>, %n: index) {
  // load_block C2
  // expected-error @below {{'mxgpu.load_block' op expected a matrix of 'bf16', found 'f32'}}
  %v = mxgpu.load_block %x[%n, %n] : memref<128x64xf32> -> vector<32xbf16>
  return
}

// -----

func.func @f(%x: memref<128x64xf32>, %n: index) {
  // shared C12
  // expected-error @below {{'mxgpu.load_block' op expected a vector of one dimension whose elements fill words of 32 bits, found 'vector<4x8xf32>'}}
  %v = mxgpu.load_block %x[%n, %n] : memref<128x64xf32> -> vector<4x8xf32>
  return
}

// -----

func.func @f(%x: memref<128x64xf32>, %n: index) {
  // shared C12
  // expected-error @below {{'mxgpu.load_block' op expected a vector of one dimension whose elements fill words of 32 bits, found 'vector<[32]xf32>'}}
  %v = mxgpu.load_block %x[%n, %n] : memref<128x64xf32> -> vector<[32]xf32>
  return
}

// -----

func.func @f(%x: memref<128x64xf4E2M1FN>, %v: vector<32xf4E2M1FN>, %n: index) {
  // shared C14
  // expected-error @below {{'mxgpu.store_block' op expected a matrix of 'i8', found 'f4E2M1FN'}}
  mxgpu.store_block %v, %x[%n, %n] : vector<32xf4E2M1FN>, memref<128x64xf4E2M1FN>
  return
}

// -----

func.func @f(%x: memref<128x64xi8>, %v: vector<4xf4E2M1FN>, %n: index) {
  // shared C12
  // expected-error @below {{'mxgpu.store_block' op expected a vector of one dimension whose elements fill words of 32 bits, found 'vector<4xf4E2M1FN>'}}
  mxgpu.store_block %v, %x[%n, %n] : vector<4xf4E2M1FN>, memref<128x64xi8>
  return
}

// -----

func.func @f(%x: memref<128x64xbf16>, %n: index) {
  // shared C12
  // expected-error @below {{'mxgpu.load_block' op expected a vector of one dimension whose elements fill words of 32 bits, found 'vector<3xbf16>'}}
  %v = mxgpu.load_block %x[%n, %n] : memref<128x64xbf16> -> vector<3xbf16>
  return
}

// -----

func.func @f(%x: memref<64xf8E4M3FN>, %v: vector<32xf8E4M3FN>, %n: index) {
  // shared C13
  // expected-error @below {{'mxgpu.store_block' op expected a matrix with identity layout, found 'memref<64xf8E4M3FN>'}}
  mxgpu.store_block %v, %x[%n, %n] : vector<32xf8E4M3FN>, memref<64xf8E4M3FN>
  return
}

// -----

func.func @f(%v: vector<16xbf16>) {
  // quantize_block C3
  // expected-error @below {{'mxgpu.quantize_block' op expected lanes that share a block of 32 elements or a square of 32 rows, found 1 with 16 each}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU
  return
}

// -----

func.func @f() {
  // thread_amax C1
  // expected-error @below {{'mxgpu.thread_amax' op expected a vector or more, found none}}
  %m = "mxgpu.thread_amax"() : () -> f32
  return
}

// -----

func.func @f(%v: vector<32xbf16>, %w: vector<32xf32>) {
  // thread_amax C2
  // expected-error @below {{'mxgpu.thread_amax' op expected vectors of one of bf16, f16 and f32, found 'vector<32xf32>'}}
  %m = mxgpu.thread_amax %v, %w : vector<32xbf16>, vector<32xf32>
  return
}

// -----

func.func @f(%v: vector<31xbf16>) {
  // thread_amax C3
  // expected-error @below {{'mxgpu.thread_amax' op expected vectors whose elements fill words of 32 bits, found 'vector<31xbf16>'}}
  %m = mxgpu.thread_amax %v : vector<31xbf16>
  return
}

// -----

func.func @f(%v: vector<32xbf16>, %seed: i64) {
  // quantize_block C6
  // expected-error @below {{'mxgpu.quantize_block' op expected a seed and the number of the first element, or neither}}
  %e, %s = "mxgpu.quantize_block"(%v, %seed) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>, scale_rounding = #mxgpu<scale_rounding ceil>}>
      : (vector<32xbf16>, i64) -> (vector<32xf8E4M3FN>, f8E8M0FNU)
  return
}

// -----

func.func @f(%v: vector<16xbf16>, %g: f32) {
  // quantize_block C3
  // expected-error @below {{'mxgpu.quantize_block' op expected lanes that share a block of 16 elements or a square of 16 rows, found 2 with 16 each}}
  %e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil lanes(2) : vector<16xbf16> -> vector<16xf4E2M1FN>, f8E4M3FN
  return
}

// -----

func.func @f(%v: vector<32xi32>) {
  // quantize_block C1
  // expected-error @below {{'mxgpu.quantize_block' op expected elements of bf16, f16 or f32, found 'i32'}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xi32> -> vector<32xf8E4M3FN>, f8E8M0FNU
  return
}

// -----

func.func @f(%v: vector<[32]xf32>) {
  // shared C12
  // expected-error @below {{'mxgpu.quantize_block' op expected a vector of one dimension whose elements fill words of 32 bits, found 'vector<[32]xf32>'}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<[32]xf32> -> vector<32xf8E4M3FN>, f8E8M0FNU
  return
}

// -----

func.func @f(%v: vector<32xf32>) {
  // shared C15
  // expected-error @below {{'mxgpu.quantize_block' op expected elements of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'f16'}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xf32> -> vector<32xf16>, f8E8M0FNU
  return
}

// -----

func.func @f(%v: vector<16xf32>, %g: f32) {
  // shared C15
  // expected-error @below {{'mxgpu.quantize_block' op expected elements of f4E2M1FN, found 'f8E4M3FN'}}
  %e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil : vector<16xf32> -> vector<16xf8E4M3FN>, f8E4M3FN
  return
}

// -----

func.func @f(%v: vector<32xf32>) {
  // quantize_block C4
  // expected-error @below {{'mxgpu.quantize_block' op expected 32 results, found 'vector<16xf8E4M3FN>'}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xf32> -> vector<16xf8E4M3FN>, f8E8M0FNU
  return
}

// -----

func.func @f(%v: vector<32xf32>) {
  // quantize_block C2
  // expected-error @below {{'mxgpu.quantize_block' op expected a scale of f8E8M0FNU or f8E4M3FN, found 'f32'}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<32xf32> -> vector<32xf8E4M3FN>, f32
  return
}

// -----

func.func @f(%v: vector<16xf32>) {
  // quantize_block C5
  // expected-error @below {{'mxgpu.quantize_block' op expected encode with scales of f8E4M3FN, and only then, found scales of 'f8E4M3FN'}}
  %e, %s = mxgpu.quantize_block %v scale_rounding = ceil : vector<16xf32> -> vector<16xf4E2M1FN>, f8E4M3FN
  return
}

// -----

func.func @f(%v: vector<32xf32>, %g: f32) {
  // quantize_block C5
  // expected-error @below {{'mxgpu.quantize_block' op expected encode with scales of f8E4M3FN, and only then, found scales of 'f8E8M0FNU'}}
  %e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil : vector<32xf32> -> vector<32xf4E2M1FN>, f8E8M0FNU
  return
}

// -----

func.func @f(%v: vector<16xf32>, %g: f32) {
  // quantize_block C7
  // expected-error @below {{'mxgpu.quantize_block' op expected scale_rounding=ceil with scales of f8E4M3FN, found even}}
  %e, %s = mxgpu.quantize_block %v encode(%g) scale_rounding = even : vector<16xf32> -> vector<16xf4E2M1FN>, f8E4M3FN
  return
}

// -----

func.func @f(%s: f8E8M0FNU, %t: memref<1x1x4x32x4xf8E8M0FNU>, %n: index) {
  // shared C16
  // expected-error @below {{'mxgpu.store_scales' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<1x1x4x32x4xf8E8M0FNU>'}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E8M0FNU into memref<1x1x4x32x4xf8E8M0FNU>
  return
}

// -----

func.func @f(%s: f8E8M0FNU, %t: memref<4xf8E8M0FNU>, %n: index) {
  // shared C16
  // expected-error @below {{'mxgpu.store_scales' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<4xf8E8M0FNU>'}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E8M0FNU into memref<4xf8E8M0FNU>
  return
}

// -----

func.func @f(%s: f8E8M0FNU, %t: memref<4x4xf8E8M0FNU, strided<[8, 1]>>, %n: index) {
  // shared C16
  // expected-error @below {{'mxgpu.store_scales' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<4x4xf8E8M0FNU, strided<[8, 1]>>'}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E8M0FNU into memref<4x4xf8E8M0FNU, strided<[8, 1]>>
  return
}

// -----

func.func @f(%s: f32, %t: memref<1x1x32x4x4xf32>, %n: index) {
  // shared C17
  // expected-error @below {{'mxgpu.store_scales' op expected scales of f8E8M0FNU or f8E4M3FN, found 'f32'}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f32 into memref<1x1x32x4x4xf32>
  return
}

// -----

func.func @f(%s: f8E4M3FN, %t: memref<1x1x32x4x4xf8E8M0FNU>, %n: index) {
  // shared C18
  // expected-error @below {{'mxgpu.store_scales' op expected a scale of 'f8E8M0FNU', found 'f8E4M3FN'}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) : f8E4M3FN into memref<1x1x32x4x4xf8E8M0FNU>
  return
}

// -----

func.func @f(%s: f8E8M0FNU, %t: memref<4x4xf8E8M0FNU>, %n: index) {
  // store_scales C1
  // expected-error @below {{'mxgpu.store_scales' op expected groups of 1, 2, 4 or 8 lanes, found 3}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) lanes(3) : f8E8M0FNU into memref<4x4xf8E8M0FNU>
  return
}

// -----

func.func @f(%s: f8E8M0FNU, %t: memref<4x4xf8E8M0FNU>, %n: index) {
  // store_scales C1
  // expected-error @below {{'mxgpu.store_scales' op expected groups of 1, 2, 4 or 8 lanes, found 16}}
  mxgpu.store_scales %s into %t[%n, %n] of(%n, %n) lanes(16) : f8E8M0FNU into memref<4x4xf8E8M0FNU>
  return
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
func.func @f(%a: memref<?x?xf8E4M3FN, strided<[1, ?]>>) {
  // encode_tensor_map C1
  // expected-error @below {{'mxgpu.encode_tensor_map' op expected a memref of adjacent elements in the default memory space, found 'memref<?x?xf8E4M3FN, strided<[1, ?]>>'}}
  %m = mxgpu.encode_tensor_map %a : memref<?x?xf8E4M3FN, strided<[1, ?]>> -> !map
  return
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
func.func @f(%a: memref<?x?xf8E4M3FN, 3>) {
  // encode_tensor_map C1
  // expected-error @below {{'mxgpu.encode_tensor_map' op expected a memref of adjacent elements in the default memory space, found 'memref<?x?xf8E4M3FN, 3>'}}
  %m = mxgpu.encode_tensor_map %a : memref<?x?xf8E4M3FN, 3> -> !map
  return
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
func.func @f(%a: memref<?xf8E4M3FN>) {
  // encode_tensor_map C2
  // expected-error @below {{'mxgpu.encode_tensor_map' op expected a box of rank 1, found rank 2}}
  %m = mxgpu.encode_tensor_map %a : memref<?xf8E4M3FN> -> !map
  return
}

// -----

!map = !mxgpu.tensor_map<128x128xf8E4M3FN, sw128>
func.func @f(%a: memref<?x?xf8E5M2>) {
  // encode_tensor_map C3
  // expected-error @below {{'mxgpu.encode_tensor_map' op expected a map of 'f8E5M2', found 'f8E4M3FN'}}
  %m = mxgpu.encode_tensor_map %a : memref<?x?xf8E5M2> -> !map
  return
}

// -----

func.func @f(%ok: i1, %n: index) {
  // require C3
  // expected-error @below {{'mxgpu.require' op expected 2 values for the message, found 1}}
  mxgpu.require %ok, "expected %lld rows, found %lld" (%n)
  return
}

// -----

func.func @f(%ok: i1, %n: index) {
  // require C3
  // expected-error @below {{'mxgpu.require' op expected 0 values for the message, found 1}}
  mxgpu.require %ok, "expected rows" (%n)
  return
}

// -----

func.func @f(%ok: i1, %n: index) {
  // require C2
  // expected-error @below {{'mxgpu.require' op expected only %lld and %% in the message, found "% of"}}
  mxgpu.require %ok, "50% of %s"
  return
}

// -----

func.func @f(%ok: i1, %n: index) {
  // require C2
  // expected-error @below {{'mxgpu.require' op expected only %lld and %% in the message, found "%n"}}
  mxgpu.require %ok, "%n" (%n)
  return
}

// -----

func.func @f(%ok: i1, %n: index) {
  // require C1
  // expected-error @below {{'mxgpu.require' op expected a message without zero bytes}}
  mxgpu.require %ok, "end \00 of text"
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    mxgpu.kernel @kernel(%a: memref<4x4xf32>, %n: index) {
      mxgpu.role @role warps(1) {
      }
    }
    func.func private @function(memref<4x4xf32>, index)
  }
  func.func @f(%a: memref<4x4xf32>, %n: index) {
    // launch C1
    // expected-error @below {{'mxgpu.launch' op expected a mxgpu.kernel, found nothing named @kernels::@kernels}}
    mxgpu.launch @kernels::@kernels grid(%n) args(%a, %n : memref<4x4xf32>, index)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    mxgpu.kernel @kernel(%a: memref<4x4xf32>, %n: index) {
      mxgpu.role @role warps(1) {
      }
    }
    func.func private @function(memref<4x4xf32>, index)
  }
  func.func @f(%a: memref<4x4xf32>, %n: index) {
    // launch C1
    // expected-error @below {{'mxgpu.launch' op expected a mxgpu.kernel, found func.func named @kernels::@function}}
    mxgpu.launch @kernels::@function grid(%n) args(%a, %n : memref<4x4xf32>, index)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    mxgpu.kernel @kernel(%a: memref<4x4xf32>, %n: index) {
      mxgpu.role @role warps(1) {
      }
    }
    func.func private @function(memref<4x4xf32>, index)
  }
  func.func @f(%a: memref<4x4xf32>, %n: index) {
    // launch C2
    // expected-error @below {{'mxgpu.launch' op expected 2 arguments, found 1}}
    mxgpu.launch @kernels::@kernel grid(%n) args(%a : memref<4x4xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    mxgpu.kernel @kernel(%a: memref<4x4xf32>, %n: index) {
      mxgpu.role @role warps(1) {
      }
    }
    func.func private @function(memref<4x4xf32>, index)
  }
  func.func @f(%a: memref<4x4xf32>, %n: index) {
    // launch C3
    // expected-error @below {{'mxgpu.launch' op expected argument 1 of type 'index', found 'memref<4x4xf32>'}}
    mxgpu.launch @kernels::@kernel grid(%n) args(%a, %a : memref<4x4xf32>, memref<4x4xf32>)
    return
  }
}

// -----

func.func @load_scale_form(%t: memref<4xf8E8M0FNU>, %n: index) {
  // shared C16
  // expected-error @below {{'mxgpu.load_scale' op expected a matrix or tiles of shape ...x32x4x4, found 'memref<4xf8E8M0FNU>'}}
  %s = mxgpu.load_scale %t[%n, %n] : memref<4xf8E8M0FNU> -> f8E8M0FNU
  return
}

// -----

func.func @load_scale_type(%t: memref<4x4xf8E8M0FNU>, %n: index) {
  // shared C18
  // expected-error @below {{'mxgpu.load_scale' op expected a scale of 'f8E8M0FNU', found 'f8E4M3FN'}}
  %s = mxgpu.load_scale %t[%n, %n] : memref<4x4xf8E8M0FNU> -> f8E4M3FN
  return
}

// -----

func.func @load_scale_element(%t: memref<4x4xf8E5M2>, %n: index) {
  // shared C17
  // expected-error @below {{'mxgpu.load_scale' op expected scales of f8E8M0FNU or f8E4M3FN, found 'f8E5M2'}}
  %s = mxgpu.load_scale %t[%n, %n] : memref<4x4xf8E5M2> -> f8E5M2
  return
}

// -----

func.func @dequantize_words(%q: vector<2xf8E5M2>, %s: f8E8M0FNU) {
  // shared C12
  // expected-error @below {{'mxgpu.dequantize_block' op expected a vector of one dimension whose elements fill words of 32 bits, found 'vector<2xf8E5M2>'}}
  %x = mxgpu.dequantize_block %q by %s : vector<2xf8E5M2>, f8E8M0FNU -> vector<2xbf16>
  return
}

// -----

func.func @permute_block_vector(%x: vector<16xbf16>) {
  // permute_block C1
  // expected-error @below {{'mxgpu.permute_block' op expected 'vector<8xbf16>', found 'vector<16xbf16>'}}
  %y = mxgpu.permute_block %x run = 16 : vector<16xbf16>
  return
}

// -----

func.func @permute_block_run(%x: vector<8xbf16>) {
  // permute_block C2
  // expected-error @below {{'mxgpu.permute_block' op expected a run of 8 or 16, found 4}}
  %y = mxgpu.permute_block %x run = 4 : vector<8xbf16>
  return
}

// -----

func.func @dequantize_scale(%q: vector<8xf8E5M2>, %s: f8E5M2) {
  // dequantize_block C1
  // expected-error @below {{'mxgpu.dequantize_block' op expected a scale of f8E8M0FNU or f8E4M3FN, found 'f8E5M2'}}
  %x = mxgpu.dequantize_block %q by %s : vector<8xf8E5M2>, f8E5M2 -> vector<8xbf16>
  return
}

// -----

func.func @dequantize_element(%q: vector<8xbf16>, %s: f8E8M0FNU) {
  // shared C15
  // expected-error @below {{'mxgpu.dequantize_block' op expected elements of f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8, found 'bf16'}}
  %x = mxgpu.dequantize_block %q by %s : vector<8xbf16>, f8E8M0FNU -> vector<8xbf16>
  return
}

// -----

func.func @dequantize_nvfp4(%q: vector<8xf8E4M3FN>, %s: f8E4M3FN) {
  // shared C15
  // expected-error @below {{'mxgpu.dequantize_block' op expected elements of f4E2M1FN, found 'f8E4M3FN'}}
  %x = mxgpu.dequantize_block %q by %s : vector<8xf8E4M3FN>, f8E4M3FN -> vector<8xbf16>
  return
}

// -----

func.func @dequantize_size(%q: vector<32xf4E2M1FN>, %s: f8E4M3FN) {
  // dequantize_block C2
  // expected-error @below {{'mxgpu.dequantize_block' op expected at most 16 elements, a block, found 32}}
  %x = mxgpu.dequantize_block %q by %s : vector<32xf4E2M1FN>, f8E4M3FN -> vector<32xbf16>
  return
}

// -----

func.func @dequantize_scales(%q: vector<2x32xf8E4M3FN>, %s: f8E8M0FNU) {
  // dequantize_block C5
  // expected-error @below {{'mxgpu.dequantize_block' op expected a scale for each row, 'vector<2xf8E8M0FNU>', found 'f8E8M0FNU'}}
  %x = mxgpu.dequantize_block %q by %s : vector<2x32xf8E4M3FN>, f8E8M0FNU -> vector<2x32xbf16>
  return
}

// -----

func.func @dequantize_count(%q: vector<8xf8E5M2>, %s: f8E8M0FNU) {
  // dequantize_block C3
  // expected-error @below {{'mxgpu.dequantize_block' op expected 8 results of bf16, f16 or f32, found 'vector<4xbf16>'}}
  %x = mxgpu.dequantize_block %q by %s : vector<8xf8E5M2>, f8E8M0FNU -> vector<4xbf16>
  return
}

// -----

func.func @dequantize_result(%q: vector<8xf8E5M2>, %s: f8E8M0FNU) {
  // dequantize_block C3
  // expected-error @below {{'mxgpu.dequantize_block' op expected 8 results of bf16, f16 or f32, found 'vector<8xi8>'}}
  %x = mxgpu.dequantize_block %q by %s : vector<8xf8E5M2>, f8E8M0FNU -> vector<8xi8>
  return
}

// -----

func.func @dequantize_decode(%q: vector<8xf8E5M2>, %s: f8E8M0FNU, %g: f32) {
  // dequantize_block C4
  // expected-error @below {{'mxgpu.dequantize_block' op expected decode with scales of f8E4M3FN only, found scales of 'f8E8M0FNU'}}
  %x = mxgpu.dequantize_block %q by %s decode(%g) : vector<8xf8E5M2>, f8E8M0FNU -> vector<8xbf16>
  return
}

// -----

func.func @f(%x: memref<128x64xbf16>, %n: index) {
  // shared C10
  // expected-error @below {{'mxgpu.load_block' op expected vectors of at most 1024 elements, found 'vector<1099511627776xbf16>'}}
  %v = mxgpu.load_block %x[%n, %n] : memref<128x64xbf16> -> vector<1099511627776xbf16>
  return
}

// -----

func.func @f(%x: memref<128x64xbf16>, %n: index, %v: vector<2048xbf16>) {
  // shared C10
  // expected-error @below {{'mxgpu.store_block' op expected vectors of at most 1024 elements, found 'vector<2048xbf16>'}}
  mxgpu.store_block %v, %x[%n, %n] : vector<2048xbf16>, memref<128x64xbf16>
  return
}

// -----

// Sizes whose product overflows to a small number.
func.func @f(%v: vector<4294967296x4294967296xbf16>) {
  // shared C10
  // expected-error @below {{'mxgpu.thread_amax' op expected vectors of at most 1024 elements, found 'vector<4294967296x4294967296xbf16>'}}
  %m = mxgpu.thread_amax %v : vector<4294967296x4294967296xbf16>
  return
}

// -----

func.func @f(%x: memref<128x64xbf16>, %n: index, %p: i1, %v: vector<4611686018427387904xbf16>) {
  // shared C10
  // expected-error @below {{'mxgpu.store_fragment' op expected vectors of at most 1024 elements, found 'vector<4611686018427387904xbf16>'}}
  mxgpu.store_fragment %v, %x[%n, %n] when(%p) : vector<4611686018427387904xbf16>, memref<128x64xbf16>
  return
}

// -----

// USE kernel error
// SET head = () cluster(3)
// kernel C4
// expected-error @below {{'mxgpu.kernel' op expected a cluster of 1 or 2 CTAs, found 3}}

// -----

// USE kernel error
// SET head = () tmem(32 at -4 warp 0)
// kernel C8
// expected-error @below {{'mxgpu.kernel' op expected tmem_slot of at least 0, found -4}}

// -----

!map = !mxgpu.tensor_map<128x128xf8E5M2, sw128>
!in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %s, %a = mxgpu.producer_acquire %in : !in
      // tma_load C6
      // expected-error @below {{'mxgpu.tma_load' op expected a map of the elements of '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>', found '!mxgpu.tensor_map<128x128xf8E5M2, sw128>'}}
      mxgpu.tma_load %map[%n, %n] into %a for %s : !map, !a, !in_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<96x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %s, %a = mxgpu.producer_acquire %in : !in
      // tma_load C8
      // expected-error @below {{'mxgpu.tma_load' op expected a box of which a number fills 16384 bytes, found 12288}}
      mxgpu.tma_load %map[%n, %n] into %a box(%n) for %s : !map, !a, !in_stage
    }
  }
}

// -----

!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
!in = !mxgpu.ring<2 x (a: smem<128x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = mma_commit>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%map: !map, %n: index) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %c2 = arith.constant 2 : index
      %s, %a = mxgpu.producer_acquire %in : !in
      // tma_load C10
      // expected-error @below {{'mxgpu.tma_load' op expected a part from 0 to 1, found 2}}
      mxgpu.tma_load %map[%n, %n] into %a box(%c2) for %s : !map, !a, !in_stage
    }
  }
}

// -----

!in = !mxgpu.ring<2 x (sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %s, %s_sf = mxgpu.consumer_wait %in : !in
      // copy_scales C2
      // expected-error @below {{'mxgpu.copy_scales' op expected scales of 'f8E8M0FNU', found 'f8E4M3FN'}}
      %sf = mxgpu.copy_scales %s_sf : !sf -> !mxgpu.scales<128, f8E4M3FN>
    }
  }
}

// -----

!in = !mxgpu.ring<2 x (sf: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!sf = !mxgpu.buffer<smem<512xf8E8M0FNU>>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @mma warps(1) elected {
      %s, %s_sf = mxgpu.consumer_wait %in : !in
      // copy_scales C3
      // expected-error @below {{'mxgpu.copy_scales' op expected 1 to 2 stages, as many as the ring has at most, found 3}}
      %sf = mxgpu.copy_scales %s_sf stages(3) : !sf -> !mxgpu.scales<128>
    }
  }
}

// -----

!acc = !mxgpu.ring<2 x (d: tmem<128x64xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x64xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @epilogue warps(4) {
      %s, %d = mxgpu.consumer_wait %acc : !acc
      // load_accumulator C5
      // expected-error @below {{'mxgpu.load_accumulator' op expected the layout of tcgen05.ld.32x32b, }}
      %f = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [32: 1 column, 4: 1 row], values = [32: 4 rows]>>
    }
  }
}

// -----

func.func @f(%x: memref<64xbf16>, %n: index) {
  // load_block C1
  // expected-error @below {{'mxgpu.load_block' op expected a matrix whose rows are contiguous, found 'memref<64xbf16>'}}
  %v = mxgpu.load_block %x[%n, %n] : memref<64xbf16> -> vector<32xbf16>
  return
}

// -----

func.func @f(%x: memref<4x64xf32>, %n: index, %p: i1, %v: vector<2x4xf32>) {
  // shared C11
  // expected-error @below {{'mxgpu.store_fragment' op expected a vector of one dimension with elements of whole bytes, found 'vector<2x4xf32>'}}
  mxgpu.store_fragment %v, %x[%n, %n] when(%p) : vector<2x4xf32>, memref<4x64xf32>
  return
}

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E4M3FN>, sfb: smem<512xf8E4M3FN>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E4M3FN>>
!sfb = !mxgpu.buffer<smem<512xf8E4M3FN>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128, f8E4M3FN>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128, f8E4M3FN>
      // tcgen05_mma C11
      // expected-error @below {{'mxgpu.mma' op expected scales of kind::mxf8f6f4 to be one of 32 x ue8m0, found 32 x ue4m3 in '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>' and '!mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128, f8E4M3FN>, !mxgpu.scales<128, f8E4M3FN>) into %d : !a, !b, !d
    }
  }
}

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // tcgen05_mma C12
      // expected-error @below {{'mxgpu.mma' op expected an offset only where rows of b fill a tile of 128 by half, found 128 rows}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128>) b_offset(%n) into %d : !a, !b, !d
    }
  }
}

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<192x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<1024xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<192x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<1024xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x192xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x192xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %c32 = arith.constant 32 : index
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<256>
      // tcgen05_mma C13
      // expected-error @below {{'mxgpu.mma' op expected an offset of 0 or 64 rows, found 32}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 192> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<256>) b_offset(%c32) into %d : !a, !b, !d
    }
  }
}

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E4M3FN>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E4M3FN>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128, f8E4M3FN>
      // tcgen05_mma C15
      // expected-error @below {{'mxgpu.mma' op expected scales of a and b of one type, found 'f8E8M0FNU' and 'f8E4M3FN'}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128>, !mxgpu.scales<128, f8E4M3FN>) into %d : !a, !b, !d
    }
  }
}

// -----

!in = !mxgpu.ring<1 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<1024xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!b = !mxgpu.buffer<smem<128x128xf8E4M3FN, sw128>>
!sfa = !mxgpu.buffer<smem<1024xf8E8M0FNU>>
!sfb = !mxgpu.buffer<smem<512xf8E8M0FNU>>
!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @mma warps(1) elected {
      %t, %d = mxgpu.producer_acquire %acc : !acc
      %s, %a, %b, %s_sfa, %s_sfb = mxgpu.consumer_wait %in : !in
      %sfa = mxgpu.copy_scales %s_sfa : !sfa -> !mxgpu.scales<128x2>
      %sfb = mxgpu.copy_scales %s_sfb : !sfb -> !mxgpu.scales<128>
      // tcgen05_mma C16
      // expected-error @below {{'mxgpu.mma' op expected scales for 128 elements of the reduction of a, found those of 256}}
      mxgpu.mma #mxgpu.tcgen05_mma<mxf8f6f4, m = 128, n = 128> %a, %b scales(%sfa, %sfb : !mxgpu.scales<128x2>, !mxgpu.scales<128>) into %d : !a, !b, !d
    }
  }
}
